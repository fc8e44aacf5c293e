/* SPDX-License-Identifier: BSD-2-Clause */
/* join_ops.c - ops, made of the requests' frames: request and answer find each other by session, initiator and request number. */
#include <string.h>

#include "tools/trace/join_impl.h"

uint64_t op_key(uint64_t session, const char *initiator, uint64_t seq)
{
	return mix(mix_bytes(session, initiator, strlen(initiator)), seq);
}

/* Where no session is known any more. */
static uint64_t lone_key(uint32_t process, uint64_t seq, unsigned kind, uint64_t length)
{
	return mix(mix(process, seq), mix(kind, length));
}

uint32_t ops_find(const struct ops *ops, uint64_t key)
{
	uint32_t at = index_find(&ops->join->seq_index, key);

	return at ? index_value(&ops->join->seq_index, at) : TRACE_NONE;
}

struct trace_op *ops_add(struct ops *ops)
{
	struct trace *trace = ops->join->trace;
	struct trace_op *op = trace_grow(&trace->ops, &trace->op_count, &ops->join->op_room, sizeof(*op));

	op->posted_ns = op->sent_ns = op->received_ns = op->answered_ns = op->completed_ns = TRACE_NEVER;
	op->conn = op->initiator = op->target = op->region = op->refusal = op->first_frame = TRACE_NONE;
	return op;
}

void ops_name(struct ops *ops, uint32_t number, uint64_t key)
{
	const struct trace_op *op = &ops->join->trace->ops[number];

	index_add(&ops->join->seq_index, key, number);
	if (op->initiator != TRACE_NONE)
		index_add(&ops->lone, lone_key(ops->join->trace->endpoints[op->initiator].process, op->seq, op->kind, op->length),
			  number);
}

uint32_t ops_find_lone(const struct ops *ops, uint32_t process, uint64_t seq, unsigned kind, uint64_t length)
{
	uint32_t at = index_find(&ops->lone, lone_key(process, seq, kind, length));

	return at ? index_value(&ops->lone, at) : TRACE_NONE;
}

/* --- requests --- */

static struct op_flow *flow_of(struct ops *ops, const struct trace_conn *conn, int end)
{
	uint64_t key = op_key(conn->session, conn->end[end].address, 0);
	uint32_t at = index_find(&ops->flow_index, key);
	struct op_flow *flow;

	if (at)
		return &ops->flows[index_value(&ops->flow_index, at)];
	flow = trace_grow(&ops->flows, &ops->flow_count, &ops->flow_room, sizeof(*flow));
	flow->writing = TRACE_NONE;
	index_add(&ops->flow_index, key, ops->flow_count - 1);
	return flow;
}

static void fill_target(struct trace_op *op, const struct wire_target *target)
{
	struct wire_target_fields to;

	wire_get_target(target, &to);
	op->key = to.key;
	op->key_tail = to.key_tail;
	op->addr = to.addr;
}

static void fill_request(struct trace_op *op, const struct wire_head *head)
{
	const void *body = wire_body(head);

	op->tagged = head->flags & WIRE_F_TAGGED;
	op->has_cq_data = head->flags & WIRE_F_CQ_DATA;
	if (wire_forms[head->op].targets)
		fill_target(op, body);
	if (head->op == WIRE_WRITE) {
		op->kind = TRACE_WRITE;
		op->length = wire_get64(((const struct wire_write *)body)->rest);
		op->cq_data = wire_get64(((const struct wire_write *)body)->cq_data);
	} else if (head->op == WIRE_READ) {
		op->kind = TRACE_READ;
		op->length = wire_get64(((const struct wire_read *)body)->length);
	} else if (head->op == WIRE_SEND || head->op == WIRE_RTS) {
		op->kind = head->flags & WIRE_F_COLLECTIVE ? TRACE_COLLECTIVE : TRACE_SEND;
		op->length = wire_get64(((const struct wire_send *)body)->length);
		op->tag = wire_get64(((const struct wire_send *)body)->tag);
		op->cq_data = wire_get64(((const struct wire_send *)body)->cq_data);
	} else if (head->op == WIRE_RSEND) {
		op->kind = TRACE_SEND;
		op->length = wire_get64(((const struct wire_rsend *)body)->rest);
		op->cq_data = wire_get64(((const struct wire_rsend *)body)->cq_data);
	} else if (head->op == WIRE_ATOMIC) {
		struct wire_atomic_fields fields;

		wire_get_atomic(head, &fields);
		op->kind = TRACE_ATOMIC;
		op->length = fields.length;
		op->cq_data = fields.cq_data;
		op->atomic_op = fields.op;
		op->atomic_type = fields.type;
	} else {
		op->kind = head->op == WIRE_CONNECT ? TRACE_CONNECT : head->op == WIRE_ACCEPT ? TRACE_ACCEPT : TRACE_REJECT;
		op->length = wire_get32(head->payload);
	}
}

