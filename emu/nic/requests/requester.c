/* SPDX-License-Identifier: BSD-2-Clause */
/* requester.c - ops into request frames: which is next, and its segments. The answers are in requester_rx.c. */
#include "emu/nic/requests/requester.h"

#include "emu/nic/base/likely.h"
#include "emu/nic/endpoint/ep.h"
#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/faults/fault_post.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/transport/auth_tokens.h"
#include "emu/nic/transport/payload.h"

void requester_init(struct requester *req)
{
	*req = (struct requester){ .next_seq = 1 };
}

void requester_post(struct session *session, struct op *op)
{
	nic_role(session->ep->nic);
	op->session = session;
	if (session->fault)
		fault_post(session, op);
	/* The first op on an idle session leaves at once; those behind it may share a send. */
	if (likely(!session->req.sent.first && !session->req.reads.first && !session->req.awaited))
		session->ep->nic->urgent = true;
	op_list_push(&session->req.pending, op);
	session_want(session);
}

bool requester_idle(const struct session *session)
{
	const struct requester *req = &session->req;

	nic_role(session->ep->nic);
	return !req->pending.first && !req->current && !req->sent.first && !req->reads.first && !req->parked.first;
}

static bool ranges_meet(const struct remote *a, const struct remote *b)
{
	if (a->key != b->key)
		return false;
	return a->addr <= b->addr ? b->addr - a->addr < a->length : a->addr - b->addr < b->length;
}

/* A READ may be executed again after a cut; then it must not see a write that was posted after it (write after
 * read). So such a write waits for the data. */
static __attribute__((noinline)) bool read_in_the_way(const struct session *session, const struct op *op)
{
	if (!(session->ep->attr.order & EP_ORDER_WAR))
		return false;
	for (const struct op *read = session->req.reads.first; read; read = read->next)
		if (ranges_meet(&read->remote, &op->remote))
			return true;
	return false;
}

/* The peer takes a READ's bytes when it has room to send them. A message that was posted after it (send after read) may tell
 * the peer's program to change them, or be received into them: it waits for the data. */
static bool send_passes_reads(const struct session *session)
{
	return !(session->ep->attr.order & EP_ORDER_SAR);
}

/* Flags that only a few ops have. */
static __attribute__((noinline)) bool flags_let(const struct session *session, const struct op *op)
{
	const struct requester *req = &session->req;

	if ((op->flags & POST_FENCE) && (req->sent.first || req->reads.first || req->parked.first || session->late))
		return false;
	/* CQ data tells that all ranges are written: the others must have been */
	return !(op->flags & POST_CQ_DATA) || op->group_left <= 1;
}

static bool op_may_start(const struct session *session, const struct op *op)
{
	const struct requester *req = &session->req;

	if (unlikely(op->flags & (POST_FENCE | POST_CQ_DATA)) && !flags_let(session, op))
		return false;
	if (op->kind == OP_READ)
		return req->reads_open < req->reads_max;
	if (unlikely(op_by_verdict(op)) && req->awaited >= req->reads_max)
		return false;
	if (likely(!req->reads.first))
		return true;
	return op->kind == OP_SEND ? send_passes_reads(session) : !read_in_the_way(session, op);
}

/* While the peer is not ready for sends, or a fault plan holds one, which RMA may pass them? (F4; the order that the endpoint
 * advertises.) */
static bool op_may_pass(const struct session *session, const struct op *op)
{
	uint32_t order = session->ep->attr.order;

	if (op->flags & (POST_FENCE | POST_CQ_DATA))
		return false;
	if (op->kind == OP_ATOMIC && (order & EP_ORDER_RAS))	/* it both reads and writes */
		return false;
	return op->kind == OP_READ ? !(order & EP_ORDER_RAS) : op->kind != OP_SEND && !(order & EP_ORDER_WAS);
}

/* The pending op that is next where some may have to wait; *before: the one in front of it. NULL: none. */
static __attribute__((noinline)) struct op *pick_ready(struct session *session, struct op **before)
{
	struct requester *req = &session->req;
	bool ready = req->rnr_until_ns == 0;

	*before = NULL;
	for (struct op *op = req->pending.first; op; *before = op, op = op->next) {
		if (!ready && !op_may_pass(session, op)) {
			if (op->kind != OP_SEND)
				return NULL;	/* RMA keeps its own order */
			continue;
		}
		if (!session->fault || !fault_waits(session, op))
			return op;
		if (!op->passed)
			return NULL;
		ready = false;
	}
	return NULL;
}

/* The pending op that is to be sent next, taken out of the queue; NULL: none may go now. */
static struct op *requester_pick(struct session *session)
{
	struct requester *req = &session->req;
	struct op *op = req->pending.first, *before = NULL;

	if (unlikely(req->rnr_until_ns || session->fault))
		op = pick_ready(session, &before);
	if (!op || !op_may_start(session, op))
		return NULL;
	if (unlikely(before))
		op_list_cut(&req->pending, before, op);
	else
		op_list_pop(&req->pending);
	return op;
}

