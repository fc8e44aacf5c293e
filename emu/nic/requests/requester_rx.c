/* SPDX-License-Identifier: BSD-2-Clause */
/* requester_rx.c - requests that were sent: acknowledged, refused, parked, answered, sent again. */
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/transport_calls.h"

bool requester_acked(struct session *session, uint64_t ack)
{
	struct requester *req = &session->req;
	struct op *op;

	nic_role(session->ep->nic);
	if (ack <= req->acked)
		return true;
	if (ack >= req->next_seq)
		return false;
	req->acked = ack;
	req->rnr_wait_ns = 0;
	session_got_on(session);
	while ((op = req->sent.first) && op->last_seq <= ack) {
		op_list_pop(&req->sent);
		/* A peer that lies and acknowledges before all was sent gets no more of it: the buffer is the program's again. */
		if (op->length > LIMIT_COPY && session->conn)
			conn_revoke(session->conn, op, WIRE_CANCELLED);
		complete_good(op);
	}
	/* The window moved, a fence may be free. */
	if (session->conn && (req->pending.first || requester_urgent(req)))
		conn_busy(session->conn);
	return true;
}

bool requester_verdict(struct session *session, uint64_t number, uint64_t ref, bool *fresh)
{
	struct requester *req = &session->req;

	nic_role(session->ep->nic);
	*fresh = number > req->verdict_seen;
	if (!*fresh)
		return true;
	if (number != req->verdict_seen + 1 || ref >= req->next_seq)
		return false;
	req->verdict_seen = number;
	session->rsp.due |= number - req->verdict_said >= ACK_REQUESTS ? DUE_ACK : 0;
	session_got_on(session);
	session_owe(session);
	return true;
}

bool requester_fits(const struct session *session, uint8_t verdict, uint64_t ref)
{
	const struct requester *req = &session->req;
	const struct op *op = verdict == WIRE_PARK ? req->sent.first : req->parked.first;

	nic_role(session->ep->nic);
	while (op && op->first_seq != ref)
		op = op->next;
	if (!op)
		return true;
	if (verdict != WIRE_PARK)
		return op->what.kind == ATOMIC_PLAIN;
	if (op_kind_is_message(op->kind))
		return !(session->ep->attr.rules & EP_RULE_RECEIVE_FIRST);
	return !session->ep->pairing && op->first_seq == op->last_seq;
}

static void read_gone(struct requester *req, struct op *op)
{
	if (req->again == op)
		req->again = op->next;
	req->reads_open--;
}

/* The op is not counted any more: it is resolved, or waits to be sent anew. */
static void verdict_gone(struct requester *req, const struct op *op)
{
	req->awaited -= op_by_verdict(op);
}

/* Takes the op with that first segment out of wherever it waits. */
static struct op *inflight_take(struct session *session, uint64_t ref)
{
	struct requester *req = &session->req;
	struct op *op = req->current;

	if (op && op->first_seq == ref) {
		req->current = NULL;
		verdict_gone(req, op);
		return op;
	}
	op = op_list_take(&req->sent, ref);
	if (op)
		return op;
	op = op_list_take(&req->reads, ref);
	if (op) {
		read_gone(req, op);
		return op;
	}
	op = op_list_take(&req->parked, ref);
	if (op) {
		verdict_gone(req, op);
		read_response_drop_op(session, op);
	}
	return op;
}

void requester_refused(struct session *session, uint64_t ref, const struct wire_nak_fields *nak)
{
	struct op *op = inflight_take(session, ref);
	struct refusal known = {
		.region = nak->region, .access = refusal_access_get(nak->access), .excess = nak->excess, .age_ns = nak->age_ns
	};
	enum refusal_cause cause = nak->cause <= REFUSAL_WIRE_MAX ? (enum refusal_cause)nak->cause : REFUSAL_PROTOCOL;

	nic_role(session->ep->nic);
	if (!op) /* it has ended here meanwhile, by a fault of its own memory */
		return;
	if (session->conn) {
		conn_revoke(session->conn, op, WIRE_CANCELLED);
		conn_busy(session->conn);
	}
	complete_refused(op, cause, &known);
}

