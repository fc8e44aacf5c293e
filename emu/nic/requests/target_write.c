/* SPDX-License-Identifier: BSD-2-Clause */
/* target_write.c - the peer's WRITEs. The first segment judges the whole message; a cut, or an initiator that ends it early, leaves
 * what has come so far in its place. */
#include "emu/nic/requests/responder.h"

#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

/* Flags that all segments of a WRITE share. */
enum { WRITE_SAME = WIRE_F_CQ_DATA | WIRE_F_COMMIT | WIRE_F_TAGGED | WIRE_F_SOLICITED | WIRE_F_SETTLES | WIRE_F_DELIVERED };

/* The receive that its CQ data was to take, if it has one, is free again. */
static void write_give_back(struct write_state *write)
{
	struct rx *rx = write->rx;

	write->rx = NULL;
	if (unlikely(rx != NULL))
		message_give_back(rx);
}

/* The message under way may never be completed: a region of single use is free for others, until its next segment. */
void target_write_pause(struct session *session)
{
	struct write_state *write = &session->rsp.write;

	if (!write->open)
		return;
	if (!write->ask.tagged)
		access_release(session, write->ask.to.key, write->ask.mr_id, write->ask.seq);
	if (write->moved)
		return;
	/* It comes again from the beginning, if it does. */
	write_give_back(write);
	if (write->ask.tagged)
		tagged_undo(session, write->ask.seq);
	write->open = false;
}

/* It will not be completed: the initiator has ended it, or its session. */
void target_write_abandon(struct session *session)
{
	if (likely(!session->rsp.write.open))
		return;
	target_write_pause(session);
	if (session->rsp.write.open && session->rsp.write.ask.tagged)
		tagged_fail(session, session->rsp.write.ask.seq, REFUSAL_SENDER);
	write_give_back(&session->rsp.write);
	session->rsp.write.open = false;
}

/* It is refused, or the initiator has ended it. */
static void write_let_go(struct session *session, enum refusal_cause cause)
{
	const struct access *ask = &session->rsp.write.ask;

	if (ask->tagged)
		tagged_fail(session, ask->seq, cause != REFUSAL_NONE ? cause : REFUSAL_SENDER);
	else
		access_release(session, ask->to.key, ask->mr_id, ask->seq);
	if (unlikely(session->rsp.write.rx != NULL) && rx_is_planned(session->rsp.write.rx)) {
		complete_receive_failed(session->rsp.write.rx, REFUSAL_NO_SESSION);
		session->rsp.write.rx = NULL;
	}
	write_give_back(&session->rsp.write);
}

void target_write_recall(struct session *session, uint64_t desc)
{
	struct rx *rx = session->rsp.write.rx;

	nic_role(session->ep->nic);
	if (unlikely(rx != NULL) && rx->flags & POST_REACH)
		rx_shorten(rx, desc);
}

/* EP_RULE_DATA_RECEIVES: the next receive is kept for its CQ data, and for nothing else (V98). False: none is posted. */
static bool write_take_receive(struct session *session)
{
	struct message message = { .ep = session->ep, .srx = session->ep->srx, .session = session };

	if (!message_find(&message))
		return false;
	session->rsp.write.rx = message.rx;
	return message.rx;
}

/* Before a byte is placed: has the completion of what the peer sends a place (F5)? That of a receive has. NULL, or the breach of
 * the protocol; or conn->in.skip is set: the peer was told RNR. */
__attribute__((noinline)) static const char *write_reserve(struct conn *conn, const struct wire_head *head)
{
	struct session *session = conn->session;
	bool data_receives = head->flags & WIRE_F_CQ_DATA && session->ep->attr.rules & EP_RULE_DATA_RECEIVES;

	if (head->flags & WIRE_F_COMMIT && data_receives)
		return "WRITE with COMMIT and CQ data, which takes a receive here (WIRE-149)";
	if (head->flags & WIRE_F_TAGGED || (data_receives ? write_take_receive(session) : complete_reserve(session)))
		return NULL;
	if (!ep_loses(session->ep))
		return responder_rnr(conn);
	conn->in.why = (struct refusal){ .cause = REFUSAL_NO_RECEIVE }; /* V180 */
	return NULL;
}

