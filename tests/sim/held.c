/* SPDX-License-Identifier: BSD-2-Clause */
/* held.c - writes that are executed before their bytes are seen, and READs that look late, by a fault plan: what must not be seen
 * before writes waits for them or brings them into their place (WIRE-190, WIRE-191). */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/device/nic_impl.h"
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

static struct fault_rule holding(uint64_t wait_ns, uint64_t jitter_ns, uint64_t most)
{
	return (struct fault_rule){
		.sort = PLAN_HOLD,
		.kinds = 1u << OP_WRITE | 1u << OP_ATOMIC,
		.first = 1,
		.every = 1,
		.most = most,
		.chance = FAULT_CERTAIN,
		.wait_ns = wait_ns,
		.jitter_ns = jitter_ns,
	};
}

/* The first rule is for the first write alone. `counts`: an endpoint has a counter of remote writes. */
static void stage_open_with(struct stage *stage, uint32_t order, struct fault_rule first, struct fault_rule others, bool counts)
{
	struct party_config party = { .order = order, .unwatched = !counts };

	*stage = (struct stage){ .plan = { .seed = 1, .rules = 2, .rule = { first, others } } };
	stage->config.fault = &stage->plan;
	bed_open(&stage->bed, 2160, 2, &stage->config, &party);
	stage->bed.model->writes_held = true;
	stage->target = region_open(stage->bed.party[1], PLACES * BYTES, 1, BED_BOTH, false, 0);
}

static void stage_open_by(struct stage *stage, uint32_t order, struct fault_rule first, struct fault_rule others)
{
	stage_open_with(stage, order, first, others, false);
}

static void stage_open(struct stage *stage, uint32_t order)
{
	stage_open_by(stage, order, holding(LATE, 0, 1), holding(LATE, 0, UINT64_MAX));
}

static void stage_end(struct stage *stage)
{
	model_end(stage->bed.model, BED_LIMIT_NS);
	bed_close(&stage->bed);
}

/* Posts it, and waits for its completion. */
static struct job *finish(struct stage *stage, enum op_kind kind, uint64_t place, uint32_t flags)
{
	struct job *job = bed_post(&stage->bed, kind, stage->target, place * BYTES, BYTES, flags);

	model_pass(stage->bed.model, LATE / 8);
	cr_assert(job->done && !job->failed);
	return job;
}

/* Have its bytes been seen in the region? */
static bool is_seen(const struct stage *stage, const struct job *write)
{
	uint8_t now[BYTES];

	region_get(stage->target, write->offset[0], now, write->length);
	return !memcmp(now, write->bytes, write->length);
}

Test(sim_held, a_completion_comes_before_the_bytes)
{
	struct stage stage;
	struct job *write;

	stage_open(&stage, 0);
	write = finish(&stage, OP_WRITE, 0, 0);
	cr_assert(!is_seen(&stage, write));
	model_pass(stage.bed.model, LATE);
	cr_assert(is_seen(&stage, write));
	stage_end(&stage);
}

/* The next atomic finds what the one before has stored. */
Test(sim_held, atomics_see_each_other)
{
	struct job *first, *second;
	struct stage stage;

	stage_open(&stage, 0);
	first = finish(&stage, OP_ATOMIC, 0, 0);
	cr_assert(!is_seen(&stage, first));
	second = finish(&stage, OP_ATOMIC, 0, 0);
	cr_assert(is_seen(&stage, first) && !is_seen(&stage, second));
	model_pass(stage.bed.model, LATE);
	cr_assert(is_seen(&stage, second));
	stage_end(&stage);
}

/* Where its completion, or the peer's, tells more than that it was executed. */
Test(sim_held, told_ones_are_seen_at_once)
{
	static const uint32_t flags[] = { POST_DELIVERED, POST_CQ_DATA };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct stage stage;

		stage_open(&stage, 0);
		cr_assert(is_seen(&stage, finish(&stage, OP_WRITE, 0, flags[i])), "flags %#x", flags[i]);
		stage_end(&stage);
	}
}

