/* SPDX-License-Identifier: BSD-2-Clause */
/* requester.c - which op is next. Its frames are in op_kinds.c, the answers in requester_rx.c. */
#include "emu/nic/requests/requester.h"

#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/ops/races.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/transport_calls.h"

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
		session->ep->nic->pace.urgent = true;
	op_list_push(&session->req.pending, op);
	session_want(session);
}

bool requester_idle(const struct session *session)
{
	const struct requester *req = &session->req;

	nic_role(session->ep->nic);
	return !req->pending.first && !req->current && !req->sent.first && !req->reads.first && !req->parked.first &&
	       !req->taken.first;
}

static bool ranges_meet(const struct remote *a, const struct remote *b)
{
	if (a->key != b->key)
		return false;
	return a->addr <= b->addr ? b->addr - a->addr < a->length : a->addr - b->addr < b->length;
}

/* What an op does, as the order of two sees it. */
enum does {
	DOES_SEND = 0x1,
	DOES_READ = 0x2, /* RMA, */
	DOES_WRITE = 0x4,
	DOES_ATOMIC_READ = 0x8, /* atomics */
	DOES_ATOMIC_WRITE = 0x10,
	DOES_READS = DOES_READ | DOES_ATOMIC_READ,
	DOES_WRITES = DOES_WRITE | DOES_ATOMIC_WRITE,
};

static uint32_t op_does(const struct op *op)
{
	if (op_kind_is_message(op->kind))
		return DOES_SEND;
	if (op->kind != OP_ATOMIC)
		return op->kind == OP_READ ? DOES_READ : DOES_WRITE;
	return (op->what.kind == ATOMIC_PLAIN ? 0 : DOES_ATOMIC_READ) | (op->what.op == ATOMIC_READ ? 0 : DOES_ATOMIC_WRITE);
}