void requester_park(struct session *session, uint64_t ref)
{
	struct op *op = op_list_take(&session->req.sent, ref);

	nic_role(session->ep->nic);
	if (!op)
		return;
	op->moved = 0;
	op_list_push(&session->req.parked, op);
}

/* Takes a parked op that has its answer. */
static struct op *parked_take(struct session *session, uint64_t ref)
{
	struct op *op = op_list_take(&session->req.parked, ref);

	if (!op)
		return NULL;
	verdict_gone(&session->req, op);
	read_response_drop_op(session, op);
	if (session->conn) {
		conn_revoke(session->conn, op, WIRE_CANCELLED);
		conn_busy(session->conn); /* a fence or a grant may be free */
	}
	return op;
}

struct op *requester_result(struct session *session, uint64_t number, uint64_t ref, uint32_t length, const char **broken)
{
	nic_role(session->ep->nic);
	*broken = ref >= session->req.next_seq ? "RESULT of what was never asked (WIRE-59)" : NULL;
	if (number <= session->req.verdict_seen)
		return NULL;
	for (struct op *op = session->req.parked.first; op; op = op->next) {
		if (op->first_seq != ref)
			continue;
		if (op->what.kind == ATOMIC_PLAIN)
			*broken = "RESULT of a request that has none (WIRE-45)";
		else if (op->length != length)
			*broken = "RESULT of another length than was asked for (WIRE-76)";
		return *broken ? NULL : op;
	}
	return NULL;
}

void requester_result_end(struct session *session, uint64_t ref, bool fault)
{
	struct op *op = parked_take(session, ref);

	nic_role(session->ep->nic);
	if (!op)
		return;
	if (fault)
		complete_refused(op, REFUSAL_SOURCE_FAULT, NULL);
	else
		complete_good(op);
}

void requester_done(struct session *session, uint64_t ref)
{
	struct op *op = parked_take(session, ref);

	nic_role(session->ep->nic);
	if (op)
		complete_good(op);
}

struct op *requester_pulled(struct session *session, uint64_t ref, uint64_t offset, uint64_t length, bool *broken)
{
	nic_role(session->ep->nic);
	*broken = ref >= session->req.next_seq;
	for (struct op *op = session->req.parked.first; op; op = op->next) {
		if (op->first_seq != ref || !op_kind_is_message(op->kind))
			continue;
		*broken = offset > op->length || length > op->length - offset;
		return *broken ? NULL : op;
	}
	return NULL;
}

struct op *requester_data(struct session *session, uint64_t ref, uint64_t offset, uint64_t rest, bool *broken)
{
	nic_role(session->ep->nic);
	*broken = ref >= session->req.next_seq;
	for (struct op *op = session->req.reads.first; op; op = op->next) {
		if (op->first_seq != ref)
			continue;
		*broken = offset != op->moved || rest != op->length - op->moved;
		return *broken ? NULL : op;
	}
	return NULL;
}

/* The peer is to hear that its receive has been read, or will not be (WIRE-86): then the op ends. Its memory is not needed any
 * more. */
static void read_taken(struct session *session, struct op *op)
{
	op->tag = op->first_seq;
	op->first_seq = op->last_seq = 0;
	op->named_count = 0;
	op_list_push(&session->req.taken, op);
}

static void read_failed(struct session *session, struct op *op, enum refusal_cause cause)
{
	if (!(op->flags & POST_TAGGED)) {
		complete_refused(op, cause, NULL);
		return;
	}
	complete_note(op, cause, NULL);
	read_taken(session, op);
}

void requester_data_end(struct session *session, struct op *op, uint32_t length, bool last, enum wire_status status, bool fault)
{
	nic_role(session->ep->nic);
	op->moved += length;
	if (!last && status == WIRE_GOOD && !fault)
		return;
	op_list_take(&session->req.reads, op->first_seq);
	read_gone(&session->req, op);
	if (session->conn)
		conn_busy(session->conn);
	if (fault)
		read_failed(session, op, REFUSAL_SOURCE_FAULT);
	else if (status == WIRE_SOURCE_FAULT)
		read_failed(session, op, REFUSAL_NOT_BACKED);
	else if (status == WIRE_CANCELLED)
		read_failed(session, op, REFUSAL_CLOSED);
	else if (op->flags & POST_TAGGED)
		read_taken(session, op);
	else
		complete_good(op);
}

