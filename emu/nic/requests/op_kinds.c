/* SPDX-License-Identifier: BSD-2-Clause */
/* op_kinds.c - the request frames of each kind of op, and the table of what else sets a kind apart. */
#include "emu/nic/requests/requester.h"

#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/payload.h"

static void op_number(struct requester *req, struct op *op)
{
	if (likely(op->first_seq == 0))
		op->first_seq = req->next_seq;
	op->last_seq = req->next_seq++;
}

static inline struct wire_target_fields op_target(struct conn *conn, const struct op *op)
{
	return (struct wire_target_fields){
		.key = op->remote.key,
		.key_tail = op->remote.key_tail,
		.auth = auth_shown(conn, op->auth),
		.addr = op->remote.addr + op->moved,
	};
}

/* All of it is on its way. */
static void op_sent(struct requester *req, struct op *op, bool parked)
{
	op_list_push(parked ? &req->parked : &req->sent, op);
}

/* The next bytes of the op cannot be read: none of them leaves. Earlier bytes that were lent are the program's again. */
static __attribute__((noinline, cold)) void source_missing(struct session *session, struct conn *conn, struct op *op)
{
	struct requester *req = &session->req;

	if (op == req->current) {
		req->current = NULL;
		req->awaited -= op_by_verdict(op);
		conn_revoke(conn, op, WIRE_CANCELLED);
	}
	complete_refused(op, REFUSAL_SOURCE_FAULT, NULL);
}

enum {
	WRITE_HEAD = sizeof(struct wire_head) + sizeof(struct wire_write),
	SEND_HEAD = sizeof(struct wire_head) + sizeof(struct wire_send),
	RSEND_HEAD = sizeof(struct wire_head) + sizeof(struct wire_rsend)
};

static uint8_t data_flags(const struct op *op)
{
	return (op->flags & POST_CQ_DATA ? WIRE_F_CQ_DATA : 0) | (op->flags & POST_SOLICITED ? WIRE_F_SOLICITED : 0);
}

/* Is what the peer may hold back of those before it to be seen before the op is executed (WIRE-191)? */
static inline uint8_t settles(const struct session *session, const struct op *op)
{
	return unlikely(op->flags & POST_FENCE) && session->peer_holds ? WIRE_F_SETTLES : 0;
}

/* And of itself, before it is done? */
static inline uint8_t delivers(const struct session *session, const struct op *op)
{
	return unlikely(op->flags & POST_DELIVERED) && session->peer_holds ? WIRE_F_DELIVERED : 0;
}

/* Those that few writes have. */
static __attribute__((noinline, cold)) uint8_t rare_flags(const struct op *op)
{
	return (op->flags & POST_COMMIT ? WIRE_F_COMMIT : 0) | (op->flags & POST_TAGGED ? WIRE_F_TAGGED : 0) |
	       (op->flags & POST_CQ_DATA ? data_flags(op) : 0) | settles(op->session, op) | delivers(op->session, op);
}

/* The frame's head and body: the op's next `payload` bytes. */
static void put_write(struct requester *req, struct conn *conn, struct op *op, void *at, uint32_t payload)
{
	struct wire_target_fields to = op_target(conn, op);
	uint8_t flags = op->moved == 0 ? WIRE_F_FIRST : 0;
	uint64_t cq_data = 0;

	op_number(req, op);
	if (unlikely(op->flags & (POST_COMMIT | POST_TAGGED | POST_CQ_DATA | POST_FENCE | POST_DELIVERED))) {
		flags |= rare_flags(op);
		cq_data = op->flags & POST_CQ_DATA ? op->cq_data : 0;
	}
	conn_frame_end(conn, wire_put_write(at, flags, payload, op->last_seq, &to, op->length - op->moved, cq_data));
}

/* The peer would not know the flag: the op ends here. */
static bool tag_unknown(const struct conn *conn, struct op *op)
{
	if (likely(!(op->flags & POST_TAGGED)) || op->moved || conn->tagged_rma)
		return false;
	complete_refused(op, REFUSAL_CAPABILITY, NULL);
	return true;
}

static bool fill_write(struct session *session, struct conn *conn, struct op *op)
{
	struct requester *req = &session->req;
	uint64_t rest = op->length - op->moved;
	uint32_t payload = rest < req->segment ? (uint32_t)rest : req->segment;
	bool commit = op->flags & POST_COMMIT;
	uint8_t *at = conn_frame_begin(conn, payload_copied(conn, payload), op->iov_count);
	uint64_t digest;

	if (!at)
		return false;
	if (tag_unknown(conn, op))
		return true;
	if (unlikely(!payload_stage_op(conn, at + WRITE_HEAD, op, payload, &digest))) {
		source_missing(session, conn, op);
		return true;
	}
	put_write(req, conn, op, at, payload);
	req->current = NULL;
	if (unlikely(commit) && op->moved == 0)
		req->awaited++;
	payload_staged_op(conn, op, payload, digest);
	if (unlikely(op->moved < op->length))
		req->current = op;
	else
		op_sent(req, op, commit);
	return true;
}