/* Is what does `later` executed after all of what does `first`, and was posted before it? */
static bool order_keeps(uint32_t order, uint32_t first, uint32_t later)
{
	static const struct {
		uint32_t order, first, later;
	} pairs[] = {
		{ EP_ORDER_SAS, DOES_SEND, DOES_SEND },
		{ EP_ORDER_RAS, DOES_SEND, DOES_READS },
		{ EP_ORDER_WAS, DOES_SEND, DOES_WRITES },
		{ EP_ORDER_SAR, DOES_READS, DOES_SEND },
		{ EP_ORDER_SAW, DOES_WRITES, DOES_SEND },
		{ EP_ORDER_RMA_RAR, DOES_READ, DOES_READ },
		{ EP_ORDER_RMA_RAW, DOES_WRITE, DOES_READ },
		{ EP_ORDER_RMA_WAR, DOES_READ, DOES_WRITE },
		{ EP_ORDER_RMA_WAW, DOES_WRITE, DOES_WRITE },
		{ EP_ORDER_ATOMIC_RAR, DOES_ATOMIC_READ, DOES_ATOMIC_READ },
		{ EP_ORDER_ATOMIC_RAW, DOES_ATOMIC_WRITE, DOES_ATOMIC_READ },
		{ EP_ORDER_ATOMIC_WAR, DOES_ATOMIC_READ, DOES_ATOMIC_WRITE },
		{ EP_ORDER_ATOMIC_WAW, DOES_ATOMIC_WRITE, DOES_ATOMIC_WRITE },
		{ EP_ORDER_RAR, DOES_READ, DOES_ATOMIC_READ },
		{ EP_ORDER_RAR, DOES_ATOMIC_READ, DOES_READ },
		{ EP_ORDER_RAW, DOES_WRITE, DOES_ATOMIC_READ },
		{ EP_ORDER_RAW, DOES_ATOMIC_WRITE, DOES_READ },
		{ EP_ORDER_WAR, DOES_READ, DOES_ATOMIC_WRITE },
		{ EP_ORDER_WAR, DOES_ATOMIC_READ, DOES_WRITE },
		{ EP_ORDER_WAW, DOES_WRITE, DOES_ATOMIC_WRITE },
		{ EP_ORDER_WAW, DOES_ATOMIC_WRITE, DOES_WRITE },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (order & pairs[i].order && first & pairs[i].first && later & pairs[i].later)
			return true;
	return false;
}

static __attribute__((noinline, cold)) void look_for_fence(const struct op *read, const struct op *op)
{
	if (op->ep->pairing && op_does(op) & DOES_WRITES && read->leader->flags & op->leader->flags & POST_WATCHED)
		op->ep->nic->config.races->unfenced(read->leader->watch, op->leader->watch);
}

/* An atomic that returns something is a READ to the order of writes behind it (IBA 10.8). */
static __attribute__((noinline, cold)) void look_at_atomics(const struct session *session, const struct op *op)
{
	for (const struct op *atomic = session->req.parked.first; atomic; atomic = atomic->next)
		if (op->kind == OP_WRITE && !(op->flags & POST_FENCE) && atomic->kind == OP_ATOMIC &&
		    ranges_meet(&atomic->remote, &op->remote))
			look_for_fence(atomic, op);
}

/* A READ may be executed again after a cut; then it must not see a write that was posted after it (write after read). Nor is it
 * executed before an atomic that comes right behind it, since data leaves later (read after read). So such an op waits. */
static __attribute__((noinline)) bool read_in_the_way(const struct session *session, const struct op *op)
{
	if (!order_keeps(session->ep->attr.order, DOES_READ, op_does(op)))
		return false;
	for (const struct op *read = session->req.reads.first; read; read = read->next)
		if (ranges_meet(&read->remote, &op->remote)) {
			if (unlikely(session->ep->nic->config.races != NULL))
				look_for_fence(read, op);
			return true;
		}
	return false;
}

/* The peer takes a READ's bytes when it has room to send them. A message that was posted after it (send after read) may tell
 * the peer's program to change them, or be received into them: it waits for the data. A queue pair's need not without a fence (IBA
 * 10.8), and does not where races are looked for. */
static bool send_passes_reads(const struct session *session)
{
	const struct ep *ep = session->ep;

	return !(ep->attr.order & EP_ORDER_SAR) || (ep->pairing && ep->nic->config.races);
}

/* Flags that only a few ops have. */
static __attribute__((noinline)) bool flags_let(const struct session *session, const struct op *op)
{
	const struct requester *req = &session->req;

	if ((op->flags & POST_FENCE) && /* V77 */
	    (req->sent.first || req->reads.first || req->parked.first || req->taken.first || session->late))
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
		return req->reads_open < req->reads_max; /* V94 */
	if (unlikely(op_by_verdict(op)) && req->awaited >= req->reads_max)
		return false;
	if (likely(!req->reads.first))
		return true;
	return op_kind_is_message(op->kind) ? send_passes_reads(session) : !read_in_the_way(session, op); /* V85, V86 */
}

/* May it go before others that wait, as far as the pairs are in no order? */
static bool op_may_pass(const struct session *session, const struct op *op)
{
	uint32_t stays = op_kind_is_message(op->kind) ? POST_FENCE : POST_FENCE | POST_CQ_DATA | POST_TAGGED;

	return !(session->ep->attr.rules & EP_RULE_RECEIVE_FIRST) && !(op->flags & stays) && !op->rnrs; /* V90 */
}

/* The pending op that is next where some may have to wait, for a peer that is not ready for messages (F4) or by a fault plan;
 * *before: the one in front of it. NULL: none. Accesses keep the order of their posts, but for those that a plan lets pass. */
static __attribute__((noinline)) struct op *pick_ready(struct session *session, struct op **before)
{
	uint32_t order = session->ep->attr.order, waiting = 0;
	struct requester *req = &session->req;
	bool ready = req->rnr_until_ns == 0;

	*before = NULL;
	if (ready && session->fault == &fault_watching && !session->ep->nic->config.races)
		return req->pending.first;
	for (struct op *op = req->pending.first; op; *before = op, op = op->next) {
		uint32_t does = op_does(op);
		bool message = op_kind_is_message(op->kind);
		bool stays = !op_may_pass(session, op);
		bool waits = (!ready && (message || stays)) || (waiting && (stays || order_keeps(order, waiting, does)));

		if (!waits && session->fault && fault_waits(session, op)) {
			if (!op->passed)
				return NULL;
			waits = true;
		}
		if (!waits) {
			if (session->ep->nic->config.races)
				look_at_atomics(session, op);
			return op;
		}
		if (op->flags & POST_FENCE || (!message && !op->passed))
			return NULL;
		waiting |= does;
	}
	return NULL;
}

static bool op_waits(const struct op *op, uint64_t now_ns)
{
	return op->rnrs && op->again_ns > now_ns;
}

/* Likewise without any order: each op waits for its own receiver, and a fenced one for all before it. */
static __attribute__((noinline)) struct op *pick_unordered(struct session *session, struct op **before)
{
	uint64_t now_ns = nic_now(session->ep->nic);
	bool waits = false;

	*before = NULL;
	for (struct op *op = session->req.pending.first; op; *before = op, op = op->next) {
		if (waits && op->flags & POST_FENCE)
			return NULL;
		if (!op_waits(op, now_ns) && (!session->fault || !fault_waits(session, op)))
			return op;
		if (!op_waits(op, now_ns) && !op->passed)
			return NULL;
		waits = true;
	}
	return NULL;
}

/* The pending op that is to be sent next, taken out of the queue; NULL: none may go now. */
static struct op *requester_pick(struct session *session)
{
	struct requester *req = &session->req;
	struct op *op = req->pending.first, *before = NULL;

	if (unlikely(req->rnr_until_ns || session->fault))
		op = req->rnr_until_ns && session->ep->attr.order & EP_ORDER_NONE ? pick_unordered(session, &before)
										  : pick_ready(session, &before);
	if (!op || (unlikely(req->held) && !op->rnrs) || !op_may_start(session, op))
		return NULL;
	if (unlikely(before))
		op_list_cut(&req->pending, before, op);
	else
		op_list_pop(&req->pending);
	return op;
}

void requester_tick(struct session *session, uint64_t now_ns)
{
	struct requester *req = &session->req;

	nic_role(session->ep->nic);
	if (!req->rnr_until_ns || req->rnr_until_ns > now_ns)
		return;
	req->rnr_until_ns = 0;
	for (const struct op *op = session->ep->attr.order & EP_ORDER_NONE ? req->pending.first : NULL; op; op = op->next)
		if (op_waits(op, now_ns) && (!req->rnr_until_ns || op->again_ns < req->rnr_until_ns))
			req->rnr_until_ns = op->again_ns;
	if (session->conn)
		conn_busy(session->conn);
}

static void requester_unpick(struct requester *req, struct op *op)
{
	op->next = req->pending.first;
	if (!req->pending.first)
		req->pending.last = op;
	req->pending.first = op;
}

static bool window_full(const struct requester *req)
{
	return req->next_seq - 1 - req->acked >= req->requests;
}

/* Fills a frame of the ops that come before all that is pending. */
static __attribute__((noinline)) bool fill_urgent(struct session *session, struct conn *conn)
{
	const struct requester *req = &session->req;

	if (req->again)
		return op_kinds_read_again(session, conn);
	if (window_full(req))
		return false;
	if (req->current)
		return op_kinds[req->current->kind].fill(session, conn, req->current);
	return op_kinds_say_taken(session, conn); /* a fence may wait for it */
}

/* Is no frame of it sent? Then it has ended. */
static __attribute__((noinline)) bool ends_here(struct session *session, struct op *op)
{
	if (op->flags & POST_LOCAL) {
		local_execute(session, op);
		return true;
	}
	if (op->flags & POST_LOST) {
		complete_refused(op, REFUSAL_LOST, NULL);
		return true;
	}
	if (op->why.cause == REFUSAL_NONE)
		return false;
	complete_refused(op, op->why.cause, NULL); /* another range was refused */
	return true;
}

bool requester_fill(struct session *session, struct conn *conn)
{
	struct requester *req = &session->req;
	struct op *op;

	nic_role(conn->nic);
	if (unlikely(requester_urgent(req)))
		return fill_urgent(session, conn);
	if (window_full(req))
		return false;
	op = requester_pick(session);
	if (!op)
		return false;
	if (unlikely(op->flags & (POST_CQ_DATA | POST_LOCAL | POST_LOST)) && ends_here(session, op))
		return true;
	if (likely(op_kinds[op->kind].fill(session, conn, op)))
		return true;
	requester_unpick(req, op);
	return false;
}