/* As is a write or atomic that the target's counter counts. */
Test(sim_held, counted_ones_are_seen_at_once)
{
	static const enum op_kind kinds[] = { OP_WRITE, OP_ATOMIC };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct stage stage;

		stage_open_with(&stage, 0, holding(LATE, 0, 1), holding(LATE, 0, UINT64_MAX), true);
		cr_assert(is_seen(&stage, finish(&stage, kinds[i], 0, 0)));
		stage_end(&stage);
	}
}

/* What comes behind a write that is held back, and the order that has the write seen first. */
static const struct {
	enum op_kind kind;
	uint32_t order[2];
} behind[] = {
	{ OP_READ, { EP_ORDER_RMA_RAW, EP_ORDER_RAW } },
	{ OP_SEND, { EP_ORDER_SAW, EP_ORDER_SAW } },
	{ OP_ATOMIC, { EP_ORDER_WAW, EP_ORDER_RAW } },
};

Test(sim_held, an_order_has_them_seen_first)
{
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		for (int with = 0; with < 3; with++) {
			struct stage stage;
			struct job *write;

			stage_open(&stage, with ? behind[i].order[with - 1] : 0);
			write = finish(&stage, OP_WRITE, 0, 0);
			finish(&stage, behind[i].kind, 1, 0);
			cr_assert_eq(is_seen(&stage, write), with > 0, "pair %zu, order %d", i, with);
			stage_end(&stage);
		}
	}
}

/* A fenced op sees all that was written before, whatever the order. */
Test(sim_held, a_fence_has_them_seen)
{
	static const enum op_kind kinds[] = { OP_SEND, OP_WRITE, OP_READ, OP_ATOMIC };

	for (size_t i = 0; i < 4; i++) {
		struct stage stage;
		struct job *write;

		stage_open(&stage, 0);
		write = finish(&stage, OP_WRITE, 0, 0);
		finish(&stage, kinds[i], 1, POST_FENCE);
		cr_assert(is_seen(&stage, write), "kind %zu", i);
		stage_end(&stage);
	}
}

/* Of two writes the second is seen second: also if it is one that is not held back. */
Test(sim_held, writes_in_their_order)
{
	for (int told = 0; told < 2; told++) {
		for (int ordered = 0; ordered < 2; ordered++) {
			struct job *first, *second;
			struct stage stage;

			stage_open_by(&stage, ordered ? EP_ORDER_RMA_WAW : 0, holding(LATE, 0, 1), holding(0, 0, UINT64_MAX));
			first = finish(&stage, OP_WRITE, 0, 0);
			second = finish(&stage, OP_WRITE, 1, told ? POST_CQ_DATA : 0);
			cr_assert_eq(is_seen(&stage, second), told || !ordered);
			cr_assert_eq(is_seen(&stage, first), told && ordered);
			stage_end(&stage);
		}
	}
}

/* What was executed is there when its region ends, when its endpoint does, and when the plan does. */
Test(sim_held, nothing_is_lost_at_an_end)
{
	for (int end = 0; end < 3; end++) {
		struct stage stage;
		struct job *write;
		struct node *node;

		stage_open(&stage, 0);
		write = finish(&stage, OP_WRITE, 0, 0);
		cr_assert(!is_seen(&stage, write));
		node = stage.bed.party[1]->node;
		if (end == 0)
			region_end(stage.target);
		else if (end == 1)
			party_close(stage.bed.party[0]);
		node_enter(node);
		cr_assert(end < 2 || !nic_fault_load(node->nic, NULL));
		node_leave(node);
		model_pass(stage.bed.model, LATE / 8);
		cr_assert(is_seen(&stage, write), "end %d", end);
		stage_end(&stage);
	}
}