static uint8_t read_flags(const struct op *op)
{
	return op->flags & POST_TAGGED ? WIRE_F_TAGGED : 0;
}

static bool fill_read(struct session *session, struct conn *conn, struct op *op)
{
	struct requester *req = &session->req;
	void *at = conn_frame_begin(conn, 0, 0);
	struct wire_target_fields from;

	if (!at)
		return false;
	if (tag_unknown(conn, op))
		return true;
	from = op_target(conn, op);
	op_number(req, op);
	conn_frame_end(conn, wire_put_read(at, read_flags(op) | settles(session, op), op->last_seq, &from, op->length));
	op_list_push(&req->reads, op);
	req->reads_open++;
	return true;
}

/* Asks again for a READ whose data a cut has swallowed, by its old number. */
bool op_kinds_read_again(struct session *session, struct conn *conn)
{
	struct op *op = session->req.again;
	struct wire_target_fields from = op_target(conn, op);
	void *at = conn_frame_begin(conn, 0, 0);

	if (!at)
		return false;
	conn_frame_end(conn, wire_put_read(at, read_flags(op), op->first_seq, &from, op->length));
	session->req.again = op->next;
	return true;
}

bool op_kinds_say_taken(struct session *session, struct conn *conn)
{
	struct requester *req = &session->req;
	void *at = conn_frame_begin(conn, 0, 0);
	struct op *op;

	if (!at)
		return false;
	op = op_list_pop(&req->taken);
	op_number(req, op);
	conn_frame_end(conn, wire_put_taken(at, op->last_seq, op->tag, op->why.cause == REFUSAL_NONE ? WIRE_GOOD : WIRE_CANCELLED));
	op_sent(req, op, false);
	return true;
}

/* Operands and comparands, as they go over the wire. False: they cannot be read. */
static bool gather(const struct op *op, uint8_t *bytes)
{
	uint64_t operands = wire_atomic_payload(ATOMIC_PLAIN, op->what.op, op->length);
	struct place from;

	place_set(&from, op->iov, op->iov_count);
	if (!place_get(&from, bytes, operands))
		return false;
	place_set(&from, op->compare, op->compare_count);
	return op->what.kind != ATOMIC_COMPARE || place_get(&from, bytes + operands, op->length);
}

static bool fill_atomic(struct session *session, struct conn *conn, struct op *op)
{
	struct requester *req = &session->req;
	struct wire_atomic_fields fields = {
		.to = op_target(conn, op),
		.length = op->length,
		.cq_data = (op->flags & POST_CQ_DATA) ? op->cq_data : 0,
		.kind = op->what.kind,
		.op = op->what.op,
		.type = op->what.type,
	};
	uint8_t flags = ((op->flags & POST_CQ_DATA) ? WIRE_F_CQ_DATA : 0) | ((op->flags & POST_COMMIT) ? WIRE_F_COMMIT : 0) |
			settles(session, op) | delivers(session, op);
	uint32_t payload = (uint32_t)wire_atomic_payload(fields.kind, fields.op, fields.length);
	uint8_t bytes[2 * LIMIT_ATOMIC];
	void *at = conn_frame_begin(conn, payload, 0);

	if (!at)
		return false;
	if (!gather(op, bytes)) {
		complete_refused(op, REFUSAL_SOURCE_FAULT, NULL);
		return true;
	}
	op_number(req, op);
	conn_frame_end(conn, wire_put_atomic(at, flags, op->last_seq, &fields));
	payload_put(conn, WIRE_ATOMIC, bytes, payload, WIRE_GOOD);
	req->awaited += op_by_verdict(op);
	op_sent(req, op, op_by_verdict(op));
	return true;
}

/* `flags` and `fields` lack what is not known yet: the authorization. */
static inline __attribute__((always_inline)) bool fill_message(struct session *session, struct conn *conn, struct op *op,
							       uint8_t flags, struct wire_message_fields fields)
{
	struct requester *req = &session->req;
	/* POST_MATCH: the sender announces the message (RTS), and so is told of its match. */
	bool eager = op->length <= req->eager && !(op->flags & POST_MATCH);
	uint32_t payload = eager ? (uint32_t)op->length : 0;
	uint8_t *at = conn_frame_begin(conn, payload_copied(conn, payload), op->iov_count);
	uint64_t digest;

	if (!at)
		return false;
	if (unlikely(!payload_stage_op(conn, at + SEND_HEAD, op, payload, &digest))) {
		source_missing(session, conn, op);
		return true;
	}
	op_number(req, op);
	fields.auth = auth_shown(conn, op->auth);
	if (!eager) {
		conn_frame_end(conn, wire_put_rts(at, flags, op->length, op->last_seq, &fields));
		op_sent(req, op, true);
		return true;
	}
	conn_frame_end(conn, wire_put_send(at, flags, payload, op->last_seq, &fields));
	payload_staged_op(conn, op, payload, digest);
	op_sent(req, op, false);
	return true;
}

