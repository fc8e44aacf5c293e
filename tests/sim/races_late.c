/* SPDX-License-Identifier: BSD-2-Clause */
/* races_late.c - accesses of peers that are executed late, and completions that are (emu/nic/ops/races.h): what has to be seen
 * before something else is, is. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "tests/sim/race_stage.h"

/* The bytes of a write that are to come by store(), and come late. */
static void late_open(struct stage *stage, uint32_t order)
{
	stage_open(stage, LATE, order);
	told.late_ns = LATE;
	told.apart = true;
}

Test(sim_races_late, bytes_come_late)
{
	static const bool aparts[] = { true, false };

	for (size_t i = 0; i < 2; i++) {
		struct stage stage;
		struct job *job;

		late_open(&stage, EP_ORDER_ALL);
		told.apart = aparts[i];
		job = stage_post(&stage, OP_WRITE, 0, 0);
		cr_assert(told.arrived == 1 && !told.executed && !stage_has(&stage, job->bytes, 0), "%zu", i);
		model_pass(stage.bed.model, LATE);
		cr_assert(told.executed == 1 && !told.closed && stage_has(&stage, job->bytes, 0) && !job->done, "%zu", i);
		model_pass(stage.bed.model, LATE);
		cr_assert(told.closed == 1 && !told.closed_first && job->done, "%zu", i);
		stage_end(&stage);
	}
}

