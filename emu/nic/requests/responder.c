/* SPDX-License-Identifier: BSD-2-Clause */
/* responder.c - the peer's requests, a ladder of checks each: sequence, the endpoint's right, room, region, range. */
#include "emu/nic/requests/responder.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/endpoint/ep.h"
#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/faults/fault_serve.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/requests/access_check.h"
#include "emu/nic/requests/commit.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/read_response.h"
#include "emu/nic/requests/target_atomic.h"
#include "emu/nic/requests/verdict.h"
#include "emu/nic/transport/auth_tokens.h"

/* Flags that all segments of a WRITE share. */
enum { WRITE_SAME = WIRE_F_CQ_DATA | WIRE_F_COMMIT };

void responder_init(struct responder *rsp)
{
	static atomic_uint_fast64_t lives;

	*rsp = (struct responder){ .life = atomic_fetch_add_explicit(&lives, 1, memory_order_relaxed) + 1,
				   .verdict_next = 1 };
}

const char *responder_rnr(struct conn *conn)
{
	struct responder *rsp = &conn->session->rsp;

	nic_role(conn->nic);
	conn->in.skip = true;
	rsp->rnr = rsp->rnr_owed = true;
	conn_busy(conn);
	return NULL;
}

__attribute__((noinline, cold)) static bool allows_after_all(const struct session *session, uint32_t cap, struct refusal *why)
{
	*why = (struct refusal){ .cause = REFUSAL_NONE };
	if (cm_caps(session) & cap)
		return !session->fault || !fault_refuses(session, why);
	why->cause = REFUSAL_CAPABILITY;
	return false;
}

bool responder_allows(const struct session *session, uint32_t cap, struct refusal *why)
{
	nic_role(session->ep->nic);
	return (cm_caps(session) & cap && !session->fault) || allows_after_all(session, cap, why);
}

/* The message under way may never be completed: a region of single use is free for others, until its next segment. */
static void write_pause(struct session *session)
{
	const struct write_state *write = &session->rsp.write;

	if (write->open)
		access_release(session, write->ask.to.key, write->ask.mr_id, write->ask.seq);
}

/* It will not be completed: the initiator has ended it, or its session. */
static void write_abandon(struct session *session)
{
	write_pause(session);
	session->rsp.write.open = false;
}