/* Finds the receive for a tag; else conn->in.why says why there is none, or conn->in.skip is set: the peer was told RNR. */
__attribute__((noinline)) static const char *write_find(struct conn *conn)
{
	struct write_state *write = &conn->session->rsp.write;
	const char *broken;

	write->ask.tagged = true;
	if (!responder_allows(conn->session, EP_TAGGED_WRITE, &conn->in.why)) {
		access_describe(&write->ask, &conn->in.why);
		return NULL;
	}
	broken = tagged_admit(conn, &write->ask);
	if (broken || conn->in.skip)
		write->open = false;
	return broken;
}

/* What the first segment says of the whole message. */
static inline void write_note(struct conn *conn, const struct wire_head *head)
{
	const struct wire_write *body = wire_body(head);
	struct write_state *write = &conn->session->rsp.write;
	struct access *ask = &write->ask;

	ask->tagged = false;
	auth_get_target(conn, &body->to, &ask->to);
	ask->length = wire_get64(body->rest);
	ask->seq = wire_get64(head->seq);
	ask->mr_id = 0;
	ask->right = MR_REMOTE_WRITE;
	ask->op = OP_WRITE;
	ask->commit = head->flags & WIRE_F_COMMIT;
	write->moved = 0;
	write->open = true;
	write->refused = false;
	write->flags = head->flags & WRITE_SAME;
	write->cq_data = wire_get64(body->cq_data);
}

/* First segment: judges the whole message. *granted: the region, in which conn->in.place.to lies, or NULL. */
static const char *write_first(struct conn *conn, const struct wire_head *head, const struct mr **granted)
{
	struct session *session = conn->session;
	struct write_state *write = &session->rsp.write;
	struct access *ask = &write->ask;
	const char *broken;

	target_write_abandon(session);
	if (unlikely(head->flags & WIRE_F_CQ_DATA || session->ep->attr.caps & EP_REGION_EVENTS)) {
		broken = write_reserve(conn, head);
		if (broken || conn->in.skip)
			return broken;
		if (write->rx && rx_is_planned(write->rx))
			conn->in.why = (struct refusal){ .cause = ep_loses(session->ep) ? REFUSAL_RECEIVE_BUFFER
											: write->rx->reach.planned,
							 .access = REFUSAL_INJECTED };
	}
	write_note(conn, head);
	if (unlikely(conn->in.why.cause != REFUSAL_NONE)) {
		access_describe(ask, &conn->in.why);
		return NULL;
	}
	if (unlikely(head->flags & WIRE_F_TAGGED)) {
		broken = write_find(conn);
		if (broken || conn->in.skip || conn->in.why.cause != REFUSAL_NONE)
			return broken;
	} else if (!responder_allows(session, EP_REMOTE_WRITE, &conn->in.why)) {
		access_describe(ask, &conn->in.why);
		return NULL;
	}
	*granted = access_check(session, ask, &conn->in.place.to, &conn->in.why);
	if (*granted)
		ask->mr_id = (*granted)->id;
	return NULL;
}

/* Refuses the whole message. */
static void write_refuse(struct conn *conn, enum refusal_cause cause)
{
	conn->in.why = (struct refusal){ .cause = cause };
	access_describe(&conn->session->rsp.write.ask, &conn->in.why);
}

/* conn->in.place.to is where it goes. */
static void write_place(struct conn *conn, const struct mr *mr)
{
	conn->session->rsp.write.counted = mr->bindings;
	conn->in.sink = SINK_WRITE;
	place_begin(&conn->in.place, mr->pin);
}

/* Where this segment goes; the region is looked up again, since it may have been closed between two segments. */
static void write_sink(struct conn *conn, uint32_t payload)
{
	const struct write_state *write = &conn->session->rsp.write;
	struct access ask = write->ask;
	struct refusal why;
	const struct mr *mr;

	ask.to.addr += write->moved;
	ask.length = payload;
	mr = access_check(conn->session, &ask, &conn->in.place.to, &why);
	if (mr) {
		write_place(conn, mr);
		return;
	}
	write_refuse(conn, why.cause);
	conn->in.why.age_ns = why.age_ns;
}