/* Acknowledged, it is done. */
static bool ack_resolves(const struct wire_head *head)
{
	if (head->flags & WIRE_F_COMMIT || head->op == WIRE_READ || head->op == WIRE_RTS)
		return false;
	return head->op != WIRE_ATOMIC || ((const struct wire_atomic *)wire_body(head))->kind == WIRE_ATOMIC_PLAIN;
}

static void flow_push(struct op_flow *flow, uint32_t op, bool by_ack)
{
	*(struct op_waits *)trace_grow(&flow->waits, &flow->count, &flow->room,
				       sizeof(struct op_waits)) = (struct op_waits){ op, by_ack };
}

static void take_request(struct ops *ops, uint32_t number, const struct wire_head *head)
{
	struct trace *trace = ops->join->trace;
	struct trace_frame *frame = &trace->frames[number];
	const struct trace_conn *conn = &trace->conns[frame->conn];
	struct op_flow *flow = flow_of(ops, conn, frame->from);
	uint64_t seq = wire_get64(head->seq), key = op_key(conn->session, conn->end[frame->from].address, seq);
	bool segmented = wire_forms[head->op].flags & WIRE_F_FIRST;
	uint32_t at = ops_find(ops, key);
	struct trace_op *op;

	if (head->op == WIRE_TAKEN)
		return;
	if (at == TRACE_NONE && segmented && !(head->flags & WIRE_F_FIRST) && flow->writing != TRACE_NONE &&
	    trace->ops[flow->writing].last_seq + 1 == seq) {
		at = flow->writing;
		index_add(&ops->join->seq_index, key, at);
		trace->ops[at].last_seq = seq;
	}
	if (at == TRACE_NONE) {
		op = ops_add(ops);
		at = trace->op_count - 1;
		fill_request(op, head);
		op->conn = frame->conn;
		op->initiator = conn->end[frame->from].endpoint;
		op->target = conn->end[!frame->from].endpoint;
		op->seq = op->last_seq = seq;
		op->first_frame = number;
		ops_name(ops, at, key);
		flow_push(flow, at, ack_resolves(head));
	}
	op = &trace->ops[at];
	flow->writing = segmented && !(head->flags & WIRE_F_LAST) ? at : TRACE_NONE;
	frame->of = at;
	time_first(&op->sent_ns, frame->sent_ns);
	if (seq == op->last_seq)
		time_last(&op->received_ns, frame->received_ns);
}

/* --- answers --- */

/* Requests of the initiator up to `number` are acknowledged. */
static void flow_acked(struct ops *ops, struct op_flow *flow, uint64_t number, int64_t sent_ns, int64_t received_ns)
{
	struct trace *trace = ops->join->trace;

	while (flow->first < flow->count) {
		struct trace_op *op = &trace->ops[flow->waits[flow->first].op];

		if (op->last_seq > number || flow->waits[flow->first].op == flow->writing)
			return;
		if (flow->waits[flow->first].by_ack && op->outcome == TRACE_OPEN) {
			op->outcome = TRACE_DONE;
			op->answered_ns = sent_ns;
			op->completed_ns = received_ns;
		}
		flow->first++;
	}
}

static void answered(struct trace_op *op, const struct trace_frame *frame, enum trace_outcome outcome)
{
	op->outcome = outcome;
	op->answered_ns = frame->sent_ns;
	op->completed_ns = frame->received_ns;
}

static void take_answer(struct ops *ops, uint32_t number, const struct wire_head *head)
{
	struct trace *trace = ops->join->trace;
	struct trace_frame *frame = &trace->frames[number];
	const struct trace_conn *conn = &trace->conns[frame->conn];
	const void *body = wire_body(head);
	bool pulled = head->op == WIRE_DATA && head->flags & WIRE_F_PULLED;
	uint64_t ref = head->op == WIRE_NAK ? wire_get64(((const struct wire_nak *)body)->ref)
		       : head->op == WIRE_DATA || head->op == WIRE_PULL || head->op == WIRE_RNR
			       ? wire_get64(((const struct wire_data *)body)->ref)
			       : wire_get64(((const struct wire_verdict *)body)->ref);
	uint32_t at = ops_find(ops, op_key(conn->session, conn->end[pulled ? frame->from : !frame->from].address, ref));
	struct trace_op *op = at == TRACE_NONE ? NULL : &trace->ops[at];

	frame->of = at;
	if (!op)
		return;
	if (head->op == WIRE_NAK) {
		answered(op, frame, TRACE_REFUSED);
		ops_refused(ops, at, frame, wire_get32(((const struct wire_nak *)body)->cause));
	} else if (head->op == WIRE_DONE || head->op == WIRE_RESULT) {
		answered(op, frame, TRACE_DONE);
	} else if (head->op == WIRE_PARK) {
		answered(op, frame, TRACE_OPEN);
		op->completed_ns = TRACE_NEVER;
	} else if (head->op == WIRE_DATA && !pulled && head->flags & WIRE_F_LAST && op->outcome != TRACE_REFUSED) {
		answered(op, frame, TRACE_DONE);
	}
}