/* What is acknowledged behind it, though it has come before, unless an order is asked for (WIRE-192). */
Test(sim_races_late, others_are_answered_before_it)
{
	static const struct {
		enum op_kind kind;
		uint32_t order;
		bool apart;
	} rows[] = {
		{ OP_WRITE, 0, true },  { OP_WRITE, EP_ORDER_RMA_WAW, false },     { OP_WRITE, EP_ORDER_RMA_RAW, false },
		{ OP_ATOMIC, 0, true }, { OP_ATOMIC, EP_ORDER_ATOMIC_WAW, false }, { OP_READ, 0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *first, *second;
		struct stage stage;

		stage_open(&stage, LATE, rows[i].order);
		first = stage_post(&stage, rows[i].kind, 0, 0);
		told.hold_ns = 0;
		second = stage_post(&stage, OP_WRITE, 1, 0);
		cr_assert(!first->done && second->done == rows[i].apart && told.open == 1, "row %zu", i);
		model_pass(stage.bed.model, LATE);
		cr_assert(first->done && second->done && !first->failed && told.closed == 1, "row %zu", i);
		stage_end(&stage);
	}
}

/* Each is open for its own time. */
Test(sim_races_late, one_that_is_open_for_less_is_answered_first)
{
	struct job *first, *second;
	struct stage stage;

	stage_open(&stage, LATE, 0);
	first = stage_post(&stage, OP_WRITE, 0, 0);
	told.hold_ns = LATE / 4;
	second = stage_post(&stage, OP_WRITE, 1, 0);
	model_pass(stage.bed.model, LATE / 4);
	cr_assert(second->done && !first->done && told.open == 1);
	model_pass(stage.bed.model, LATE);
	cr_assert(first->done && told.closed == 2);
	stage_end(&stage);
}

/* Past the bound a write is answered in its turn. */
Test(sim_races_late, no_more_are_answered_apart_than_so_many)
{
	enum { MOST = LIMIT_VERDICTS / 4, ALMOST = MOST - 16, WRITES = MOST + 16, WIDE = REGION_GRAIN };
	static struct job *writes[WRITES];
	struct party_config party = { .caps = STAGE_CAPS, .tx_size = WRITES + 1 };
	struct nic_config config = { .races = &stage_races, .watch = &stage_watch };
	struct region *target;
	struct stage stage;

	memset(&told, 0, sizeof(told));
	bed_open(&stage.bed, 2171, 2, &config, &party);
	target = region_open(stage.bed.party[1], WRITES * WIDE, 1, BED_BOTH, false, 0);
	for (uint64_t i = 0; i < WRITES; i++) {
		bool last = i == ALMOST || i == WRITES - 1;

		if (last || i % 8 == 0) /* what was said of those before is acknowledged */
			model_pass(stage.bed.model, LATE / 512);
		told.hold_ns = last ? 0 : LATE;
		writes[i] = bed_post(&stage.bed, OP_WRITE, target, i * WIDE, WIDE, 0);
		if (last)
			model_pass(stage.bed.model, LATE / 64);
	}
	cr_assert(writes[ALMOST]->done && !writes[MOST]->done && !writes[WRITES - 1]->done);
	model_pass(stage.bed.model, 2 * LATE);
	for (int i = 0; i < WRITES; i++)
		cr_assert(writes[i]->done && !writes[i]->failed, "write %d", i);
	cr_assert(told.arrived == WRITES && told.open == 0);
	stage_end(&stage);
}

/* Its source goes, and is the program's from then on; what is told of it later is of no op any more. */
Test(sim_races_late, its_source_is_closed_before_its_answer)
{
	uint8_t memory[BYTES] = { 0 };
	struct iovec all = { memory, BYTES };
	struct mr_attr attr = { .iov = &all, .iov_count = 1, .access = MR_ACCESS_ALL, .key = 4711, .key_bytes = 8 };
	struct job *job, *next;
	struct stage stage;
	struct party *party;
	struct mr *mr;

	stage_open(&stage, LATE, 0);
	party = stage.bed.party[0];
	node_enter(party->node);
	cr_assert(!mr_add(pd_regions(party->pd), &attr, &mr));
	node_leave(party->node);
	job = job_rma(party, stage.target, OP_WRITE, 0, BYTES, POST_COMPLETE, 1);
	job_use_memory(job, memory);
	job->desc = (void *)(uintptr_t)mr->desc;
	job_may(job, REFUSAL_LOCAL_CLOSED);
	cr_assert(!job_post(job));
	model_pass(stage.bed.model, LATE / 8);
	cr_assert(!job->done && told.executed == 1);
	node_enter(party->node);
	pd_remove_region(party->pd, mr);
	node_leave(party->node);
	model_read(party);
	cr_assert(job->done && job->failed);
	next = stage_post(&stage, OP_WRITE, 1, 0);
	model_pass(stage.bed.model, 2 * LATE);
	cr_assert(next->done && !next->failed && told.closed == 2);
	stage_end(&stage);
}

/* It was executed: that its answer never comes is no failure. */
Test(sim_races_late, the_target_ends_before_its_answer)
{
	struct stage stage;
	struct job *job;

	stage_open(&stage, 8 * LATE, 0);
	job = stage_post(&stage, OP_WRITE, 0, 0);
	cr_assert(!job->done && stage_has(&stage, job->bytes, 0));
	model_kill(stage.bed.model, stage.bed.party[1]->node);
	model_pass(stage.bed.model, BED_LIMIT_NS);
	cr_assert(job->done && !job->failed);
	bed_close(&stage.bed);
}

/* What comes behind it waits only if the order says so: then the bytes are seen before. */
Test(sim_races_late, others_pass_a_late_write)
{
	static const struct {
		enum op_kind kind;
		uint32_t order;
		bool passes;
	} rows[] = {
		{ OP_SEND, 0, true },  { OP_SEND, EP_ORDER_SAW, false },
		{ OP_WRITE, 0, true }, { OP_WRITE, EP_ORDER_RMA_WAW, false },
		{ OP_READ, 0, true },  { OP_READ, EP_ORDER_RMA_RAW, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage stage;
		struct job *job;

		late_open(&stage, rows[i].order);
		job = stage_post(&stage, OP_WRITE, 0, 0);
		told.late_ns = 0;
		told.hold_ns = 0;
		stage_post(&stage, rows[i].kind, 1, 0);
		cr_assert_eq(stage_has(&stage, job->bytes, 0), !rows[i].passes, "row %zu", i);
		cr_assert_eq(told.closed_first, 0, "row %zu", i);
		model_pass(stage.bed.model, 2 * LATE);
		cr_assert(stage_has(&stage, job->bytes, 0) && job->done, "row %zu", i);
		stage_end(&stage);
	}
}

Test(sim_races_late, an_atomic_comes_late)
{
	struct stage stage;
	struct job *job;

	late_open(&stage, 0);
	told.apart = false;
	job = stage_post(&stage, OP_ATOMIC, 0, 0);
	cr_assert(told.arrived == 1 && !told.due && !told.executed && !job->done);
	model_pass(stage.bed.model, LATE);
	cr_assert(told.due == 1 && told.executed == 1 && !job->done);
	model_pass(stage.bed.model, LATE);
	cr_assert(job->done && told.closed == 1 && !told.closed_first);
	stage_end(&stage);
}

/* A region that ends for peers has what was late for it. */
Test(sim_races_late, a_region_ends_behind_what_is_late)
{
	struct stage stage;
	struct job *job;

	late_open(&stage, 0);
	job = stage_post(&stage, OP_WRITE, 0, 0);
	cr_assert(!stage_has(&stage, job->bytes, 0));
	region_end(stage.target);
	cr_assert(told.executed == 1 && told.closed == 1 && !told.closed_first && told.stored == BYTES);
	model_pass(stage.bed.model, 2 * LATE);
	cr_assert(job->done && !job->failed);
	stage_end(&stage);
}

Test(sim_races_late, a_region_ends_beside_another)
{
	struct region *other;
	struct stage stage;
	struct job *jobs[2];

	late_open(&stage, 0);
	other = region_open(stage.bed.party[1], BYTES, 1, BED_BOTH, false, 0);
	jobs[0] = stage_post(&stage, OP_WRITE, 0, 0);
	jobs[1] = bed_post(&stage.bed, OP_WRITE, other, 0, BYTES, 0);
	model_pass(stage.bed.model, LATE / 8);
	cr_assert(told.open == 2 && !told.executed);
	region_end(other);
	cr_assert(told.executed >= 1 && !told.closed_first);
	model_pass(stage.bed.model, 2 * LATE);
	cr_assert(jobs[0]->done && jobs[1]->done && stage_has(&stage, jobs[0]->bytes, 0));
	cr_assert(told.executed == 2 && told.closed == 2);
	stage_end(&stage);
}

/* Past the bound a write waits as it is, and what comes behind it with it. */
Test(sim_races_late, no_more_is_late_than_so_much)
{
	enum { LONG = 1 << 15, WRITES = LIMIT_HELD / LONG + 2 };
	struct job *writes[WRITES], *message;
	struct region *target;
	struct stage stage;
	struct nic *nic;

	late_open(&stage, 0);
	nic = stage.bed.party[1]->node->nic;
	target = region_open(stage.bed.party[1], (uint64_t)WRITES * LONG, 1, BED_BOTH, false, 0);
	for (uint64_t i = 0; i < WRITES; i++) {
		writes[i] = bed_post(&stage.bed, OP_WRITE, target, i * LONG, LONG, 0);
		model_pass(stage.bed.model, LATE / 512);
		cr_assert(!writes[i]->done && nic->held_bytes <= LIMIT_HELD, "write %zu", (size_t)i);
	}
	cr_assert_gt(nic->held_bytes, LIMIT_HELD - LONG);
	told.hold_ns = told.late_ns = 0;
	message = bed_post(&stage.bed, OP_SEND, NULL, 0, BYTES, 0);
	model_pass(stage.bed.model, LATE / 64);
	cr_assert(!message->done && !told.executed);
	model_pass(stage.bed.model, 4 * LATE);
	for (int i = 0; i < WRITES; i++)
		cr_assert(writes[i]->done && !writes[i]->failed, "write %d", i);
	cr_assert(message->done && told.arrived >= WRITES && told.executed == told.closed && nic->held_bytes == 0);
	stage_end(&stage);
}

/* A key that is good for one access is used up by one that is late, too. */
Test(sim_races_late, a_key_for_one_access)
{
	struct region *once;
	struct stage stage;
	struct job *job;

	late_open(&stage, 0);
	once = region_open(stage.bed.party[1], BYTES, 1, BED_BOTH, true, 0);
	job = bed_post(&stage.bed, OP_WRITE, once, 0, BYTES, 0);
	model_pass(stage.bed.model, LATE / 8);
	cr_assert(told.arrived == 1 && !job->done);
	model_pass(stage.bed.model, 4 * LATE);
	cr_assert(job->done && !job->failed && told.executed == 1 && told.closed == 1);
	stage_end(&stage);
}

/* With cuts at any byte, each write is seen once, and what comes again is told of as another. */
Test(sim_races_late, over_cuts)
{
	for (uint64_t at = 1; at < 1200; at += 13) {
		struct stage stage;
		struct job *jobs[4];

		stage_open(&stage, LATE / 100, 0);
		told.late_ns = LATE / 100;
		told.apart = at % 3;
		world_fault(stage.bed.world, FAULT_CUT, 0, at % 2, at);
		jobs[0] = bed_post(&stage.bed, OP_WRITE, stage.target, 0, BYTES, 0);
		jobs[1] = bed_post(&stage.bed, OP_ATOMIC, stage.target, BYTES, BYTES, 0);
		jobs[2] = bed_post(&stage.bed, OP_WRITE, stage.target, 2 * BYTES, BYTES, 0);
		jobs[3] = bed_post(&stage.bed, OP_SEND, NULL, 0, BYTES, 0);
		model_pass(stage.bed.model, 4 * LATE);
		for (int i = 0; i < 4; i++)
			cr_assert(jobs[i]->done && !jobs[i]->failed, "job %d, cut at %d", i, (int)at);
		cr_assert(stage_has(&stage, jobs[0]->bytes, 0) && stage_has(&stage, jobs[2]->bytes, 2), "cut at %d", (int)at);
		cr_assert_eq(told.executed + told.closed_first, told.closed, "cut at %d", (int)at);
		stage_end(&stage);
	}
}

/* One whose bytes were stored is told of late, and others may be told of before. */
Test(sim_races_late, completions_come_late)
{
	static const enum op_kind kinds[] = { OP_WRITE, OP_READ, OP_ATOMIC };

	for (size_t i = 0; i < 3; i++) {
		struct job *first, *second;
		struct stage stage;

		stage_open(&stage, 0, 0);
		told.completes_ns = LATE;
		first = stage_post(&stage, kinds[i], 0, 0);
		told.completes_ns = 0;
		second = stage_post(&stage, OP_READ, 1, 0);
		cr_assert(!first->done && second->done, "kind %zu", i);
		model_pass(stage.bed.model, LATE);
		cr_assert(first->done && !first->failed, "kind %zu", i);
		stage_end(&stage);
	}
}
