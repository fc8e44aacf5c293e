/* SPDX-License-Identifier: BSD-2-Clause */
/* message.c - arriving messages. Two budgets bound the memory of unexpected ones (F3): payload, past which only the
 * envelope is kept and the payload pulled at the match; and envelopes, past which the sender is told RNR. */
#include "emu/nic/messages/message.h"

#include <stdlib.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message_calls.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/ops/watch.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

static struct rx_match *match_of(const struct message *message)
{
	return &message->srx->match;
}

/* A zeroed message. Messages that find their receive are there one at a time, so that one need not be allocated anew. */
static struct message *message_new(struct nic *nic)
{
	struct message *message = nic->spare_message;

	if (!message)
		return calloc(1, sizeof(*message));
	nic->spare_message = NULL;
	*message = (struct message){ 0 };
	return message;
}

static void message_give(struct nic *nic, struct message *message)
{
	if (nic->spare_message)
		free(message);
	else
		nic->spare_message = message;
}

/* While the endpoint closes the message's session may be gone, and kept payload outlive it. */
static void message_free(struct message *message)
{
	if (!message->ep->closing)
		message->session->messages--;
	if (message->bytes) {
		match_of(message)->bytes -= message->length;
		free(message->bytes);
	}
	message_give(message->ep->nic, message);
}

/* The payload of an unexpected SEND: kept if the budget and memory allow, else left to its sender (parked). */
static void message_keep_payload(struct message *message)
{
	struct rx_match *match = match_of(message);
	uint64_t budget = message->session->ep->nic->config.unexpected_bytes;

	if (message->length > 0 && message->length <= budget && match->bytes <= budget - message->length)
		message->bytes = malloc(message->length);
	if (message->bytes)
		match->bytes += message->length;
	else if (message->length > 0)
		message->remote = true;
}

static void message_sink(struct conn *conn, struct message *message)
{
	struct incoming *in = &conn->in;

	in->message = message;
	in->sink = SINK_MESSAGE;
	if (message->rx)
		rx_place(message->rx, &in->place);
	else if (message->bytes)
		place_set(&in->place, &(struct iovec){ message->bytes, message->length }, 1);
	else
		place_set(&in->place, NULL, 0);
}

bool message_find(struct message *message)
{
	struct ep *ep = message->ep;

	role_assert();
	/* Posts to a shared context are not stopped by one endpoint's errors: so its messages are. */
	if (message->srx->shared && ep->attr.rx_cq && cq_choked(ep->attr.rx_cq))
		return false;
	message->rx = rx_match_arrival(match_of(message), message);
	if (!message->rx)
		return true;
	if (unlikely(message->rx->flags & (POST_MULTI | POST_WATCHED))) {
		if (message->rx->flags & POST_WATCHED)
			ep->nic->config.watch->place(message->rx->watch);
		if (message->rx->flags & POST_MULTI)
			message->rx = multi_take(message->rx, message->length);
		if (message->rx && ep->nic->config.races && message->session && message->length)
			open_access_message(message->session, message->ref, message->rx, message->length);
	}
	if (message->rx) {
		message->rx->ep = ep;
		if (unlikely(message->srx->low))
			srx_took(message->srx);
	}
	return message->rx;
}

/* False: there is room neither for the message nor for its completion. */
static bool message_match(struct message *message)
{
	return message_find(message) && (message->rx || match_of(message)->envelopes < message->srx->envelopes);
}