/* Pieces of one write come in any order, and aligned elements whole. */
Test(sim_held, in_pieces)
{
	uint64_t earlier_last = 0, seen_partly = 0;
	struct stage stage;

	stage_open_by(&stage, 0, holding(0, LATE, 1), holding(0, LATE, UINT64_MAX));
	for (uint64_t place = 0; place < PLACES; place++) {
		struct job *write = finish(&stage, OP_WRITE, place, 0);
		bool fresh[BYTES / 8];

		for (int tick = 0; tick < 20; tick++) {
			uint64_t whole = 0;
			uint8_t now[BYTES];

			model_pass(stage.bed.model, LATE / 10);
			region_get(stage.target, write->offset[0], now, BYTES);
			for (int i = 0; i < BYTES / 8; i++) {
				fresh[i] = !memcmp(now + 8 * i, write->bytes + 8 * i, 8);
				whole += fresh[i];
			}
			seen_partly += whole && whole < BYTES / 8;
			earlier_last += fresh[BYTES / 8 - 1] && !fresh[0];
		}
		cr_assert(is_seen(&stage, write));
	}
	cr_assert(seen_partly && earlier_last);
	stage_end(&stage);
}

/* Its answer comes piece by piece, aligned elements whole, and the READ is not done before. */
Test(sim_held, a_read_looks_late)
{
	struct fault_rule rule = holding(LATE, LATE, UINT64_MAX);
	struct stage stage;
	struct job *read;
	int ticks = 0, partly = 0;

	rule.kinds = 1u << OP_READ;
	stage_open_by(&stage, 0, rule, rule);
	cr_assert(is_seen(&stage, finish(&stage, OP_WRITE, 0, 0)));
	read = bed_post(&stage.bed, OP_READ, stage.target, 0, BYTES, 0);
	for (; !read->done; ticks++) {
		int here = 0;

		model_pass(stage.bed.model, LATE / 10);
		for (int i = 0; i < BYTES / 8; i++)
			here += !memcmp((uint8_t *)read->iov[0].iov_base + 8 * i, read->bytes + 8 * i, 8);
		partly += here && here < BYTES / 8;
		cr_assert(ticks > 8 || !here);
	}
	cr_assert(partly && !read->failed);
	stage_end(&stage);
}

/* Past the bound writes are seen at once, and none is lost. */
Test(sim_held, no_more_than_the_bound)
{
	enum { WRITES = 6, LONG = 1 << 20 };
	struct job *writes[WRITES];
	struct region *target;
	struct stage stage;
	struct nic *nic;

	stage_open(&stage, 0);
	nic = stage.bed.party[1]->node->nic;
	target = region_open(stage.bed.party[1], (uint64_t)WRITES * LONG, 1, BED_BOTH, false, 0);
	for (uint64_t i = 0; i < WRITES; i++) {
		writes[i] = bed_post(&stage.bed, OP_WRITE, target, i * LONG, LONG, 0);
		model_pass(stage.bed.model, LATE / 16);
		cr_assert(writes[i]->done && nic->held_bytes <= LIMIT_HELD, "write %zu", (size_t)i);
	}
	cr_assert_gt(nic->held_bytes, LIMIT_HELD - LONG);
	model_pass(stage.bed.model, LATE);
	cr_assert_eq(nic->held_bytes, 0);
	stage_end(&stage);
}

/* Under load, in order: reads, atomics and messages see what was written before them. */
Test(sim_held, under_load)
{
	for (uint64_t weather = 2170; weather < 2178; weather++) {
		struct fault_plan plan = { .seed = weather, .rules = 1 };
		struct nic_config config = { .fault = &plan };
		struct workload load = { .outstanding_max = 60,
					 .big_max = 300000,
					 .silent_percent = 20,
					 .atomic_percent = 20,
					 .ring = true,
					 .sends = true,
					 .rma = true };
		struct bed bed;

		plan.rule[0] = holding(0, 20000000, UINT64_MAX);
		plan.rule[0].chance = FAULT_CERTAIN / 2;
		bed_open(&bed, weather, 2, &config, &(struct party_config){ .order = EP_ORDER_ALL });
		bed.model->writes_held = true;
		workload_init(&load, bed.model, 600);
		workload_run(&load, BED_LIMIT_NS);
		bed_close(&bed);
	}
}
