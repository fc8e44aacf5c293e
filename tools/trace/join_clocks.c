/* SPDX-License-Identifier: BSD-2-Clause */
/* join_clocks.c - one clock for all processes. Those of one boot of a machine have one already. Between machines each frame bounds
 * the difference: it came after it was sent. The middle between the bounds of both directions is taken. */
#include <stdlib.h>
#include <string.h>

#include "tools/trace/join_impl.h"

/* Bounds of what is to be added to b's clock less what is to be added to a's. */
struct clock_bound {
	uint32_t a, b; /* a < b */
	int64_t low, high;
};

struct clocks {
	struct clock_bound *bounds;
	uint32_t count, room;
	struct trace_index index;
	uint32_t *group; /* of each process: the first process of its boot */
	int64_t *offset, *error;
	bool *known;
};

static struct clock_bound *bound_of(struct clocks *clocks, uint32_t a, uint32_t b)
{
	uint64_t key = mix(a, b);
	uint32_t at = index_find(&clocks->index, key);
	struct clock_bound *bound;

	if (at)
		return &clocks->bounds[index_value(&clocks->index, at)];
	bound = trace_grow(&clocks->bounds, &clocks->count, &clocks->room, sizeof(*bound));
	*bound = (struct clock_bound){ a, b, INT64_MIN, INT64_MAX };
	index_add(&clocks->index, key, clocks->count - 1);
	return bound;
}

/* Sent by `from` and received by `to`, each by its own clock. */
static void add_bound(struct clocks *clocks, uint32_t from, uint32_t to, int64_t sent_ns, int64_t received_ns)
{
	struct clock_bound *bound;

	if (from == to)
		return;
	bound = bound_of(clocks, from < to ? from : to, from < to ? to : from);
	if (from < to && sent_ns - received_ns > bound->low) /* received + o(to) >= sent + o(from) */
		bound->low = sent_ns - received_ns;
	if (from > to && received_ns - sent_ns < bound->high)
		bound->high = received_ns - sent_ns;
}

static void find_bounds(struct join *join, struct clocks *clocks)
{
	const struct trace *trace = join->trace;

	for (uint32_t i = 0; i < trace->frame_count; i++) {
		const struct trace_frame *frame = &trace->frames[i];
		const struct trace_conn *conn = &trace->conns[frame->conn];
		uint32_t from = conn->end[frame->from].endpoint, to = conn->end[!frame->from].endpoint;

		if (frame->sent_ns != TRACE_NEVER && frame->received_ns != TRACE_NEVER && from != TRACE_NONE && to != TRACE_NONE)
			add_bound(clocks, clocks->group[trace->endpoints[from].process],
				  clocks->group[trace->endpoints[to].process], frame->sent_ns, frame->received_ns);
	}
}

static bool is_apart(int64_t ns)
{
	return ns >= -RING_APART_NS && ns <= RING_APART_NS;
}

/* From group `from`, which is known, to the other one of the bound. False: no clocks differ by so much. */
static bool clock_settle(struct clocks *clocks, const struct clock_bound *bound, uint32_t from, uint32_t to)
{
	bool both = bound->low != INT64_MIN && bound->high != INT64_MAX;
	int64_t middle = !both ? (bound->low != INT64_MIN ? bound->low : bound->high) : bound->low + (bound->high - bound->low) / 2;
	int64_t offset = clocks->offset[from] + (to == bound->b ? middle : -middle), error = TRACE_NEVER;

	if (!is_apart(offset))
		return false;
	if (both && clocks->error[from] != TRACE_NEVER)
		error = clocks->error[from] + llabs(bound->high - bound->low) / 2;
	clocks->offset[to] = offset;
	clocks->error[to] = is_apart(error) ? error : TRACE_NEVER;
	clocks->known[to] = true;
	return true;
}

/* From the first group on, along connections. Each round settles a group or is the last. */
static void clocks_settle(struct clocks *clocks)
{
	bool again = true;

	while (again) {
		again = false;
		for (uint32_t i = 0; i < clocks->count; i++) {
			const struct clock_bound *bound = &clocks->bounds[i];
			uint32_t from = clocks->known[bound->a] ? bound->a : bound->b, to = from == bound->a ? bound->b : bound->a;

			if (clocks->known[from] && !clocks->known[to])
				again |= clock_settle(clocks, bound, from, to);
		}
	}
}

/* Groups that no traced connection leads to go by the machines' own idea of the time. */
static void clocks_settle_rest(struct join *join, struct clocks *clocks)
{
	const struct trace_head *first = &join->rings[0].head;

	for (uint32_t i = 0; i < join->ring_count; i++) {
		const struct trace_head *head = &join->rings[i].head;
		int64_t offset = ((int64_t)head->real_ns - (int64_t)head->mono_ns) -
				 ((int64_t)first->real_ns - (int64_t)first->mono_ns);

		if (clocks->group[i] != i || clocks->known[i])
			continue;
		clocks->offset[i] = is_apart(offset) ? offset : 0;
		clocks->error[i] = TRACE_NEVER;
		clocks->known[i] = true;
	}
}

