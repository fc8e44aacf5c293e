/* SPDX-License-Identifier: BSD-2-Clause */
/* target_rsend.c - the peer's messages that take a posted receive (EP_RULE_RECEIVE_FIRST). The first segment finds the receive, and
 * each is placed as it comes (V102); a cut, or a sender that ends it early, leaves what has come so far in its place. */
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

/* Flags that all segments of a message share. */
enum { RSEND_SAME = WIRE_F_CQ_DATA | WIRE_F_SOLICITED };

/* The message, as receives see one. */
static struct message rsend_message(struct session *session)
{
	const struct rsend_state *rsend = &session->rsp.rsend;

	return (struct message){
		.ep = session->ep,
		.srx = session->ep->srx,
		.session = session,
		.ref = rsend->seq,
		.length = rsend->length,
		.cq_data = rsend->cq_data,
		.has_cq_data = rsend->flags & WIRE_F_CQ_DATA,
		.auth = rsend->auth,
	};
}

void target_rsend_pause(struct session *session)
{
	struct rsend_state *rsend = &session->rsp.rsend;

	nic_role(session->ep->nic);
	if (!rsend->open || rsend->moved)
		return;
	if (rsend->rx)
		message_give_back(rsend->rx);
	*rsend = (struct rsend_state){ 0 };
}

/* It is reported where its context's receives are, and the turn is as before. */
static void fail_in_turn(struct ep *ep, struct rx *rx, enum refusal_cause cause)
{
	uint32_t turn = xrc_named(ep);

	xrc_turn_to(ep, rx->srx);
	complete_receive_failed(rx, cause);
	if (ep->attr.xrc)
		(void)xrc_turn(ep, turn);
}

void target_rsend_abandon(struct session *session, enum refusal_cause cause)
{
	struct rsend_state *rsend = &session->rsp.rsend;
	struct rx *rx;

	nic_role(session->ep->nic);
	target_rsend_pause(session);
	rx = rsend->rx;
	*rsend = (struct rsend_state){ 0 };
	if (rx && ep_loses(session->ep))
		message_give_back(rx); /* V181 */
	else if (rx)
		fail_in_turn(session->ep, rx, cause);
}

void target_rsend_recall(struct session *session, uint64_t desc)
{
	struct rsend_state *rsend = &session->rsp.rsend;
	struct conn *conn = session->conn;
	struct rx *rx = rsend->rx;

	nic_role(session->ep->nic);
	if (!rx || !rx_names(rx, desc))
		return;
	if (rx->flags & POST_REACH) {
		rx_shorten(rx, desc);
		if (rx_reaches(rx, rsend->length))
			return;
	}
	rsend->rx = NULL;
	rsend->lost = true;
	if (conn && conn->in.head.op == WIRE_RSEND)
		conn->in.sink = SINK_DROP;
	fail_in_turn(session->ep, rx, REFUSAL_LOCAL_CLOSED);
}

/* Why the endpoint does not take the message, whichever receive is posted. */
static enum refusal_cause rsend_flaw(struct conn *conn)
{
	const struct session *session = conn->session;
	const struct rsend_state *rsend = &session->rsp.rsend;

	if (!responder_allows(session, EP_RECV, &conn->in.why))
		return conn->in.why.cause;
	if (!ep_takes(session->ep, rsend->auth, &session->peer))
		return REFUSAL_AUTH;
	return rsend->invalidate && !access_may_invalidate(session, rsend->cq_data) ? REFUSAL_NO_REGION : REFUSAL_NONE;
}

/* First segment: finds the receive for the whole message. Else conn->in.why says why it has none, or conn->in.skip is set: the peer
 * was told RNR. */
static const char *rsend_first(struct conn *conn, const struct wire_head *head)
{
	const struct wire_rsend *body = wire_body(head);
	struct session *session = conn->session;
	struct rsend_state *rsend = &session->rsp.rsend;
	struct refusal *why = &conn->in.why;
	struct message message;

	if (!(session->ep->attr.rules & EP_RULE_RECEIVE_FIRST))
		return "RSEND to an endpoint that keeps messages (WIRE-145)";
	target_rsend_abandon(session, REFUSAL_SENDER);
	*rsend = (struct rsend_state){
		.seq = wire_get64(head->seq),
		.length = wire_get64(body->rest),
		.cq_data = wire_get64(body->cq_data),
		.auth = auth_taken(conn, wire_get64(body->auth)),
		.invalidate = wire_get32(body->invalidate),
		.flags = head->flags & RSEND_SAME,
		.open = true,
	};
	why->cause = rsend_flaw(conn);
	why->op = OP_SEND;
	why->length = rsend->length;
	if (why->cause != REFUSAL_NONE)
		return NULL;
	message = rsend_message(session);
	if (!message_find(&message) || !message.rx) {
		if (ep_loses(session->ep)) {
			why->cause = REFUSAL_NO_RECEIVE; /* V180 */
			return NULL;
		}
		rsend->open = false; /* V84, V132 */
		return responder_rnr(conn);
	}
	rsend->rx = message.rx;
	if (rx_is_planned(rsend->rx)) {
		why->cause = ep_loses(session->ep) ? REFUSAL_RECEIVE_BUFFER : rsend->rx->reach.planned;
		why->access = REFUSAL_INJECTED;
	} else if (rsend->length > rsend->rx->capacity) {
		why->cause = ep_loses(session->ep) ? REFUSAL_TOO_LONG : REFUSAL_MESSAGE_LONG;
		why->region = rsend->rx->capacity;
		why->excess = rsend->length - rsend->rx->capacity;
	} else if (!rx_reaches(rsend->rx, rsend->length)) {
		why->cause = REFUSAL_RECEIVE_BUFFER;
	}
	return NULL;
}