/* A message that finds its receive posted: the next segment of it. */
static __attribute__((noinline)) bool fill_rsend(struct session *session, struct conn *conn, struct op *op)
{
	struct wire_message_fields fields = { .cq_data = op->flags & (POST_CQ_DATA | POST_INVALIDATE) ? op->cq_data : 0,
					      .auth = auth_shown(conn, op->auth),
					      .invalidate = op->flags & POST_INVALIDATE };
	uint8_t flags = data_flags(op) | (op->moved == 0 ? WIRE_F_FIRST : 0);
	struct requester *req = &session->req;
	uint64_t rest = op->length - op->moved;
	uint32_t payload = rest < req->segment ? (uint32_t)rest : req->segment;
	uint8_t *at = conn_frame_begin(conn, payload_copied(conn, payload), op->iov_count);
	uint64_t digest;

	if (!at)
		return false;
	if (unlikely(!payload_stage_op(conn, at + RSEND_HEAD, op, payload, &digest))) {
		source_missing(session, conn, op);
		return true;
	}
	op_number(req, op);
	conn_frame_end(conn, wire_put_rsend(at, flags, payload, op->last_seq, rest, &fields));
	req->current = NULL;
	payload_staged_op(conn, op, payload, digest);
	if (unlikely(op->moved < op->length))
		req->current = op;
	else
		op_sent(req, op, false);
	return true;
}

static bool fill_send(struct session *session, struct conn *conn, struct op *op)
{
	struct wire_message_fields fields = { .tag = op->tag };
	uint8_t flags = settles(session, op);

	if (unlikely(session->ep->attr.rules & EP_RULE_RECEIVE_FIRST))
		return fill_rsend(session, conn, op);
	if (op->flags & POST_TAGGED)
		flags |= WIRE_F_TAGGED;
	if (op->flags & POST_CQ_DATA) {
		flags |= WIRE_F_CQ_DATA;
		fields.cq_data = op->cq_data;
	}
	return fill_message(session, conn, op, flags, fields);
}

/* A peer that does not know the flag would take the frame for a breach of the protocol, and one that does not know the step
 * would keep it for a call to come. */
static bool fill_collective(struct session *session, struct conn *conn, struct op *op)
{
	if (session->hears_waits || (session->takes_collectives && !coll_is_wait(op->cq_data)))
		return fill_message(session, conn, op, WIRE_F_COLLECTIVE,
				    (struct wire_message_fields){ .tag = op->tag, .cq_data = op->cq_data });
	if (session->takes_collectives)
		complete_good(op);
	else
		complete_refused(op, REFUSAL_CAPABILITY, NULL);
	return true;
}

static bool fill_cm(struct session *session, struct conn *conn, struct op *op)
{
	static const uint8_t frames[] = { [OP_CONNECT] = WIRE_CONNECT, [OP_ACCEPT] = WIRE_ACCEPT, [OP_REJECT] = WIRE_REJECT };
	struct requester *req = &session->req;
	uint32_t payload = (uint32_t)op->length;
	void *at = conn_frame_begin(conn, payload, 0);

	if (!at)
		return false;
	op_number(req, op);
	conn_frame_end(conn, wire_put_cm(at, frames[op->kind], payload, op->last_seq, op->tag));
	payload_put(conn, frames[op->kind], op->inject, payload, WIRE_GOOD);
	op_sent(req, op, false);
	return true;
}

const struct op_kind_rule op_kinds[OP_KINDS] = {
	[OP_SEND] = { .fill = fill_send, .counter = EP_CNTR_SEND },
	[OP_WRITE] = { .fill = fill_write, .counter = EP_CNTR_WRITE },
	[OP_READ] = { .fill = fill_read, .counter = EP_CNTR_READ },
	[OP_ATOMIC] = { .fill = fill_atomic, .counter = EP_CNTR_WRITE },
	[OP_CONNECT] = { .fill = fill_cm, .resolved = cm_resolved },
	[OP_ACCEPT] = { .fill = fill_cm, .resolved = cm_resolved },
	[OP_REJECT] = { .fill = fill_cm, .resolved = cm_resolved },
	[OP_COLLECTIVE] = { .fill = fill_collective, .resolved = coll_sent },
};