static void requester_unpick(struct requester *req, struct op *op)
{
	op->next = req->pending.first;
	if (!req->pending.first)
		req->pending.last = op;
	req->pending.first = op;
}

static void op_number(struct requester *req, struct op *op)
{
	if (likely(op->first_seq == 0))
		op->first_seq = req->next_seq;
	op->last_seq = req->next_seq++;
}

static inline struct wire_target_fields op_target(struct conn *conn, const struct op *op)
{
	return (struct wire_target_fields){
		.key = op->remote.key, .key_tail = op->remote.key_tail,
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

enum { WRITE_HEAD = sizeof(struct wire_head) + sizeof(struct wire_write),
       SEND_HEAD = sizeof(struct wire_head) + sizeof(struct wire_send) };

/* The frame's head and body: the op's next `payload` bytes. */
static void put_write(struct requester *req, struct conn *conn, struct op *op, void *at, uint32_t payload)
{
	struct wire_target_fields to = op_target(conn, op);
	uint8_t flags = op->moved == 0 ? WIRE_F_FIRST : 0;
	uint64_t cq_data = 0;

	op_number(req, op);
	if (op->flags & POST_COMMIT)
		flags |= WIRE_F_COMMIT;
	if (op->flags & POST_CQ_DATA) {
		flags |= WIRE_F_CQ_DATA;
		cq_data = op->cq_data;
	}
	conn_frame_end(conn, wire_put_write(at, flags, payload, op->last_seq, &to, op->length - op->moved, cq_data));
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

static bool fill_read(struct session *session, struct conn *conn, struct op *op)
{
	struct requester *req = &session->req;
	void *at = conn_frame_begin(conn, 0, 0);
	struct wire_target_fields from;

	if (!at)
		return false;
	from = op_target(conn, op);
	op_number(req, op);
	conn_frame_end(conn, wire_put_read(at, op->last_seq, &from, op->length));
	op_list_push(&req->reads, op);
	req->reads_open++;
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
		.to = op_target(conn, op), .length = op->length, .cq_data = (op->flags & POST_CQ_DATA) ? op->cq_data : 0,
		.kind = op->what.kind, .op = op->what.op, .type = op->what.type,
	};
	uint8_t flags = ((op->flags & POST_CQ_DATA) ? WIRE_F_CQ_DATA : 0) | ((op->flags & POST_COMMIT) ? WIRE_F_COMMIT : 0);
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

static bool fill_send(struct session *session, struct conn *conn, struct op *op)
{
	struct requester *req = &session->req;
	/* POST_MATCH: the sender announces the message (RTS), and so is told of its match. */
	bool eager = op->length <= req->eager && !(op->flags & POST_MATCH);
	uint32_t payload = eager ? (uint32_t)op->length : 0;
	uint8_t *at = conn_frame_begin(conn, payload_copied(conn, payload), op->iov_count);
	struct wire_message_fields fields;
	uint8_t flags = 0;
	uint64_t digest;

	if (!at)
		return false;
	if (unlikely(!payload_stage_op(conn, at + SEND_HEAD, op, payload, &digest))) {
		source_missing(session, conn, op);
		return true;
	}
	op_number(req, op);
	fields = (struct wire_message_fields){ .tag = op->tag, .auth = auth_shown(conn, op->auth) };
	if (op->flags & POST_TAGGED)
		flags |= WIRE_F_TAGGED;
	if (op->flags & POST_CQ_DATA) {
		flags |= WIRE_F_CQ_DATA;
		fields.cq_data = op->cq_data;
	}
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

/* Asks again for a READ whose data a cut has swallowed, by its old number. */
static __attribute__((noinline)) bool fill_again(struct session *session, struct conn *conn)
{
	struct op *op = session->req.again;
	struct wire_target_fields from = op_target(conn, op);
	void *at = conn_frame_begin(conn, 0, 0);

	if (!at)
		return false;
	conn_frame_end(conn, wire_put_read(at, op->first_seq, &from, op->length));
	session->req.again = op->next;
	return true;
}

bool requester_fill(struct session *session, struct conn *conn)
{
	static bool (*const fill[])(struct session *, struct conn *, struct op *) = {
		[OP_SEND] = fill_send, [OP_WRITE] = fill_write, [OP_READ] = fill_read, [OP_ATOMIC] = fill_atomic,
		[OP_CONNECT] = fill_cm, [OP_ACCEPT] = fill_cm, [OP_REJECT] = fill_cm,
	};
	struct requester *req = &session->req;
	struct op *op;

	nic_role(conn->nic);
	if (unlikely(req->again))
		return fill_again(session, conn);
	if (req->next_seq - 1 - req->acked >= req->requests)
		return false;
	if (unlikely(req->current))
		return fill_write(session, conn, req->current);
	op = requester_pick(session);
	if (!op)
		return false;
	if (unlikely(op->flags & POST_CQ_DATA) && op->why.cause != REFUSAL_NONE) {	/* another range was refused */
		complete_refused(op, op->why.cause, NULL);
		return true;
	}
	if (likely(fill[op->kind](session, conn, op)))
		return true;
	requester_unpick(req, op);
	return false;
}
