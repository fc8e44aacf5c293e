/* SPDX-License-Identifier: BSD-2-Clause */
/* join_records.c - what initiators noted when their ops ended: times of posts and completions, and refusals. */
#include <string.h>

#include "emu/nic/regions/refusal_name.h"
#include "tools/trace/join_impl.h"

static struct trace_refusal *add_refusal(struct ops *ops, uint32_t process, uint32_t op, uint32_t cause, int64_t at_ns)
{
	struct trace *trace = ops->join->trace;
	struct trace_refusal *refusal = trace_grow(&trace->refusals, &trace->refusal_count, &ops->join->refusal_room,
						   sizeof(*refusal));
	const char *name = refusal_name(cause);

	*refusal = (struct trace_refusal){ .process = process,
					   .op = op,
					   .cause = cause,
					   .cause_name = name ? name : "unknown-cause",
					   .text = "",
					   .at_ns = at_ns };
	return refusal;
}

void ops_refused(struct ops *ops, uint32_t number, const struct trace_frame *frame, uint32_t cause)
{
	struct trace *trace = ops->join->trace;
	const struct trace_conn *conn = &trace->conns[frame->conn];
	bool sent = frame->sent_ns != TRACE_NEVER; /* an end that has a time was traced, and has an endpoint */
	uint32_t ep = conn->end[sent ? frame->from : !frame->from].endpoint;
	struct trace_op *op = &trace->ops[number];
	struct trace_refusal *refusal;

	if (op->refusal != TRACE_NONE)
		return;
	refusal = add_refusal(ops, trace->endpoints[ep].process, number, cause, sent ? frame->sent_ns : frame->received_ns);
	refusal->at_target = true;
	refusal->text = trace_words("%s to %s by %s is refused: %s (cause %u)", trace_kind_name(op->kind),
				    conn->end[frame->from].address, conn->end[!frame->from].address, refusal->cause_name, cause);
	op->refusal = trace->refusal_count - 1;
}

/* Each process's lines by session, for records that name no line. */
static void index_sessions(struct ops *ops)
{
	for (uint32_t i = 0; i < ops->join->line_count; i++)
		index_add(&ops->sessions, mix(ops->join->lines[i].process, ops->join->lines[i].session), i);
}

static const struct join_line *line_of(const struct ops *ops, uint32_t process, uint32_t number, uint64_t session)
{
	uint32_t at = number ? index_find(&ops->join->line_index, mix(process, number)) : 0;

	if (at)
		return &ops->join->lines[index_value(&ops->join->line_index, at)];
	at = session ? index_find(&ops->sessions, mix(process, session)) : 0;
	return at ? &ops->join->lines[index_value(&ops->sessions, at)] : NULL;
}

static uint32_t find_op(const struct ops *ops, uint32_t process, uint32_t line_number, uint64_t session, uint64_t seq,
			unsigned kind, uint64_t length)
{
	const struct join_line *line = line_of(ops, process, line_number, session);
	const struct trace_conn *conn = line && line->conn != TRACE_NONE ? &ops->join->trace->conns[line->conn] : NULL;
	uint32_t at = TRACE_NONE;

	if (!seq)
		return TRACE_NONE;
	if (conn)
		at = ops_find(ops, op_key(conn->session, conn->end[line->end].address, seq));
	if (at == TRACE_NONE)
		at = ops_find_lone(ops, process, seq, kind, length);
	return at;
}

/* An op of which no frame is left, or that was never sent. */
static uint32_t add_op(struct ops *ops, uint32_t process, const struct trace_op_end *end)
{
	const struct join_line *line = line_of(ops, process, end->line, end->session);
	const struct trace_conn *conn = line && line->conn != TRACE_NONE ? &ops->join->trace->conns[line->conn] : NULL;
	struct trace_op *op = ops_add(ops);

	op->kind = end->kind < TRACE_KINDS ? (enum trace_kind)end->kind : TRACE_SEND;
	op->length = end->length;
	op->key = end->key;
	op->key_tail = end->key_tail;
	op->addr = end->addr;
	op->tag = end->tag;
	op->seq = end->first_seq;
	op->last_seq = end->last_seq;
	op->tagged = end->flags & TRACE_OP_TAGGED;
	op->has_cq_data = end->flags & TRACE_OP_CQ_DATA;
	if (conn) {
		op->conn = line->conn;
		op->initiator = conn->end[line->end].endpoint;
		op->target = conn->end[!line->end].endpoint;
	}
	return ops->join->trace->op_count - 1;
}