/* Does this segment follow the one before (WIRE-41)? */
static bool rsend_goes_on(const struct conn *conn, const struct wire_head *head)
{
	const struct rsend_state *rsend = &conn->session->rsp.rsend;
	const struct wire_rsend *body = wire_body(head);
	uint64_t auth = auth_taken(conn, wire_get64(body->auth));

	/* The program may have come to have a key since that was strange to it. */
	return wire_get64(body->rest) == rsend->length - rsend->moved && (rsend->auth == AUTH_STRANGE || auth == rsend->auth) &&
	       (head->flags & RSEND_SAME) == rsend->flags && wire_get64(body->cq_data) == rsend->cq_data &&
	       wire_get32(body->invalidate) == rsend->invalidate;
}

const char *target_rsend_take(struct conn *conn, const struct wire_head *head)
{
	const struct rsend_state *rsend = &conn->session->rsp.rsend;
	const char *broken;

	if (head->flags & WIRE_F_FIRST) {
		broken = rsend_first(conn, head);
		if (broken || conn->in.skip)
			return broken;
	} else if (!rsend->open) {
		return "RSEND goes on where none is open (WIRE-56)";
	} else if (!rsend_goes_on(conn, head)) {
		return "RSEND goes on otherwise than it began (WIRE-41, WIRE-56)";
	}
	if (!rsend->rx || conn->in.why.cause != REFUSAL_NONE)
		return NULL;
	conn->in.sink = SINK_MESSAGE;
	rx_place(rsend->rx, &conn->in.place);
	place_advance(&conn->in.place, rsend->moved);
	return NULL;
}

/* All of it is in its place. */
static void rsend_done(struct session *session)
{
	struct rsend_state *rsend = &session->rsp.rsend;
	const struct front_end *front = session->ep->nic->config.front;
	struct message message = rsend_message(session);
	struct rx *rx = rsend->rx;

	rsend->rx = NULL;
	if (rsend->invalidate) {
		access_invalidate(session, rsend->cq_data);
		rx->done.c.flags |= front->cq_invalidated;
	}
	if (rsend->flags & WIRE_F_SOLICITED)
		rx->done.c.flags |= front->cq_solicited;
	complete_receive(rx, &message);
}

/* The message ends here; the rest of it is drained. */
static void rsend_fail(struct session *session, enum refusal_cause cause)
{
	struct message message = rsend_message(session);
	struct rx *rx = session->rsp.rsend.rx;

	session->rsp.rsend.rx = NULL;
	if (!rx)
		return;
	if (rx_is_planned(rx))
		complete_receive_failed(rx, REFUSAL_NO_SESSION);
	else if (cause == REFUSAL_MESSAGE_LONG)
		complete_receive(rx, &message);
	else if (ep_loses(session->ep) && cause != REFUSAL_RECEIVE_BUFFER)
		message_give_back(rx); /* V181 */
	else
		complete_receive_failed(rx, rx_reaches(rx, message.length) ? cause : rx->reach.beyond);
}

const char *target_rsend_end(struct conn *conn, enum wire_status status)
{
	struct session *session = conn->session;
	struct rsend_state *rsend = &session->rsp.rsend;
	struct refusal *why = &conn->in.why;
	const char *broken = NULL;
	bool fails = rsend->rx || rsend->lost; /* the receive, if the message does */

	nic_role(conn->nic);
	if (why->cause == REFUSAL_NONE && (conn->in.fault || rsend->lost))
		*why = (struct refusal){ .cause = REFUSAL_RECEIVE_BUFFER, .op = OP_SEND, .length = rsend->length };
	rsend->lost = false;
	if (why->cause != REFUSAL_NONE) {
		if (fails)
			responder_receive_fails(session, why->cause);
		rsend_fail(session, why->cause);
		broken = verdict_refuse(session, rsend->seq, why);
	} else if (status != WIRE_GOOD) { /* the sender ends it early and reports for itself */
		rsend_fail(session, REFUSAL_SENDER);
	} else if (conn->in.head.flags & WIRE_F_LAST && rsend->rx) {
		rsend_done(session);
	}
	rsend->moved += wire_get32(conn->in.head.payload);
	rsend->open = !(conn->in.head.flags & WIRE_F_LAST);
	return broken;
}
