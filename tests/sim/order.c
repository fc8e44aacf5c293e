/* SPDX-License-Identifier: BSD-2-Clause */
/* order.c - fault plans that let ops pass each other: those pass that no promised order keeps, and no others. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/faults/fault_plan.h"
#include "tests/sim/harness/bed.h"

enum { BYTES = 192, PLACES = 8 };
#define LATE SIM_SECOND

struct stage {
	struct fault_plan plan;
	struct nic_config config;
	struct bed bed;
	struct region *target; /* of the second party */
};

/* The first op of that kind waits, and lets others pass. */
static void stage_open(struct stage *stage, enum op_kind late, uint32_t order)
{
	struct party_config party = { .order = order };

	*stage = (struct stage){ .plan = { .rules = 1,
					   .rule = { { .sort = PLAN_REORDER,
						       .kinds = 1u << late,
						       .first = 1,
						       .every = 1,
						       .most = 1,
						       .chance = FAULT_CERTAIN,
						       .wait_ns = LATE } } } };
	stage->config.fault = &stage->plan;
	bed_open(&stage->bed, 2148, 2, &stage->config, &party);
	stage->bed.model->messages_pass = true;
	stage->target = region_open(stage->bed.party[1], PLACES * BYTES, 1, BED_BOTH, false, 0);
}

static void stage_end(struct stage *stage)
{
	model_end(stage->bed.model, BED_LIMIT_NS);
	bed_close(&stage->bed);
}

static struct job *post(struct stage *stage, enum op_kind kind, uint64_t place, uint32_t flags)
{
	return bed_post(&stage->bed, kind, stage->target, place * BYTES, BYTES, flags);
}

/* Two kinds, and what keeps the second of them behind the first. The atomics return nothing. */
static const struct {
	enum op_kind first, later;
	uint32_t kept;
} pairs[] = {
	{ OP_SEND, OP_SEND, EP_ORDER_SAS },      { OP_SEND, OP_WRITE, EP_ORDER_WAS },
	{ OP_SEND, OP_READ, EP_ORDER_RAS },      { OP_SEND, OP_ATOMIC, EP_ORDER_WAS },
	{ OP_WRITE, OP_SEND, EP_ORDER_SAW },     { OP_WRITE, OP_WRITE, EP_ORDER_RMA_WAW },
	{ OP_WRITE, OP_READ, EP_ORDER_RMA_RAW }, { OP_WRITE, OP_ATOMIC, EP_ORDER_WAW },
	{ OP_READ, OP_SEND, EP_ORDER_SAR },      { OP_READ, OP_WRITE, EP_ORDER_RMA_WAR },
	{ OP_READ, OP_READ, EP_ORDER_RMA_RAR },  { OP_READ, OP_ATOMIC, EP_ORDER_WAR },
	{ OP_ATOMIC, OP_SEND, EP_ORDER_SAW },    { OP_ATOMIC, OP_WRITE, EP_ORDER_WAW },
	{ OP_ATOMIC, OP_READ, EP_ORDER_RAW },    { OP_ATOMIC, OP_ATOMIC, EP_ORDER_ATOMIC_WAW },
};

static void passes(unsigned int pair, uint32_t order)
{
	struct stage stage;
	struct job *first, *later;

	stage_open(&stage, pairs[pair].first, order);
	first = post(&stage, pairs[pair].first, 0, 0);
	later = post(&stage, pairs[pair].later, 1, 0);
	model_pass(stage.bed.model, LATE / 2);
	cr_assert(!first->done);
	cr_assert_eq(later->done, !(order & pairs[pair].kept), "pair %u, order %#x", pair, order);
	stage_end(&stage);
}

Test(sim_order, what_no_order_keeps_passes)
{
	for (unsigned int i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		passes(i, 0);
		passes(i, pairs[i].kept);
		passes(i, EP_ORDER_ALL & ~pairs[i].kept);
	}
}

/* Of three, the last is kept behind the first alone. */
Test(sim_order, each_op_that_waits_counts)
{
	struct job *write, *read, *message;
	struct stage stage;

	stage_open(&stage, OP_WRITE, EP_ORDER_RMA_RAW | EP_ORDER_SAR);
	stage.plan.rule[0].kinds |= 1u << OP_READ;
	write = post(&stage, OP_WRITE, 0, 0);
	read = post(&stage, OP_READ, 1, 0);
	message = post(&stage, OP_SEND, 0, 0);
	model_pass(stage.bed.model, LATE / 2);
	cr_assert(!write->done && !read->done && !message->done);
	stage_end(&stage);
}

/* Nothing passes a fenced op that waits, and it passes nothing. */
Test(sim_order, fences_are_kept)
{
	struct stage stage;
	struct job *jobs[3];

	stage_open(&stage, OP_WRITE, 0);
	jobs[0] = post(&stage, OP_WRITE, 0, 0);
	jobs[1] = post(&stage, OP_READ, 1, POST_FENCE);
	jobs[2] = post(&stage, OP_READ, 2, 0);
	model_pass(stage.bed.model, LATE / 2);
	cr_assert(!jobs[0]->done && !jobs[1]->done && !jobs[2]->done);
	stage_end(&stage);
}

/* Whatever passes, each op is done once, and messages keep their order where it is promised. */
Test(sim_order, under_load)
{
	for (uint64_t weather = 2150; weather < 2158; weather++) {
		struct fault_plan plan = { .seed = weather, .rules = 1 };
		struct nic_config config = { .fault = &plan };
		struct party_config party = { .order = weather & 1 ? EP_ORDER_ALL : 0 };
		struct workload load = { .outstanding_max = 60,
					 .big_max = 300000,
					 .wrong_percent = 10,
					 .silent_percent = 20,
					 .atomic_percent = 20,
					 .sends = true,
					 .rma = true };
		struct bed bed;

		plan.rule[0] = (struct fault_rule){ .sort = PLAN_REORDER,
						    .kinds = FAULT_ALL_KINDS,
						    .first = 1,
						    .every = 1,
						    .most = UINT64_MAX,
						    .chance = FAULT_CERTAIN / 2,
						    .jitter_ns = 20000000 };
		bed_open(&bed, weather, 3, &config, &party);
		bed.model->messages_pass = true;
		workload_init(&load, bed.model, 600);
		workload_run(&load, BED_LIMIT_NS);
		bed_close(&bed);
	}
}
