/* SPDX-License-Identifier: BSD-2-Clause */
/* join_regions.c - regions, and which of them an op has accessed, where. */
#include <string.h>

#include "emu/nic/regions/mr.h"
#include "tools/trace/join_impl.h"

static uint64_t region_key(uint32_t process, uint64_t key, uint64_t tail)
{
	return mix(mix(process, key), tail);
}

static struct trace_region *add_region(struct join *join, uint32_t process, uint64_t key, uint64_t tail)
{
	struct trace *trace = join->trace;
	struct trace_region *region = trace_grow(&trace->regions, &trace->region_count, &join->region_room, sizeof(*region));

	*region = (struct trace_region){
		.process = process, .key = key, .key_tail = tail, .opened_ns = TRACE_NEVER, .closed_ns = TRACE_NEVER
	};
	index_add(&join->region_index, region_key(process, key, tail), trace->region_count - 1);
	return region;
}

static uint32_t rights_of(uint32_t access)
{
	return (access & MR_REMOTE_READ ? TRACE_REMOTE_READ : 0) | (access & MR_REMOTE_WRITE ? TRACE_REMOTE_WRITE : 0) |
	       (access & MR_READ ? TRACE_LOCAL_READ : 0) | (access & MR_WRITE ? TRACE_LOCAL_WRITE : 0);
}

static void take_region(struct join *join, uint32_t process, const struct trace_region_state *state, int64_t at_ns)
{
	uint64_t key = region_key(process, state->key, state->key_tail);
	struct trace_region *region = NULL;
	uint32_t at = index_find(&join->region_index, key);

	if (state->event == TRACE_REGION_CLOSED && at) {
		region = &join->trace->regions[index_value(&join->region_index, at)];
		region = region->closed_ns == TRACE_NEVER ? region : NULL;
	}
	if (!region)
		region = add_region(join, process, state->key, state->key_tail);
	region->addr = state->addr;
	region->length = state->length;
	region->rights = rights_of(state->rights);
	*(state->event == TRACE_REGION_CLOSED ? &region->closed_ns : &region->opened_ns) = at_ns;
}

void join_regions(struct join *join)
{
	for (uint32_t i = 0; i < join->ring_count; i++)
		for (uint32_t e = 0; e < join->rings[i].count; e++)
			if (join->rings[i].events[e].record->type == TRACE_REC_REGION)
				take_region(join, i, (const struct trace_region_state *)join->rings[i].events[e].record,
					    join->rings[i].events[e].at_ns);
}

/* That was there at that time; or, if none was, the last one with that key. */
static uint32_t region_at(const struct join *join, uint32_t process, const struct trace_op *op, int64_t at_ns)
{
	uint32_t last = TRACE_NONE;

	for (uint32_t at = index_find(&join->region_index, region_key(process, op->key, op->key_tail)); at;
	     at = index_next(&join->region_index, at)) {
		const struct trace_region *region = &join->trace->regions[index_value(&join->region_index, at)];

		if (region->process != process || region->key != op->key || region->key_tail != op->key_tail)
			continue;
		if (last == TRACE_NONE)
			last = index_value(&join->region_index, at);
		if ((region->opened_ns == TRACE_NEVER || region->opened_ns <= at_ns) &&
		    (region->closed_ns == TRACE_NEVER || region->closed_ns >= at_ns))
			return index_value(&join->region_index, at);
	}
	return last;
}

static void grow_assumed(struct trace_region *region, const struct trace_op *op)
{
	uint64_t end = region->addr + region->length;

	if (!region->length) {
		region->addr = op->addr;
		end = op->addr;
	}
	if (op->addr < region->addr)
		region->addr = op->addr;
	if (op->length <= UINT64_MAX - op->addr && op->addr + op->length > end)
		end = op->addr + op->length;
	region->length = end - region->addr;
}

static uint8_t op_right(const struct trace_op *op)
{
	if (op->kind == TRACE_READ)
		return TRACE_REMOTE_READ;
	return op->kind == TRACE_WRITE ? TRACE_REMOTE_WRITE : TRACE_REMOTE_READ | TRACE_REMOTE_WRITE;
}

static void find_region(struct join *join, uint32_t number)
{
	struct trace *trace = join->trace;
	struct trace_op *op = &trace->ops[number];
	uint32_t process = op->target == TRACE_NONE ? TRACE_NONE : trace->endpoints[op->target].process;
	int64_t at_ns = op->received_ns != TRACE_NEVER ? op->received_ns : trace_op_at(op);
	struct trace_access *access;

	if (process == TRACE_NONE || op->tagged || op->received_ns == TRACE_NEVER ||
	    (op->kind != TRACE_READ && op->kind != TRACE_WRITE && op->kind != TRACE_ATOMIC))
		return;
	op->region = region_at(join, process, op, at_ns);
	if (op->region == TRACE_NONE && op->outcome != TRACE_REFUSED) {
		struct trace_region *region = add_region(join, process, op->key, op->key_tail);

		region->assumed = true;
		op->region = trace->region_count - 1;
	}
	if (op->region == TRACE_NONE)
		return;
	if (trace->regions[op->region].assumed)
		grow_assumed(&trace->regions[op->region], op);
	access = trace_grow(&trace->accesses, &trace->access_count, &join->access_room, sizeof(*access));
	*access = (struct trace_access){ .region = op->region,
					 .op = number,
					 .offset = op->addr,
					 .length = op->length,
					 .right = op_right(op),
					 .refused = op->outcome == TRACE_REFUSED,
					 .at_ns = at_ns };
}

void join_accesses(struct join *join)
{
	struct trace *trace = join->trace;

	for (uint32_t i = 0; i < trace->op_count; i++)
		find_region(join, i);
	/* Regions that are assumed have their addresses only now. */
	for (uint32_t i = 0; i < trace->access_count; i++)
		trace->accesses[i].offset -= trace->regions[trace->accesses[i].region].addr;
}
