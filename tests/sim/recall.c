/* SPDX-License-Identifier: BSD-2-Clause */
/* recall.c - fi_cancel of ops: those of which no byte has left end at once and touch nothing, all others as they would. */
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/sim/harness/bed.h"

enum { LENGTH = 3000, RANGES = 3, KINDS = 4, AGAIN = 16384, REGION = 2 * AGAIN };

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

static struct job *post_one(struct bed *bed, struct region *target, uint64_t at, int kind)
{
	struct job *job;

	switch (kind) {
	case OP_SEND:
		intake_post(bed->party[1], LENGTH, 1, NULL);
		return post(job_message(bed->party[0], bed->party[1], LENGTH, POST_COMPLETE, 1));
	case OP_ATOMIC:
		return post(job_atomic(bed->party[0], target, JOB_FETCH_SUM, at, 64, POST_COMPLETE, 1));
	default:
		job = job_rma(bed->party[0], target, (enum op_kind)kind, at + (uint64_t)kind * 4096, LENGTH, POST_COMPLETE, 1);
		job_split_remote(job, RANGES);
		return post(job);
	}
}

static int cancel(struct party *party, struct job *job)
{
	int rc;

	job_may(job, REFUSAL_CANCELLED);
	node_enter(party->node);
	rc = ep_cancel(party->ep, job);
	node_leave(party->node);
	model_read(party);
	return rc;
}

/* The dial is not answered yet. */
Test(sim_recall, not_connected)
{
	struct job *job[KINDS], *again[KINDS];
	struct region *target;
	struct bed bed;

	bed_open(&bed, 3100, 2, NULL, NULL);
	target = region_open(bed.party[1], REGION, 1, BED_BOTH, false, 0);
	node_cut_off(bed.node[1], true);
	for (int kind = 0; kind < KINDS; kind++)
		job[kind] = post_one(&bed, target, 0, kind);
	model_pass(bed.model, SIM_SECOND);
	for (int kind = KINDS - 1; kind >= 0; kind--) {
		job[kind]->may.good = false;
		cr_assert_eq(cancel(bed.party[0], job[kind]), 0);
		cr_assert(job[kind]->done && job[kind]->failed, "kind %d", kind);
		cr_assert_eq(cancel(bed.party[0], job[kind]), -ENOENT);
	}
	node_cut_off(bed.node[1], false);
	for (int kind = 0; kind < KINDS; kind++)
		again[kind] = post_one(&bed, target, AGAIN, kind);
	model_end(bed.model, BED_LIMIT_NS);
	for (int kind = 0; kind < KINDS; kind++)
		cr_assert(!again[kind]->failed, "kind %d", kind);
	bed_close(&bed);
}

/* All of it is on its way: nothing is taken back. */
Test(sim_recall, under_way)
{
	struct job *job[KINDS];
	struct region *target;
	struct bed bed;

	bed_open(&bed, 3101, 2, NULL, NULL);
	target = region_open(bed.party[1], REGION, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], target, OP_WRITE, 19000, 8, POST_COMPLETE, 1));
	model_finish(bed.model, BED_LIMIT_NS);
	node_cut_off(bed.node[1], true);
	for (int kind = 0; kind < KINDS; kind++)
		job[kind] = post_one(&bed, target, 0, kind);
	model_pass(bed.model, SIM_SECOND / 10);
	for (int kind = 0; kind < KINDS; kind++) {
		cr_assert_eq(cancel(bed.party[0], job[kind]), -ENOENT, "kind %d", kind);
		cr_assert(!job[kind]->done);
	}
	node_cut_off(bed.node[1], false);
	model_end(bed.model, BED_LIMIT_NS);
	for (int kind = 0; kind < KINDS; kind++)
		cr_assert(!job[kind]->failed, "kind %d", kind);
	bed_close(&bed);
}

/* Ops that the peer's grants let go are under way, those that wait for them are not. */
Test(sim_recall, behind_the_window)
{
	enum { READS = LIMIT_READS + 8 };
	struct job *job[READS];
	struct region *target;
	struct bed bed;

	bed_open(&bed, 3102, 2, NULL, NULL);
	target = region_open(bed.party[1], (READS + 1) * 64, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], target, OP_WRITE, READS * 64, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	node_cut_off(bed.node[1], true);
	for (uint64_t i = 0; i < READS; i++)
		job[i] = post(job_rma(bed.party[0], target, OP_READ, i * 64, 8, POST_COMPLETE, 1));
	model_pass(bed.model, SIM_SECOND / 10);
	for (int i = 0; i < READS; i++)
		cr_assert_eq(cancel(bed.party[0], job[i]), i < LIMIT_READS ? -ENOENT : 0, "read %d", i);
	node_cut_off(bed.node[1], false);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* At any moment, through cuts: each op ends once. */
static unsigned at_any_moment(uint64_t seed)
{
	enum { JOBS = 24 };
	struct job *job[JOBS];
	struct region *target;
	unsigned cancelled = 0;
	struct bed bed;

	bed_open(&bed, seed, 2, NULL, NULL);
	bed.world->weather.cut_mean = 20000;
	bed.world->weather.cuts_left = 5;
	bed.world->weather.capacity = 3000;
	bed.model->counts_exact = false;
	target = region_open(bed.party[1], JOBS * 1024, 1, BED_BOTH, false, 0);
	for (uint64_t i = 0; i < JOBS; i++)
		job[i] = post(job_rma(bed.party[0], target, i % 3 ? OP_WRITE : OP_READ, i * 1024, 900, POST_COMPLETE, 2));
	for (int i = JOBS - 1; i >= 0; i -= 2) {
		int rc;

		model_pass(bed.model, rnd_below(&bed.world->rnd, 20000));
		if (job[i]->done)
			continue;
		rc = cancel(bed.party[0], job[i]);
		cr_assert(rc ? rc == -ENOENT : job[i]->done && job[i]->failed);
		cancelled += !rc;
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
	return cancelled;
}

Test(sim_recall, at_any_moment)
{
	unsigned cancelled = 0;

	for (uint64_t seed = 3110; seed < 3170; seed++)
		cancelled += at_any_moment(seed);
	cr_assert_gt(cancelled, 60);
	cr_assert_lt(cancelled, 60 * 12);
}