/* Does this segment follow the one before (WIRE-41)? */
static __attribute__((noinline)) bool write_goes_on(struct conn *conn, const struct write_state *write,
						    const struct wire_head *head)
{
	const struct wire_write *body = wire_body(head);
	struct wire_target_fields to;

	auth_get_target(conn, &body->to, &to);
	to.addr -= write->moved;
	if (write->ask.to.auth == AUTH_STRANGE)
		to.auth = AUTH_STRANGE; /* the program may have come to have the key since */
	return !memcmp(&to, &write->ask.to, sizeof(to)) && wire_get64(body->rest) == write->ask.length - write->moved &&
	       (head->flags & WRITE_SAME) == write->flags && wire_get64(body->cq_data) == write->cq_data;
}

/* Others are compared with it (races.h). `granted` is NULL but for a first segment, which may name no region at all. */
static const char *write_meets(struct conn *conn, const struct mr *granted)
{
	const struct access *ask = &conn->session->rsp.write.ask;
	const struct mr *mr = granted ? granted : access_region(conn->session, ask);
	uint32_t payload = wire_get32(conn->in.head.payload);
	struct open_way way = open_access_begin(conn, ask, mr, &conn->in.place.to,
						&(struct access_effect){ .changes = true, .waits = payload > 0 });

	if (way.apart && !held_apart(conn, payload))
		way.late = false;
	if (way.late && way.apart && held_late(conn, &conn->in.head, mr, conn->in.waits_ns))
		return NULL;
	return way.waits ? conn_waits : NULL;
}

/* The payload of a segment that was granted comes next. */
static inline void write_go(struct conn *conn, const struct wire_head *head, const struct mr *granted)
{
	/* The whole message is this segment; but known pages are looked for when a segment is placed. */
	if (granted && head->flags & WIRE_F_LAST && !granted->pages)
		write_place(conn, granted);
	else
		write_sink(conn, wire_get32(head->payload));
}

static __attribute__((noinline, cold)) const char *write_go_watched(struct conn *conn, const struct wire_head *head,
								    const struct mr *granted)
{
	if (held_take(conn, head, granted))
		return NULL;
	write_go(conn, head, granted);
	if (conn->nic->config.races && conn->in.sink == SINK_WRITE && !conn->session->rsp.write.ask.tagged)
		return write_meets(conn, granted);
	return NULL;
}

const char *target_write_take(struct conn *conn, const struct wire_head *head)
{
	struct write_state *write = &conn->session->rsp.write;
	const struct mr *granted = NULL;
	const char *broken;

	if (head->flags & WIRE_F_FIRST) {
		broken = write_first(conn, head, &granted);
		if (broken || conn->in.skip)
			return broken;
	} else if (!write->open) {
		return "WRITE goes on where none is open (WIRE-56)";
	} else if (!write_goes_on(conn, write, head)) {
		return "WRITE goes on otherwise than it began (WIRE-41, WIRE-56)";
	}
	if (write->refused || conn->in.why.cause != REFUSAL_NONE)
		return NULL;
	if (unlikely(conn->session->fault))
		return write_go_watched(conn, head, granted);
	write_go(conn, head, granted);
	return NULL;
}

/* It was written into a tagged receive, or is to be durable. */
static __attribute__((noinline)) const char *write_done_otherwise(struct session *session, const struct remote_done *done)
{
	const struct write_state *write = &session->rsp.write;
	struct committed committed = { .ask = write->ask, .counted = write->counted, .changed = write->ask.length, .done = *done };

	if (!(write->flags & WIRE_F_TAGGED))
		return commit_begin(session, &committed);
	tagged_done(session, write->ask.seq, done);
	return NULL;
}