const char *message_begin(struct conn *conn, const struct wire_head *head, bool *full)
{
	const struct wire_send *send = wire_body(head);
	struct session *session = conn->session;
	struct message *message = message_new(session->ep->nic);

	nic_role(conn->nic);
	*full = !message;
	if (!message)
		return NULL;
	message->ep = session->ep;
	message->srx = session->ep->srx;
	message->session = session;
	message->ref = wire_get64(head->seq);
	message->length = wire_get64(send->length);
	message->cq_data = wire_get64(send->cq_data);
	message->has_cq_data = head->flags & WIRE_F_CQ_DATA;
	message->tag = wire_get64(send->tag);
	message->auth = auth_taken(conn, wire_get64(send->auth));
	message->tagged = head->flags & WIRE_F_TAGGED;
	message->remote = head->op == WIRE_RTS;
	message->arriving = true;
	if (unlikely(head->flags & WIRE_F_COLLECTIVE))
		coll_address(message);
	*full = !message_match(message);
	if (*full) {
		message_give(session->ep->nic, message);
		return NULL;
	}
	session->messages++;
	if (!message->rx) {
		if (head->op == WIRE_SEND)
			message_keep_payload(message);
		rx_match_keep(match_of(message), message);
		if (unlikely(head->flags & WIRE_F_COLLECTIVE))
			coll_unexpected(message);
	}
	message_sink(conn, message);
	return NULL;
}

/* The payload is here, a receive too. */
static void message_deliver(struct message *message)
{
	struct rx *rx = message->rx;
	struct place place;

	rx_place(rx, &place);
	if (message->bytes && !place_put(&place, message->bytes, message->length))
		complete_receive_failed(rx, REFUSAL_RECEIVE_BUFFER);
	else
		complete_receive(rx, message);
	message_free(message);
}

static void pull_unlink(struct message *message)
{
	struct message **at = &message->session->rsp.pulls;

	while (*at != message)
		at = &(*at)->next;
	*at = message->next;
	if (message->pull_due)
		message->session->rsp.pulls_due--;
}

/* Its receive has no buffer any more, by that cause: the sender is told, too. */
static const char *refuse_buffer(struct session *session, uint64_t ref, uint64_t length, enum refusal_cause cause)
{
	const struct refusal why = { .cause = cause, .op = OP_SEND, .length = length };

	return verdict_refuse(session, ref, &why);
}

static const char *pull_finish(struct message *message, bool fault)
{
	struct session *session = message->session;
	uint64_t ref = message->ref, length = message->length;

	pull_unlink(message);
	if (fault)
		complete_receive_failed(message->rx, REFUSAL_RECEIVE_BUFFER);
	else if (message->status != WIRE_GOOD)
		complete_receive_failed(message->rx, REFUSAL_SENDER);
	else
		complete_receive(message->rx, message);
	message_free(message);
	return fault ? refuse_buffer(session, ref, length, REFUSAL_RECEIVE_BUFFER) : verdict_add(session, WIRE_DONE, ref);
}

/* The payload is at the sender, a receive is here: asks for as much as the receive takes. */
static const char *pull_begin(struct message *message)
{
	struct session *session = message->session;
	struct message **at = &session->rsp.pulls;

	message->wanted = message->length < message->rx->capacity ? message->length : message->rx->capacity;
	while (*at)
		at = &(*at)->next;
	message->next = NULL;
	*at = message;
	if (message->wanted == 0)
		return pull_finish(message, false);
	message->pull_due = true;
	session->rsp.pulls_due++;
	session_want(session);
	return NULL;
}

void message_discard(struct message *message)
{
	struct session *session = message->session;
	bool owed = message->remote && !message->lost;
	uint64_t ref = message->ref;

	role_assert();
	rx_match_drop(match_of(message), message);
	message_free(message);
	if (owed && verdict_add(session, WIRE_DONE, ref))
		session_end(session, verdict_lack(session));
}

void message_matched(struct message *message, struct rx *rx)
{
	struct session *session = message->session; /* outlives the message */

	role_assert();
	rx->ep = message->ep;
	if (message->lost) {
		complete_receive_failed(rx, message->lost);
		message_free(message);
		return;
	}
	message->rx = rx;
	if (message->arriving)
		return; /* message_end() goes on */
	if (!message->remote)
		message_deliver(message);
	else if (pull_begin(message))
		session_end(session, verdict_lack(session));
}

