/* SPDX-License-Identifier: BSD-2-Clause */
/* races_late.c - accesses of peers that are executed late, and completions that are (emu/nic/ops/races.h): what has to be seen
 * before something else is, is. */
#include <criterion/criterion.h>

#include "emu/nic/device/ep.h"
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
	cr_assert(told.arrived == 1 && !told.executed && !job->done);
	model_pass(stage.bed.model, LATE);
	cr_assert(told.executed == 1 && !job->done);
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
