/* SPDX-License-Identifier: BSD-2-Clause */
/* responder.c - the peer's requests, a ladder of checks each: sequence, the endpoint's right, room, region, range. */
#include "emu/nic/responder.h"

#include <stdlib.h>

#include "emu/nic/completer.h"
#include "emu/nic/ep.h"
#include "emu/nic/message.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/reply.h"
#include "emu/nic/verdict.h"

void responder_init(struct responder *rsp)
{
	*rsp = (struct responder){ .verdict_next = 1 };
}

/* Receiver not ready: this request and what follows is dropped; the peer is told. */
static const char *say_rnr(struct conn *conn)
{
	struct responder *rsp = &conn->session->rsp;

	conn->in.skip = true;
	rsp->rnr = rsp->rnr_owed = true;
	conn_busy(conn);
	return NULL;
}

/* The region behind a key, judged for one access. */
static enum refusal_cause judge(struct session *session, struct refusal *why, uint32_t right, struct mr_place *place,
				struct mr **mr)
{
	struct mr_table *regions = session->ep->attr.pd->regions;

	*mr = mr_find(regions, why->key);
	why->cause = mr_check(*mr, why->addr, why->length, right, place, why);
	if (!*mr && mr_tombstone(regions, why->key, session->ep->nic->now_ns, &why->age_ns))
		why->cause = REFUSAL_CLOSED;
	return why->cause;
}

static bool ep_allows(struct session *session, uint32_t cap, struct refusal *why)
{
	if (session->ep->attr.caps & cap)
		return true;
	why->cause = REFUSAL_CAPABILITY;
	return false;
}

/* First segment: judges the whole message. */
static const char *write_first(struct conn *conn, const struct wire_head *head)
{
	const struct wire_write *body = wire_body(head);
	struct session *session = conn->session;
	struct write_state *write = &session->rsp.write;
	struct refusal *why = &conn->in.why;
	struct mr_place place;
	struct mr *mr = NULL;

	if ((head->flags & WIRE_F_CQ_DATA) && !complete_reserve(session))
		return say_rnr(conn);	/* F5: the CQ slot before the first byte */
	*why = (struct refusal){ .op = OP_WRITE, .key = wire_get64(body->key), .addr = wire_get64(body->addr),
				 .length = wire_get64(body->rest) };
	*write = (struct write_state){
		.open = true, .first_seq = wire_get64(head->seq),
		.key = why->key, .addr = why->addr, .rest = why->length, .base = why->addr, .length = why->length,
	};
	if (ep_allows(session, EP_REMOTE_WRITE, why))
		judge(session, why, MR_REMOTE_WRITE, &place, &mr);
	write->mr_id = mr ? mr->id : 0;
	return NULL;
}

static void write_refusal(const struct write_state *write, struct refusal *why)
{
	*why = (struct refusal){ .op = OP_WRITE, .key = write->key, .addr = write->base, .length = write->length };
}

/* Where this segment goes; the region is looked up again, since it may have been closed between two segments. */
static void write_sink(struct conn *conn, uint32_t payload)
{
	struct session *session = conn->session;
	struct write_state *write = &session->rsp.write;
	struct refusal why = { .key = write->key, .addr = write->addr, .length = payload };
	struct mr_place place;
	struct mr *mr;

	if (judge(session, &why, MR_REMOTE_WRITE, &place, &mr) == REFUSAL_NONE && mr->id == write->mr_id) {
		conn->in.sink = SINK_WRITE;
		place_set(&conn->in.place, place.run, place.count);
		return;
	}
	write_refusal(write, &conn->in.why);
	conn->in.why.cause = why.cause ? why.cause : REFUSAL_CLOSED;
	conn->in.why.age_ns = why.age_ns;
}

static const char *take_write(struct conn *conn, const struct wire_head *head)
{
	const struct wire_write *body = wire_body(head);
	struct write_state *write = &conn->session->rsp.write;
	const char *broken;

	if (head->flags & WIRE_F_FIRST) {
		broken = write_first(conn, head);
		if (broken || conn->in.skip)
			return broken;
	} else if (!write->open) {
		return "WRITE goes on where none is open (WIRE-56)";
	} else if (wire_get64(body->key) != write->key || wire_get64(body->addr) != write->addr ||
		   wire_get64(body->rest) != write->rest) {
		return "WRITE goes on elsewhere than it began (WIRE-56)";
	}
	conn->in.cq_data = wire_get64(body->cq_data);
	if (!write->refused && conn->in.why.cause == REFUSAL_NONE)
		write_sink(conn, wire_get32(head->payload));
	return NULL;
}