static void op_frame(struct ops *ops, uint32_t number)
{
	struct trace *trace = ops->join->trace;
	const struct trace_frame *frame = &trace->frames[number];
	const struct trace_conn *conn = &trace->conns[frame->conn];
	const struct wire_head *head = (const struct wire_head *)frame->bytes;

	if (!frame->op || wire_greets(frame->op) || frame->op == WIRE_BYE)
		return;
	if (wire_is_request(frame->op))
		take_request(ops, number, head);
	else if (frame->op != WIRE_ACK)
		take_answer(ops, number, head);
	flow_acked(ops, flow_of(ops, conn, !trace->frames[number].from), wire_get64(head->ack), frame->sent_ns, frame->received_ns);
}

/* --- stored acknowledgements, in between --- */

static void take_stored(struct ops *ops, uint32_t process, const struct trace_stored *stored, int64_t at_ns)
{
	struct join *join = ops->join;
	uint32_t at = index_find(&join->line_index, mix(process, stored->line));
	const struct join_line *line = at ? &join->lines[index_value(&join->line_index, at)] : NULL;
	const struct trace_conn *conn;

	if (!line || line->conn == TRACE_NONE || stored->way != TRACE_SENT)
		return;
	conn = &join->trace->conns[line->conn];
	flow_acked(ops, flow_of(ops, conn, !line->end), stored->number, at_ns, TRACE_NEVER);
}

/* Frames and stored acknowledgements, by time. Each ring is in order already: there are few rings. */
static void take_all(struct ops *ops)
{
	struct join *join = ops->join;
	uint32_t *next = trace_alloc(join->ring_count * sizeof(*next));

	for (uint32_t i = 0; i <= join->trace->frame_count; i++) {
		const struct trace_frame *frame = i == join->trace->frame_count ? NULL : &join->trace->frames[i];
		int64_t until = !frame ? INT64_MAX : frame->sent_ns != TRACE_NEVER ? frame->sent_ns : frame->received_ns;

		for (uint32_t r = 0; r < join->ring_count; r++) {
			const struct ring_file *ring = &join->rings[r];
			int64_t offset = join->trace->processes[r].offset_ns;

			for (; next[r] < ring->count && ring->events[next[r]].at_ns + offset < until; next[r]++)
				if (ring->events[next[r]].record->type == TRACE_REC_STORED)
					take_stored(ops, r, (const struct trace_stored *)ring->events[next[r]].record,
						    ring->events[next[r]].at_ns + offset);
		}
		if (frame)
			op_frame(ops, i);
	}
	free(next);
}

/* --- order --- */

static const struct trace *sorted;

static int ops_by_time(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t p = trace_op_at(&sorted->ops[x]), q = trace_op_at(&sorted->ops[y]);

	if (p != q)
		return p < q ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void ops_sort(struct trace *trace)
{
	uint32_t count = trace->op_count, *order = trace_alloc(count * sizeof(*order)),
		 *place = trace_alloc(count * sizeof(*place));
	struct trace_op *ops = trace_alloc(count * sizeof(*ops));

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	sorted = trace;
	trace_sort(order, count, sizeof(*order), ops_by_time);
	for (uint32_t i = 0; i < count; i++) {
		ops[i] = trace->ops[order[i]];
		place[order[i]] = i;
	}
	for (uint32_t i = 0; i < trace->frame_count; i++)
		if (trace->frames[i].of != TRACE_NONE)
			trace->frames[i].of = place[trace->frames[i].of];
	for (uint32_t i = 0; i < trace->refusal_count; i++)
		if (trace->refusals[i].op != TRACE_NONE)
			trace->refusals[i].op = place[trace->refusals[i].op];
	free(trace->ops);
	trace->ops = ops;
	free(order);
	free(place);
}

void join_ops(struct join *join)
{
	struct ops ops = { .join = join };

	take_all(&ops);
	ops_records(&ops);
	ops_refusals_end(&ops);
	ops_sort(join->trace);
	for (uint32_t i = 0; i < ops.flow_count; i++)
		free(ops.flows[i].waits);
	free(ops.flows);
	index_free(&ops.flow_index);
	index_free(&ops.lone);
	index_free(&ops.sessions);
}