void requester_source_fault(struct session *session, const void *owner)
{
	struct requester *req = &session->req;
	uint64_t ref = req->current == owner ? req->current->first_seq : 0;

	nic_role(session->ep->nic);
	for (struct op *op = req->sent.first; op && !ref; op = op->next)
		ref = op == owner ? op->first_seq : 0;
	for (struct op *op = req->parked.first; op && !ref; op = op->next)
		ref = op == owner ? op->first_seq : 0;
	if (ref)
		complete_refused(inflight_take(session, ref), REFUSAL_SOURCE_FAULT, NULL);
}

/* Cuts the ops whose first segment is `from` or later out of a list and makes them as if never sent. */
static struct op_list unsend(struct op_list *list, uint64_t from)
{
	struct op_list keep = { NULL, NULL }, back = { NULL, NULL };
	struct op *op;

	while ((op = op_list_pop(list)))
		op_list_push(op->first_seq >= from ? &back : &keep, op);
	*list = keep;
	return back;
}

/* The op with the lowest number among the heads of `lists`, popped. */
static struct op *pop_lowest(struct op_list *lists, int count)
{
	struct op_list *lowest = NULL;

	for (int i = 0; i < count; i++)
		if (lists[i].first && (!lowest || lists[i].first->first_seq < lowest->first->first_seq))
			lowest = &lists[i];
	return lowest ? op_list_pop(lowest) : NULL;
}

/* Cuts the op whose last segments are `from` and later out of a list. */
static struct op *take_partly(struct op_list *list, uint64_t from)
{
	struct op *before = NULL, *op;

	for (op = list->first; op && op->last_seq < from; op = op->next)
		before = op;
	if (op)
		op_list_cut(list, before, op);
	return op;
}

/* A WRITE or RSEND some of whose segments below `from` were executed goes on with the next one. */
static void resend_partly(struct requester *req, uint64_t from)
{
	struct op *op = req->current;

	if (!op || op->last_seq < from)
		op = take_partly(&req->sent, from);
	if (!op)
		op = take_partly(&req->parked, from);
	if (!op)
		return;
	op->moved = (from - op->first_seq) * req->segment;
	op->last_seq = from - 1;
	req->current = op;
}

void requester_rewind(struct session *session, uint64_t from)
{
	struct requester *req = &session->req;
	struct op_list lists[4] = { unsend(&req->sent, from), unsend(&req->reads, from), unsend(&req->parked, from) };
	struct op_list pending = { NULL, NULL };
	struct op *op;

	nic_role(session->ep->nic);
	if (req->current && req->current->first_seq >= from) {
		op_list_push(&lists[3], req->current);
		req->current = NULL;
	}
	while ((op = pop_lowest(lists, 4))) {
		if (op_is_taken(op)) {
			op->first_seq = op->last_seq = 0;
			op_list_push(&req->taken, op);
			continue;
		}
		if (op->kind == OP_READ)
			req->reads_open--;
		verdict_gone(req, op);
		op->first_seq = op->last_seq = 0;
		op->moved = 0;
		op_list_push(&pending, op);
	}
	while ((op = op_list_pop(&req->pending)))
		op_list_push(&pending, op);
	req->pending = pending;
	resend_partly(req, from);
	req->next_seq = from;
}

bool requester_resume(struct session *session, uint64_t seen)
{
	struct requester *req = &session->req;

	nic_role(session->ep->nic);
	if (seen < req->acked || seen >= req->next_seq)
		return false;
	requester_rewind(session, seen + 1);
	req->executed = seen;
	req->rnr_until_ns = 0;
	req->verdict_said = req->verdict_seen; /* by HELLO */
	req->again = req->reads.first;
	for (struct op *op = req->reads.first; op; op = op->next)
		op->moved = 0;
	return true;
}

/* Cuts the ops of one post off the head of a list in which they stand together, the leader last. True: they are all that the post
 * was, so nothing of it has been executed. */
static bool cut_post(struct op_list *list, struct op_list *post)
{
	const struct op *leader = list->first->leader;
	uint64_t bytes = 0;
	uint32_t count = 0;
	struct op *op = NULL;

	*post = (struct op_list){ NULL, NULL };
	while (op != leader && list->first && list->first->leader == leader) {
		op = op_list_pop(list);
		op_list_push(post, op);
		bytes += op->length;
		count++;
	}
	return op == leader && count == leader->group_left && bytes == leader->total;
}