static void take_end(struct ops *ops, uint32_t process, const struct trace_op_end *end, int64_t at_ns, uint32_t *unsent)
{
	const struct ring_file *ring = &ops->join->rings[process];
	struct trace *trace = ops->join->trace;
	uint32_t at = find_op(ops, process, end->line, end->session, end->first_seq, end->kind, end->length);
	struct trace_op *op;

	if (at == TRACE_NONE)
		at = add_op(ops, process, end);
	op = &trace->ops[at];
	op->inject = end->flags & TRACE_OP_INJECT;
	op->completed_ns = at_ns;
	if (end->posted_ticks >= ring->head.ticks)
		op->posted_ns = ring_ns(ring, end->posted_ticks) + trace->processes[process].offset_ns;
	op->outcome = end->cause ? TRACE_REFUSED : TRACE_DONE;
	if (end->cause && !end->first_seq && *unsent != TRACE_NONE && trace->refusals[*unsent].cause == end->cause) {
		trace->refusals[*unsent].op = at;
		op->refusal = *unsent;
		*unsent = TRACE_NONE;
	}
}

static void take_refused(struct ops *ops, uint32_t process, const struct trace_refused *refused, int64_t at_ns, uint32_t *unsent)
{
	struct trace *trace = ops->join->trace;
	uint32_t at = find_op(ops, process, 0, refused->session, refused->first_seq, refused->kind, refused->length);
	struct trace_refusal *refusal = add_refusal(ops, process, at, refused->cause, at_ns);
	uint32_t number = trace->refusal_count - 1;

	refusal->text = trace_words("%.*s", (int)refused->text, (const char *)(refused + 1));
	if (at == TRACE_NONE) {
		*unsent = number;
		return;
	}
	if (trace->ops[at].refusal != TRACE_NONE) /* said by the frame: this says more */
		trace->refusals[trace->ops[at].refusal].op = TRACE_NONE;
	trace->ops[at].refusal = number;
}

void ops_records(struct ops *ops)
{
	index_sessions(ops);
	for (uint32_t r = 0; r < ops->join->ring_count; r++) {
		const struct ring_file *ring = &ops->join->rings[r];
		int64_t offset = ops->join->trace->processes[r].offset_ns;
		uint32_t unsent = TRACE_NONE;

		for (uint32_t i = 0; i < ring->count; i++) {
			const struct trace_record *record = ring->events[i].record;

			if (record->type == TRACE_REC_OP)
				take_end(ops, r, (const struct trace_op_end *)record, ring->events[i].at_ns + offset, &unsent);
			else if (record->type == TRACE_REC_REFUSED)
				take_refused(ops, r, (const struct trace_refused *)record, ring->events[i].at_ns + offset, &unsent);
		}
	}
}

static int refusals_by_time(const void *a, const void *b)
{
	const struct trace_refusal *x = a, *y = b;

	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

void ops_refusals_end(struct ops *ops)
{
	struct trace *trace = ops->join->trace;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < trace->refusal_count; i++)
		if (!trace->refusals[i].at_target || trace->refusals[i].op != TRACE_NONE)
			trace->refusals[kept++] = trace->refusals[i];
	trace->refusal_count = kept;
	trace_sort(trace->refusals, kept, sizeof(*trace->refusals), refusals_by_time);
	for (uint32_t i = 0; i < trace->op_count; i++)
		trace->ops[i].refusal = TRACE_NONE;
	for (uint32_t i = 0; i < kept; i++)
		if (trace->refusals[i].op != TRACE_NONE)
			trace->ops[trace->refusals[i].op].refusal = i;
}