static const char *end_write(struct conn *conn, enum wire_status status)
{
	struct session *session = conn->session;
	struct write_state *write = &session->rsp.write;
	const struct wire_head *head = &conn->in.head;
	uint32_t payload = wire_get32(head->payload);
	const char *broken = NULL;

	if (conn->in.fault && conn->in.why.cause == REFUSAL_NONE) {
		write_refusal(write, &conn->in.why);
		conn->in.why.cause = REFUSAL_NOT_BACKED;
	}
	if (conn->in.why.cause != REFUSAL_NONE && !write->refused) {
		write->refused = true;
		broken = verdict_refuse(session, write->first_seq, &conn->in.why);
	}
	if (status != WIRE_GOOD)	/* the initiator ends it early and reports for itself; the rest is drained */
		write->refused = true;
	if (head->flags & WIRE_F_LAST) {
		if (write->open && !write->refused)
			complete_remote_write(session, write->length, head->flags & WIRE_F_CQ_DATA,
					      conn->in.cq_data);
		write->open = false;
	}
	write->addr += payload;
	write->rest -= payload;
	return broken;
}

static const char *take_read(struct conn *conn, const struct wire_head *head)
{
	const struct wire_read *body = wire_body(head);
	struct session *session = conn->session;
	struct refusal *why = &conn->in.why;
	struct mr_place place;
	struct mr *mr;

	*why = (struct refusal){ .op = OP_READ, .key = wire_get64(body->key), .addr = wire_get64(body->addr),
				 .length = wire_get64(body->length) };
	if (ep_allows(session, EP_REMOTE_READ, why) &&
	    judge(session, why, MR_REMOTE_READ, &place, &mr) == REFUSAL_NONE)
		return reply_read(session, wire_get64(head->seq), mr, why->addr, why->length);
	return NULL;
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
	const char *broken;
	bool full;

	conn->in.why = (struct refusal){ .op = OP_SEND, .length = wire_get64(((const struct wire_send *)
									       wire_body(head))->length) };
	if (!ep_allows(conn->session, EP_RECV, &conn->in.why))
		return NULL;
	broken = message_begin(conn, head, &full);
	return full ? say_rnr(conn) : broken;
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
} request_rules[] = {
	[WIRE_WRITE] = { take_write, end_write },
	[WIRE_READ] = { take_read, end_read },
	[WIRE_SEND] = { take_message, end_message },
	[WIRE_RTS] = { take_message, end_message },
};

const char *responder_request(struct conn *conn, const struct wire_head *head)
{
	struct responder *rsp = &conn->session->rsp;
	uint64_t seq = wire_get64(head->seq);
	uint64_t told = conn->ack_sent > conn->floor ? conn->ack_sent : conn->floor;

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
			rsp->write.open = false;
	}
	return conn->in.skip ? NULL : request_rules[head->op].take(conn, head);
}

const char *responder_request_end(struct conn *conn, enum wire_status status)
{
	struct session *session = conn->session;
	const char *broken;

	if (conn->in.skip)
		return NULL;
	broken = request_rules[conn->in.head.op].end(conn, status);
	if (!conn->in.repeat) {
		session->rsp.seen++;
		session->rsp.owed_requests++;
		session->rsp.owed_bytes += wire_get32(conn->in.head.payload);
		session_owe(session);
	}
	return broken;
}

void responder_recheck(struct conn *conn)
{
	struct write_state *write = &conn->session->rsp.write;
	struct mr *mr;

	if (conn->in.sink != SINK_WRITE)
		return;
	mr = mr_find(conn->session->ep->attr.pd->regions, write->key);
	if (mr && mr->id == write->mr_id && mr->enabled)
		return;
	conn->in.sink = SINK_DROP;
	write_refusal(write, &conn->in.why);
	conn->in.why.cause = REFUSAL_CLOSED;
	mr_tombstone(conn->session->ep->attr.pd->regions, write->key, conn->nic->now_ns, &conn->in.why.age_ns);
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
	return verdict_fill(session, conn) || fill_rnr(session, conn) || message_fill_pull(session, conn);
}

void responder_cut(struct session *session, struct conn *conn)
{
	struct responder *rsp = &session->rsp;

	if (conn->in.sink == SINK_MESSAGE && conn->in.message)
		message_undo(conn);
	conn->in = (struct incoming){ .sink = SINK_DROP };
	reply_flush(session);
	rsp->rnr = rsp->rnr_owed = false;
	rsp->ack_now = false;
	message_pull_again(session);
}

bool responder_resume(struct session *session, uint64_t verdict_seen)
{
	return verdict_resume(session, verdict_seen);
}

void responder_flush(struct session *session, enum refusal_cause cause)
{
	reply_flush(session);
	message_flush(session, cause);
	verdict_flush(session);
	free(session->rsp.slot);
	responder_init(&session->rsp);
}