/* The message did not come whole, or not into its place. */
static const char *message_failed(struct message *message, bool fault)
{
	struct session *session = message->session;
	uint64_t ref = message->ref, length = message->length;
	enum refusal_cause cause = message->recalled ? REFUSAL_CLOSED : REFUSAL_RECEIVE_BUFFER;

	rx_match_drop(match_of(message), message);
	if (message->rx)
		complete_receive_failed(message->rx, fault ? REFUSAL_RECEIVE_BUFFER : REFUSAL_SENDER);
	message_free(message);
	return fault ? refuse_buffer(session, ref, length, cause) : NULL;
}

const char *message_end(struct conn *conn, enum wire_status status)
{
	struct message *message = conn->in.message;
	struct session *session = conn->session;
	const char *broken = NULL;

	nic_role(conn->nic);
	conn->in.message = NULL;
	message->arriving = false;
	if (status != WIRE_GOOD || conn->in.fault)
		return message_failed(message, conn->in.fault);
	if (message->remote) {
		if (conn->in.head.op == WIRE_SEND)
			broken = verdict_add(session, WIRE_PARK, message->ref);
		if (message->rx) { /* even if broken: the session's end also ends the receive */
			const char *late = pull_begin(message);

			broken = broken ? broken : late;
		}
	} else if (message->rx && message->bytes) {
		message_deliver(message);
	} else if (message->rx) {
		complete_receive(message->rx, message);
		message_free(message);
	}
	return broken;
}

/* It is free for a message that waited behind the one that had it. */
void message_give_back(struct rx *rx)
{
	struct message *other;

	role_assert();
	if (rx->parent) {
		multi_undo(rx);
		return;
	}
	if (rx->srx->shared)
		rx->ep = NULL;
	if (unlikely(rx->srx->low))
		srx_gave_back(rx->srx);
	other = rx_match_post(&rx->srx->match, rx);
	if (other)
		message_matched(other, rx);
}

void message_undo(struct conn *conn)
{
	struct message *message = conn->in.message;
	struct rx *rx = message->rx;

	nic_role(conn->nic);
	conn->in.message = NULL;
	rx_match_drop(match_of(message), message);
	message_free(message);
	if (rx)
		message_give_back(rx);
}

static struct message *pull_find(struct session *session, uint64_t ref)
{
	struct message *message = session->rsp.pulls;

	while (message && message->ref != ref)
		message = message->next;
	return message;
}

const char *message_pulled(struct conn *conn, uint64_t ref, uint64_t offset, uint64_t rest)
{
	struct message *message = pull_find(conn->session, ref);
	struct incoming *in = &conn->in;

	nic_role(conn->nic);
	if (!message || message->pull_due)
		return ref > conn->session->rsp.seen ? "DATA for a request that was never sent (WIRE-59)" : NULL;
	if (offset != message->pulled || rest != message->wanted - message->pulled)
		return "DATA that is not what PULL asked for next (WIRE-41, WIRE-72)";
	in->sink = SINK_PULL;
	in->message = message;
	if (wire_get32(in->head.payload) == 1) { /* it may mean no more than that nothing comes */
		place_set(&in->place, &(struct iovec){ &in->byte, 1 }, 1);
		return NULL;
	}
	rx_place(message->rx, &in->place);
	place_advance(&in->place, offset);
	return NULL;
}

/* An answer of one byte is the message's. False: its place cannot be written. */
static bool put_byte(const struct message *message, uint8_t byte)
{
	struct place place;

	rx_place(message->rx, &place);
	place_advance(&place, message->pulled);
	return place_put(&place, &byte, 1);
}

const char *message_pulled_end(struct conn *conn, enum wire_status status)
{
	struct message *message = conn->in.message;
	uint32_t length = wire_get32(conn->in.head.payload);
	bool fault = conn->in.fault;

	nic_role(conn->nic);
	conn->in.message = NULL;
	if (length == 1 && status == WIRE_GOOD)
		fault = !put_byte(message, conn->in.byte);
	message->pulled += length;
	if (status != WIRE_GOOD)
		message->status = (uint8_t)status;
	if (fault || status != WIRE_GOOD || conn->in.last)
		return pull_finish(message, fault);
	return NULL;
}