static void push_all(struct op_list *list, struct op_list *more)
{
	struct op *op;

	while ((op = op_list_pop(more)))
		op_list_push(list, op);
}

struct op_list requester_unbegun(struct session *session)
{
	struct op_list unbegun = { NULL, NULL }, begun = { NULL, NULL }, post;
	struct requester *req = &session->req;

	nic_role(session->ep->nic);
	requester_rewind(session, req->acked + 1);
	while (req->pending.first) {
		bool whole = cut_post(&req->pending, &post);

		push_all(whole && post.first->kind < OP_POSTED_KINDS ? &unbegun : &begun, &post);
	}
	req->pending = begun;
	return unbegun;
}

static struct op *named_in(const struct op_list *list, uint64_t desc)
{
	struct op *op = list->first;

	while (op && !op_names(op, desc))
		op = op->next;
	return op;
}

static struct op *named_under_way(const struct requester *req, uint64_t desc)
{
	struct op *op = req->current;

	if (op && op_names(op, desc))
		return op;
	op = named_in(&req->sent, desc);
	if (!op)
		op = named_in(&req->reads, desc);
	return op ? op : named_in(&req->parked, desc);
}

/* Takes the pending ops that name the region out of their queue. */
static struct op_list named_pending(struct requester *req, uint64_t desc)
{
	struct op_list keep = { NULL, NULL }, gone = { NULL, NULL };
	struct op *op;

	while ((op = op_list_pop(&req->pending)))
		op_list_push(op_names(op, desc) ? &gone : &keep, op);
	req->pending = keep;
	return gone;
}

/* Bytes on their way out of its memory are copied, bytes on their way into it are dropped. */
static void op_let_go(struct conn *conn, const struct op *op)
{
	conn_revoke(conn, op, WIRE_CANCELLED);
	conn_busy(conn); /* ops that waited for it may be free */
	if (conn->in.op == op) {
		conn->in.op = NULL;
		conn->in.sink = SINK_DROP;
	}
}

bool requester_drop(struct session *session, struct op *op)
{
	struct op *other = session->req.pending.first, *before = NULL;

	nic_role(session->ep->nic);
	if (op->first_seq) {
		other = inflight_take(session, op->first_seq);
		assert(!other || other == op);
		if (other && session->conn)
			op_let_go(session->conn, op);
		return other;
	}
	for (; other && other != op; other = other->next)
		before = other;
	if (other)
		op_list_cut(&session->req.pending, before, op);
	return other;
}

void requester_recall(struct session *session, uint64_t desc)
{
	struct op_list gone = named_pending(&session->req, desc);
	struct op *op;

	nic_role(session->ep->nic);
	while ((op = named_under_way(&session->req, desc))) {
		read_response_give_up_op(session, op);
		op = inflight_take(session, op->first_seq);
		if (session->conn)
			op_let_go(session->conn, op);
		if (op->kind == OP_READ && op->flags & POST_TAGGED)
			read_failed(session, op, REFUSAL_LOCAL_CLOSED);
		else
			op_list_push(&gone, op);
	}
	if (gone.first && session->conn)
		conn_busy(session->conn);
	while ((op = op_list_pop(&gone)))
		complete_refused(op, REFUSAL_LOCAL_CLOSED, NULL);
}

void requester_flush(struct session *session, enum refusal_cause cause)
{
	struct requester *req = &session->req;
	struct op_list lists[] = { req->sent, req->reads, req->parked, { NULL, NULL }, req->taken, req->pending };
	const struct op_list *parked = &lists[2];
	struct op *op;

	nic_role(session->ep->nic);
	if (req->current)
		op_list_push(&lists[3], req->current);
	requester_init(req);
	for (struct op_list *list = lists; list < lists + sizeof(lists) / sizeof(lists[0]); list++)
		while ((op = op_list_pop(list))) {
			if (list == parked && !op_kind_is_message(op->kind) && !op_by_verdict(op)) /* WIRE-192 */
				complete_good(op);
			else
				complete_refused(op, cause, NULL);
		}
}