/* First segment: judges the whole message. *granted: the region, in which conn->in.place.to lies, or NULL. */
static const char *write_first(struct conn *conn, const struct wire_head *head, const struct mr **granted)
{
	const struct wire_write *body = wire_body(head);
	struct session *session = conn->session;
	struct write_state *write = &session->rsp.write;
	struct access *ask = &write->ask;

	write_abandon(session);
	if ((head->flags & WIRE_F_CQ_DATA) && !complete_reserve(session))
		return responder_rnr(conn);	/* F5: the CQ slot before the first byte */
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
	if (!responder_allows(session, EP_REMOTE_WRITE, &conn->in.why)) {
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
static bool write_goes_on(struct conn *conn, const struct write_state *write, const struct wire_head *head)
{
	const struct wire_write *body = wire_body(head);
	struct wire_target_fields to;

	auth_get_target(conn, &body->to, &to);
	to.addr -= write->moved;
	if (write->ask.to.auth == AUTH_STRANGE)
		to.auth = AUTH_STRANGE;	/* the program may have come to have the key since */
	return !memcmp(&to, &write->ask.to, sizeof(to)) && wire_get64(body->rest) == write->ask.length - write->moved &&
	       (head->flags & WRITE_SAME) == write->flags && wire_get64(body->cq_data) == write->cq_data;
}

static const char *take_write(struct conn *conn, const struct wire_head *head)
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
	/* The whole message is this segment; but known pages are looked for when a segment is placed. */
	if (granted && head->flags & WIRE_F_LAST && !granted->pages)
		write_place(conn, granted);
	else
		write_sink(conn, wire_get32(head->payload));
	return NULL;
}

__attribute__((noinline)) static const char *write_commit(struct session *session, const struct remote_done *done)
{
	const struct write_state *write = &session->rsp.write;
	struct committed committed = { .ask = write->ask, .counted = write->counted, .changed = write->ask.length, .done = *done };

	return commit_begin(session, &committed);
}

/* The message is in its place. */
static const char *write_done(struct session *session)
{
	const struct write_state *write = &session->rsp.write;
	const struct access *ask = &write->ask;
	struct remote_done done = { .length = ask->length, .has_cq_data = write->flags & WIRE_F_CQ_DATA,
				    .cq_data = write->cq_data, .auth = ask->to.auth };

	if (write->flags & WIRE_F_COMMIT)
		return write_commit(session, &done);
	if (write->counted && ask->length)
		access_count_change(session, ask->to.key, ask->mr_id, ask->length);
	complete_remote(session, &session->rsp.slot, &done);
	return NULL;
}

static const char *end_write(struct conn *conn, enum wire_status status)
{
	struct session *session = conn->session;
	struct write_state *write = &session->rsp.write;
	const struct wire_head *head = &conn->in.head;
	const char *broken = NULL;

	if (conn->in.fault && conn->in.why.cause == REFUSAL_NONE)
		write_refuse(conn, REFUSAL_NOT_BACKED);
	if (conn->in.why.cause != REFUSAL_NONE && !write->refused) {
		write->refused = true;
		broken = verdict_refuse(session, write->ask.seq, &conn->in.why);
	}
	if (status != WIRE_GOOD)	/* the initiator ends it early and reports for itself; the rest is drained */
		write->refused = true;
	if (write->refused)
		access_release(session, write->ask.to.key, write->ask.mr_id, write->ask.seq);
	if (head->flags & WIRE_F_LAST) {
		if (write->open && !write->refused)
			broken = write_done(session);
		write->open = false;
	}
	write->moved += wire_get32(head->payload);
	return broken;
}

static const char *take_read(struct conn *conn, const struct wire_head *head)
{
	const struct wire_read *body = wire_body(head);
	struct access ask = { .length = wire_get64(body->length), .right = MR_REMOTE_READ,
				 .op = OP_READ, .seq = wire_get64(head->seq) };
	struct session *session = conn->session;
	struct mr_place place;
	const char *broken;
	struct mr *mr;

	auth_get_target(conn, &body->from, &ask.to);
	if (!responder_allows(session, EP_REMOTE_READ, &conn->in.why)) {
		access_describe(&ask, &conn->in.why);
		return NULL;
	}
	mr = access_check(session, &ask, &place, &conn->in.why);
	if (!mr)
		return NULL;
	ask.mr_id = mr->id;
	broken = read_response_add(session, wire_get64(head->seq), &ask, mr->pin);
	if (broken)
		access_release(session, ask.to.key, ask.mr_id, ask.seq);
	return broken;
}

static const char *end_read(struct conn *conn, enum wire_status status)
{
	(void)status;
	if (conn->in.why.cause == REFUSAL_NONE)
		return NULL;
	return verdict_refuse(conn->session, wire_get64(conn->in.head.seq), &conn->in.why);
}

static const char *take_message(struct conn *conn, const struct wire_head *head)
{
	const struct wire_send *send = wire_body(head);
	struct refusal *why = &conn->in.why;
	const char *broken;
	bool full;

	if (!responder_allows(conn->session, head->flags & WIRE_F_TAGGED ? EP_TRECV : EP_RECV, why)) {
		why->op = OP_SEND;
		why->length = wire_get64(send->length);
		return NULL;
	}
	if (!ep_takes(conn->session->ep, auth_taken(conn, wire_get64(send->auth)), &conn->session->peer)) {
		*why = (struct refusal){ .cause = REFUSAL_AUTH, .op = OP_SEND, .length = wire_get64(send->length) };
		return NULL;
	}
	broken = message_begin(conn, head, &full);
	return full ? responder_rnr(conn) : broken;
}

static const char *end_message(struct conn *conn, enum wire_status status)
{
	if (conn->in.why.cause != REFUSAL_NONE)
		return verdict_refuse(conn->session, wire_get64(conn->in.head.seq), &conn->in.why);
	return message_end(conn, status);
}

static const struct request_rule {
	const char *(*take)(struct conn *conn, const struct wire_head *head);
	const char *(*end)(struct conn *conn, enum wire_status status);
	bool one_sided;	/* the program here has no reason to say anything soon that the acknowledgement could ride on */
} request_rules[] = {
	[WIRE_WRITE] = { take_write, end_write, true },
	[WIRE_READ] = { take_read, end_read, false },
	[WIRE_SEND] = { take_message, end_message, false },
	[WIRE_RTS] = { take_message, end_message, false },
	[WIRE_ATOMIC] = { target_atomic_take, target_atomic_end, true },
	[WIRE_CONNECT] = { cm_take, cm_end, true },
	[WIRE_ACCEPT] = { cm_take, cm_end, true },
	[WIRE_REJECT] = { cm_take, cm_end, true },
};

const char *responder_request(struct conn *conn, const struct wire_head *head)
{
	struct responder *rsp = &conn->session->rsp;
	uint64_t seq = wire_get64(head->seq);
	uint64_t told = conn->ack_sent > conn->floor ? conn->ack_sent : conn->floor;

	nic_role(conn->nic);
	if (seq <= rsp->seen) {
		conn->in.repeat = head->op == WIRE_READ;
		conn->in.skip = !conn->in.repeat;
	} else if (seq > rsp->seen + 1) {
		conn->in.skip = true;
		if (!rsp->rnr)
			return "request number out of sequence (WIRE-55)";
	} else if (seq - told > LIMIT_REQUESTS) {
		return "more requests than granted (WIRE-25)";
	} else {
		rsp->rnr = false;
		if (head->op != WIRE_WRITE)
			write_abandon(conn->session);
	}
	if (conn->in.skip)
		return NULL;
	if (conn->session->fault && !fault_begin(conn, head))
		return NULL;
	return request_rules[head->op].take(conn, head);
}

/* An endpoint that sends to itself waits for its own acknowledgement: soon. */
static void acknowledge_after(struct nic *nic, struct conn *conn)
{
	unsigned int idle = SLICE_IDLE_ACKS;

	if (request_rules[conn->in.head.op].one_sided || conn->session->target_only)
		idle = 1;
	else if (wire_get32(conn->in.head.payload) > LIMIT_INJECT && !conn_store_ack(conn))
		idle = SLICE_IDLE_ACKS_LONG;
	if (idle < nic->idle_before_ack)
		nic->idle_before_ack = idle;
}

const char *responder_request_end(struct conn *conn, enum wire_status status)
{
	struct session *session = conn->session;
	const char *broken;

	nic_role(conn->nic);
	if (conn->in.skip)
		return NULL;
	broken = request_rules[conn->in.head.op].end(conn, status);
	/* It may have been executed, and its answer cannot be kept: the peer must not hear that it went well, nor ask again. */
	session->mute |= broken != NULL;
	if (!conn->in.repeat) {
		session->rsp.seen++;
		session->down_ns = 0;
		session->rsp.owed_requests++;
		session->rsp.owed_bytes += wire_get32(conn->in.head.payload);
		session_owe(session);
		acknowledge_after(session->ep->nic, conn);
	}
	if (session->fault && !broken)
		fault_end(conn);
	return broken;
}

void responder_recheck(struct conn *conn)
{
	const struct write_state *write = &conn->session->rsp.write;
	const struct mr *mr;

	nic_role(conn->nic);
	if (conn->in.sink != SINK_WRITE)
		return;
	mr = mr_find(conn->session->ep->attr.pd->regions, write->ask.to.key);
	if (mr && mr->id == write->ask.mr_id && mr->enabled)
		return;
	conn->in.sink = SINK_DROP;
	write_refuse(conn, REFUSAL_CLOSED);
	mr_tombstone(conn->session->ep->attr.pd->regions, write->ask.to.key, write->ask.to.key_tail, nic_now(conn->nic),
		     &conn->in.why.age_ns);
}

static bool fill_rnr(struct session *session, struct conn *conn)
{
	struct responder *rsp = &session->rsp;
	void *at = rsp->rnr_owed ? conn_frame_begin(conn, 0, 0) : NULL;

	if (!at)
		return false;
	conn_frame_end(conn, wire_put_rnr(at, rsp->seen + 1, (uint32_t)(TIME_RNR_NS / 1000)));
	rsp->rnr_owed = false;
	return true;
}

bool responder_fill_control(struct session *session, struct conn *conn)
{
	nic_role(conn->nic);
	return verdict_fill(session, conn) || fill_rnr(session, conn) || message_fill_pull(session, conn);
}

void responder_cut(struct session *session, struct conn *conn)
{
	struct responder *rsp = &session->rsp;

	nic_role(conn->nic);
	if (conn->in.sink == SINK_MESSAGE && conn->in.message)
		message_undo(conn);
	free(conn->in.own);
	conn->in = (struct incoming){ .sink = SINK_DROP };
	write_pause(session);
	read_response_flush(session);
	rsp->rnr = rsp->rnr_owed = false;
	rsp->ack_now = false;
	message_pull_again(session);
}

bool responder_resume(struct session *session, uint64_t verdict_seen)
{
	nic_role(session->ep->nic);
	return verdict_resume(session, verdict_seen);
}

void responder_flush(struct session *session, enum refusal_cause cause)
{
	nic_role(session->ep->nic);
	read_response_flush(session);
	message_flush(session, cause);
	verdict_flush(session);
	write_abandon(session);
	commits_end(session);
	free(session->rsp.slot);
	responder_init(&session->rsp);
}