/* Its CQ data is told of by the receive that was kept for it, and not by a completion of its own. */
static __attribute__((noinline)) void write_receive(struct session *session, struct remote_done *done)
{
	const struct front_end *front = session->ep->nic->config.front;
	struct write_state *write = &session->rsp.write;
	struct message message = {
		.ep = session->ep,
		.session = session,
		.length = done->length,
		.cq_data = done->cq_data,
		.has_cq_data = true,
		.auth = done->auth,
	};
	struct rx *rx = write->rx;

	write->rx = NULL;
	rx->done.c.flags |= front->cq_written[0] | (done->solicited ? front->cq_solicited : 0);
	complete_data_receive(rx, &message);
	done->has_cq_data = done->event = false;
}

/* The message is in its place. */
static const char *write_done(struct session *session)
{
	const struct write_state *write = &session->rsp.write;
	const struct access *ask = &write->ask;
	struct remote_done done = {
		.length = ask->length,
		.has_cq_data = write->flags & WIRE_F_CQ_DATA,
		.solicited = write->flags & WIRE_F_SOLICITED,
		.cq_data = write->cq_data,
		.auth = ask->to.auth,
	};

	if (unlikely(session->ep->attr.caps & (EP_REGION_EVENTS | EP_WATCHED)))
		done.event = access_event(session, ask, &done.context);
	if (unlikely(write->flags & (WIRE_F_TAGGED | WIRE_F_COMMIT)))
		return write_done_otherwise(session, &done);
	if (write->counted && ask->length)
		access_count_change(session, ask->to.key, ask->mr_id, ask->length);
	if (unlikely(write->rx != NULL))
		write_receive(session, &done);
	complete_remote(session, &session->rsp.slot, &done);
	return NULL;
}

/* A segment that is held back is here: it is judged where others were before they came. */
static __attribute__((noinline)) void write_held(struct conn *conn, enum wire_status status)
{
	uint32_t payload = wire_get32(conn->in.head.payload);
	uint8_t *bytes = conn->in.own;

	conn->in.own = NULL;
	conn->in.sink = SINK_DROP;
	if (status == WIRE_GOOD && !conn->session->rsp.write.refused)
		write_sink(conn, payload);
	if (conn->in.sink == SINK_WRITE)
		held_end(conn, bytes, payload);
	free(bytes);
}

const char *target_write_end(struct conn *conn, enum wire_status status)
{
	struct session *session = conn->session;
	struct write_state *write = &session->rsp.write;
	const struct wire_head *head = &conn->in.head;
	const char *broken = NULL;

	if (unlikely(conn->in.sink == SINK_OWN))
		write_held(conn, status);
	if (conn->in.fault && conn->in.why.cause == REFUSAL_NONE)
		write_refuse(conn, REFUSAL_NOT_BACKED);
	if (conn->in.why.cause != REFUSAL_NONE && !write->refused) {
		write->refused = true;
		if (unlikely(write->rx != NULL) && rx_is_planned(write->rx))
			responder_receive_fails(session, conn->in.why.cause);
		broken = verdict_refuse(session, write->ask.seq, &conn->in.why);
	}
	if (status != WIRE_GOOD) /* the initiator ends it early and reports for itself; the rest is drained */
		write->refused = true;
	if (write->refused)
		write_let_go(session, conn->in.why.cause);
	if (head->flags & WIRE_F_LAST) {
		if (write->open && !write->refused)
			broken = write_done(session);
		write->open = false;
	}
	write->moved += wire_get32(head->payload);
	return broken;
}

void target_write_recheck(struct conn *conn)
{
	const struct write_state *write = &conn->session->rsp.write;
	const struct mr *mr;

	nic_role(conn->nic);
	if (conn->in.sink != SINK_WRITE)
		return;
	mr = access_region(conn->session, &write->ask);
	if (mr && mr->id != write->ask.mr_id)
		mr = NULL;
	if (mr && !mr->invalidated)
		return;
	conn->in.sink = SINK_DROP;
	write_refuse(conn, mr ? REFUSAL_INVALIDATED : write->ask.tagged ? REFUSAL_RECEIVE_BUFFER : REFUSAL_CLOSED);
	if (mr || write->ask.tagged)
		return;
	(void)access_ended(conn->session, &write->ask, &conn->in.why);
}