static void shift(int64_t *at, int64_t by)
{
	if (*at != TRACE_NEVER)
		*at += by;
}

static void shift_end(struct join *join, struct trace_conn *conn, int end)
{
	uint32_t ep = conn->end[end].endpoint;
	int64_t by = ep == TRACE_NONE ? 0 : join->trace->processes[join->trace->endpoints[ep].process].offset_ns;

	shift(&conn->end[end].opened_ns, by);
	shift(&conn->end[end].closed_ns, by);
}

static void shift_frame(struct trace *trace, struct trace_frame *frame)
{
	const struct trace_conn *conn = &trace->conns[frame->conn];
	uint32_t from = conn->end[frame->from].endpoint, to = conn->end[!frame->from].endpoint;

	if (from != TRACE_NONE)
		shift(&frame->sent_ns, trace->processes[trace->endpoints[from].process].offset_ns);
	if (to != TRACE_NONE)
		shift(&frame->received_ns, trace->processes[trace->endpoints[to].process].offset_ns);
}

static int64_t frame_at(const struct trace_frame *frame)
{
	int64_t at = frame->sent_ns;

	time_first(&at, frame->received_ns);
	return at;
}

static int frames_by_time(const void *a, const void *b)
{
	const struct trace_frame *x = a, *y = b;
	int64_t p = frame_at(x), q = frame_at(y);

	if (p != q)
		return p < q ? -1 : 1;
	if (x->conn != y->conn || x->from != y->from)
		return x->conn != y->conn ? (x->conn < y->conn ? -1 : 1) : x->from - y->from;
	return x->stream_at < y->stream_at ? -1 : x->stream_at > y->stream_at;
}

static int logs_by_time(const void *a, const void *b)
{
	const struct trace_log *x = a, *y = b;

	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static void shift_all(struct join *join, int64_t zero)
{
	struct trace *trace = join->trace;

	for (uint32_t i = 0; i < trace->process_count; i++) {
		struct trace_process *process = &trace->processes[i];

		process->offset_ns -= zero;
		shift(&process->first_ns, process->offset_ns);
		shift(&process->last_ns, process->offset_ns);
		time_last(&trace->end_ns, process->last_ns);
	}
	for (uint32_t i = 0; i < trace->endpoint_count; i++)
		shift(&trace->endpoints[i].opened_ns, trace->processes[trace->endpoints[i].process].offset_ns);
	for (uint32_t i = 0; i < trace->conn_count; i++) {
		shift_end(join, &trace->conns[i], 0);
		shift_end(join, &trace->conns[i], 1);
	}
	for (uint32_t i = 0; i < trace->frame_count; i++)
		shift_frame(trace, &trace->frames[i]);
	for (uint32_t i = 0; i < trace->region_count; i++) {
		shift(&trace->regions[i].opened_ns, trace->processes[trace->regions[i].process].offset_ns);
		shift(&trace->regions[i].closed_ns, trace->processes[trace->regions[i].process].offset_ns);
	}
	for (uint32_t i = 0; i < trace->log_count; i++)
		trace->logs[i].at_ns += trace->processes[trace->logs[i].process].offset_ns;
	trace_sort(trace->frames, trace->frame_count, sizeof(*trace->frames), frames_by_time);
	trace_sort(trace->logs, trace->log_count, sizeof(*trace->logs), logs_by_time);
}

void join_clocks(struct join *join)
{
	struct trace *trace = join->trace;
	uint32_t count = join->ring_count;
	struct clocks clocks = { .count = 0 };
	int64_t zero = INT64_MAX;

	clocks.group = trace_alloc(count * sizeof(*clocks.group));
	clocks.offset = trace_alloc(count * sizeof(*clocks.offset));
	clocks.error = trace_alloc(count * sizeof(*clocks.error));
	clocks.known = trace_alloc(count * sizeof(*clocks.known));
	for (uint32_t i = 0; i < count; i++) {
		clocks.group[i] = i;
		for (uint32_t j = 0; j < i && *join->rings[i].head.boot; j++) {
			if (clocks.group[j] == j && !strcmp(join->rings[j].head.boot, join->rings[i].head.boot)) {
				clocks.group[i] = j;
				break;
			}
		}
	}
	find_bounds(join, &clocks);
	clocks.known[0] = true;
	clocks_settle(&clocks);
	clocks_settle_rest(join, &clocks);
	for (uint32_t i = 0; i < count; i++) {
		trace->processes[i].offset_ns = clocks.offset[clocks.group[i]];
		trace->processes[i].error_ns = clocks.error[clocks.group[i]];
		if (trace->processes[i].first_ns + trace->processes[i].offset_ns < zero)
			zero = trace->processes[i].first_ns + trace->processes[i].offset_ns;
	}
	trace->epoch_ns = join->rings[0].head.real_ns + (uint64_t)(zero - (int64_t)join->rings[0].head.mono_ns);
	trace->end_ns = 0;
	shift_all(join, zero);
	index_free(&clocks.index);
	free(clocks.bounds);
	free(clocks.group);
	free(clocks.offset);
	free(clocks.error);
	free(clocks.known);
}