bool message_fill_pull(struct session *session, struct conn *conn)
{
	struct message *message = session->rsp.pulls;
	void *at;

	nic_role(conn->nic);
	if (session->rsp.pulls_due == 0)
		return false;
	while (!message->pull_due)
		message = message->next;
	at = conn_frame_begin(conn, 0, 0);
	if (!at)
		return false;
	conn_frame_end(conn, wire_put_pull(at, message->ref, message->pulled, message->wanted - message->pulled));
	message->pull_due = false;
	session->rsp.pulls_due--;
	return true;
}

void message_pull_again(struct session *session)
{
	nic_role(session->ep->nic);
	session->rsp.pulls_due = 0;
	for (struct message *message = session->rsp.pulls; message; message = message->next) {
		message->pull_due = true;
		session->rsp.pulls_due++;
	}
}

/* The message that is arriving: the rest of it is dropped. */
static void recall_arriving(struct conn *conn, uint64_t desc)
{
	struct message *message = conn->in.message;

	if (!message || !message->arriving || !message->rx || !rx_names(message->rx, desc))
		return;
	complete_receive_failed(message->rx, REFUSAL_LOCAL_CLOSED);
	message->rx = NULL;
	message->recalled = true;
	conn->in.fault = true;
}

static struct message *pull_named(struct session *session, uint64_t desc)
{
	struct message *message = session->rsp.pulls;

	while (message && !rx_names(message->rx, desc))
		message = message->next;
	return message;
}

void message_recall(struct session *session, uint64_t desc)
{
	struct conn *conn = session->conn;
	const char *broken = NULL;
	struct message *message;

	nic_role(session->ep->nic);
	if (conn)
		recall_arriving(conn, desc);
	while ((message = pull_named(session, desc)) && !broken) {
		uint64_t ref = message->ref, length = message->length;

		pull_unlink(message);
		if (conn && conn->in.message == message) {
			conn->in.message = NULL;
			conn->in.sink = SINK_DROP;
		}
		complete_receive_failed(message->rx, REFUSAL_LOCAL_CLOSED);
		message_free(message);
		broken = refuse_buffer(session, ref, length, REFUSAL_CLOSED);
	}
	if (broken)
		session_end(session, verdict_lack(session));
}

static void flush_remote(struct rx_match *match, struct message_list *list, const struct session *session)
{
	struct message *message, *next;

	for (message = list->first; message; message = next) {
		next = message->link[BY_ARRIVAL].next;
		if (message->session != session || !message->remote)
			continue;
		rx_match_drop(match, message);
		message_free(message);
	}
}

void message_flush(struct session *session, enum refusal_cause cause)
{
	struct rx_match *match = &session->ep->srx->match;
	struct message *message;

	nic_role(session->ep->nic);
	while ((message = session->rsp.pulls)) {
		pull_unlink(message);
		complete_receive_failed(message->rx, cause);
		message_free(message);
	}
	if (!session->messages) /* then no waiting message is the session's */
		return;
	flush_remote(match, &match->unexpected, session);
	flush_remote(match, &match->tagged, session);
	if (session->ep->collectives) {
		struct rx_match *own = coll_match(session->ep->collectives);

		flush_remote(own, &own->tagged, session);
	}
	for (message = match->claimed.first; message; message = message->link[BY_ARRIVAL].next)
		if (message->session == session && message->remote && !message->lost)
			message->lost = cause; /* told to the receive that takes the claimed message */
}

static void drop_list(struct rx_match *match, struct message_list *list, const struct ep *ep)
{
	struct message *message, *next;

	for (message = list->first; message; message = next) {
		next = message->link[BY_ARRIVAL].next;
		if (message->ep != ep)
			continue;
		rx_match_drop(match, message);
		message_free(message);
	}
}

void message_drop_all(struct rx_match *match, const struct ep *ep)
{
	struct message *message, *next;

	nic_role(ep->nic);
	drop_list(match, &match->unexpected, ep);
	drop_list(match, &match->tagged, ep);
	for (message = match->claimed.first; message; message = next) {
		next = message->link[BY_ARRIVAL].next;
		if (message->ep != ep)
			continue;
		rx_match_unclaim(match, message);
		message_free(message);
	}
}
