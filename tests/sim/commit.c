/* SPDX-License-Identifier: BSD-2-Clause */
/* commit.c - WRITEs that are answered when they are durable (S133): the world checks of each that its bytes were flushed
 * before its completion and before its CQ data is heard of. */
#include <criterion/criterion.h>

#include "tests/sim/harness/bed.h"

enum { DURABLE = POST_COMPLETE | POST_COMMIT, REGION = 1 << 20 };

static void post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
}

static struct region *open_two(struct bed *bed, uint64_t seed, const struct nic_config *config)
{
	bed_open(bed, seed, 2, config, NULL);
	return region_open(bed->party[1], REGION, 1, BED_BOTH, false, 0);
}

/* WIRE-50 */
Test(sim_commit, every_flag_and_length)
{
	static const uint64_t lengths[] = { 1, 40, 64, 5000, 131072, 131073, 400000 };
	struct region *target;
	struct bed bed;

	target = open_two(&bed, 1, NULL);
	for (uint32_t flags = 0; flags < 16; flags++) {
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			if ((flags & POST_INJECT) && lengths[i] > LIMIT_INJECT)
				continue;
			post(job_rma(bed.party[0], target, OP_WRITE, 77, lengths[i], flags | POST_COMMIT, 1));
			post(job_rma(bed.party[0], target, OP_WRITE, REGION / 2, 40, POST_COMPLETE, 1));
			model_end(bed.model, BED_LIMIT_NS);
		}
	}
	cr_assert(bed.node[1]->flushes > 0);
	bed_close(&bed);
}

/* No bytes need no flush. */
Test(sim_commit, nothing_to_flush)
{
	struct region *target;
	struct bed bed;

	target = open_two(&bed, 2, NULL);
	post(job_rma(bed.party[0], target, OP_WRITE, 0, 0, DURABLE | POST_CQ_DATA, 1));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_eq(bed.node[1]->flushes, 0);
	bed_close(&bed);
}

Test(sim_commit, several_ranges_and_segments)
{
	struct region *vector;
	struct bed bed;

	open_two(&bed, 3, NULL);
	vector = region_open(bed.party[1], 200001, 7, BED_BOTH, false, 0);
	for (size_t remotes = 1; remotes <= LIMIT_IOV; remotes++) {
		struct job *job = job_rma(bed.party[0], vector, OP_WRITE, 3, 190000, DURABLE | POST_CQ_DATA, remotes);

		cr_assert(job);
		job_split_remote(job, remotes);
		post(job);
		model_end(bed.model, BED_LIMIT_NS);
	}
	bed_close(&bed);
}

/* Ops posted behind it are executed and complete; only a fence waits. */
Test(sim_commit, later_ops_do_not_wait)
{
	struct job *durable, *fenced;
	struct region *target;
	struct bed bed;

	target = open_two(&bed, 4, NULL);
	bed.node[1]->disk_stuck = true;
	durable = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE, 1);
	post(durable);
	for (uint64_t i = 1; i <= 40; i++)
		post(job_rma(bed.party[0], target, i % 2 ? OP_WRITE : OP_READ, 64 * i, 40, POST_COMPLETE, 1));
	model_pass(bed.model, SIM_SECOND);
	cr_assert_eq(bed.model->open, 1, "only the durable one is open");
	fenced = job_rma(bed.party[0], target, OP_WRITE, 64 * 50, 40, POST_COMPLETE | POST_FENCE, 1);
	post(fenced);
	model_pass(bed.model, SIM_SECOND);
	cr_assert_not(durable->done);
	cr_assert_not(fenced->done);
	bed.node[1]->disk_stuck = false;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Not more at a time than READs are granted (WIRE-25). */
Test(sim_commit, as_many_as_granted)
{
	struct region *target;
	struct bed bed;

	target = open_two(&bed, 5, NULL);
	bed.node[1]->disk_stuck = true;
	for (uint64_t i = 0; i < 2 * LIMIT_READS; i++)
		post(job_rma(bed.party[0], target, OP_WRITE, 64 * i, 8, DURABLE, 1));
	model_pass(bed.model, SIM_SECOND);
	cr_assert_eq(bed.node[1]->flushes, LIMIT_READS);
	bed.node[1]->disk_stuck = false;
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_eq(bed.node[1]->flushes, 2 * LIMIT_READS);
	bed_close(&bed);
}

Test(sim_commit, a_flush_that_fails)
{
	struct region *target;
	struct job *job;
	struct bed bed;

	target = open_two(&bed, 6, NULL);
	bed.world->weather.flush_fail_percent = 100;
	job = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE | POST_CQ_DATA, 1);
	job->may.good = false;
	post(job);
	post(job_rma(bed.party[0], target, OP_WRITE, 128, 40, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert(node_logged(bed.node[1], "EIO"));
	bed.world->weather.flush_fail_percent = 0;
	post(job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE | POST_CQ_DATA, 1));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* An op that failed has not used up a region for one op; one that is being flushed has. */
Test(sim_commit, a_region_for_one_op)
{
	struct region *target;
	struct job *job;
	struct bed bed;

	target = open_two(&bed, 12, NULL);
	region_make_single(target);
	bed.world->weather.flush_fail_percent = 100;
	job = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE, 1);
	job->may.good = false;
	post(job);
	model_end(bed.model, BED_LIMIT_NS);
	bed.world->weather.flush_fail_percent = 0;
	bed.node[1]->disk_stuck = true;
	job = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE, 1);
	job->may = (struct outcomes){ .good = true };
	post(job);
	model_pass(bed.model, SIM_SECOND);
	job = job_rma(bed.party[0], target, OP_WRITE, 128, 40, POST_COMPLETE, 1);
	job->may = (struct outcomes){ 0 };
	job_may(job, REFUSAL_SPENT);
	post(job);
	model_pass(bed.model, SIM_SECOND);
	bed.node[1]->disk_stuck = false;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Counters that are bound to the region count it, once; the world compares. Reading need not be allowed for it. */
Test(sim_commit, counters_and_rights)
{
	struct region *gated, *write_only;
	struct bed bed;

	open_two(&bed, 13, NULL);
	gated = region_open(bed.party[1], 300000, 1, BED_BOTH, false, 0);
	region_make_gated(gated);
	region_step(gated);
	write_only = region_open(bed.party[1], 4096, 1, MR_REMOTE_WRITE, false, 0);
	for (uint64_t i = 0; i < 5; i++) {
		post(job_rma(bed.party[0], gated, OP_WRITE, 0, i * 50000, DURABLE, 1));
		post(job_rma(bed.party[0], write_only, OP_WRITE, 0, 40, DURABLE, 1));
		model_end(bed.model, BED_LIMIT_NS);
	}
	bed_close(&bed);
}

/* Refused before a byte is placed; the region takes other writes. */
Test(sim_commit, a_region_that_is_not_persistent)
{
	struct region *target;
	struct bed bed;

	target = open_two(&bed, 7, NULL);
	target->mr->persistent = false;
	for (uint64_t length = 0; length < 300000; length += 140000) {
		struct job *job = job_rma(bed.party[0], target, OP_WRITE, 0, length, DURABLE, 1);

		cr_assert(job);
		job->may.good = false;
		job_may(job, REFUSAL_NOT_PERSISTENT);
		post(job);
		post(job_rma(bed.party[0], target, OP_WRITE, REGION / 2, 40, POST_COMPLETE, 1));
		model_end(bed.model, BED_LIMIT_NS);
	}
	cr_assert_eq(bed.node[1]->flushes, 0);
	bed_close(&bed);
}

/* Answered as closed at once, and never again. */
Test(sim_commit, closing_the_region_meanwhile)
{
	struct region *target, *other;
	struct job *durable, *beside;
	struct bed bed;

	target = open_two(&bed, 8, NULL);
	other = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	bed.node[1]->disk_stuck = true;
	durable = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE | POST_CQ_DATA, 1);
	beside = job_rma(bed.party[0], other, OP_WRITE, 0, 40, DURABLE, 1);
	post(durable);
	post(beside);
	model_pass(bed.model, SIM_SECOND);
	durable->may.good = false;
	region_end(target);
	model_pass(bed.model, SIM_SECOND);
	cr_assert(durable->done && durable->failed);
	cr_assert_not(beside->done);
	bed.node[1]->disk_stuck = false;
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert(beside->done && !beside->failed);
	bed_close(&bed);
}

/* The thread that closes the region sends the answer, though no thread polls there. */
Test(sim_commit, closing_the_region_and_doing_nothing_else)
{
	struct region *target;
	struct job *durable;
	struct bed bed;

	target = open_two(&bed, 15, NULL);
	bed.node[1]->disk_stuck = true;
	durable = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE, 1);
	post(durable);
	model_pass(bed.model, SIM_SECOND);
	bed.node[1]->asleep = true;
	durable->may.good = false;
	region_end(target);
	while (!durable->done && model_step(bed.model))
		;
	cr_assert(durable->done && durable->failed);
	bed.node[1]->asleep = bed.node[1]->disk_stuck = false;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Either side may end: the other is told, and the flush comes back to no endpoint. */
Test(sim_commit, ends_of_either_side)
{
	for (int who = 0; who < 2; who++) {
		struct region *target;
		struct job *durable;
		struct bed bed;

		target = open_two(&bed, 9, NULL);
		bed.node[1]->disk_stuck = true;
		durable = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE, 1);
		job_may(durable, REFUSAL_PEER_GONE);
		job_may(durable, REFUSAL_CANCELLED);
		durable->clean = false;
		post(durable);
		model_pass(bed.model, SIM_SECOND);
		party_close(bed.party[who]);
		bed.node[1]->disk_stuck = false;
		model_end(bed.model, BED_LIMIT_NS);
		cr_assert(durable->done && durable->failed);
		bed_close(&bed);
	}
}

/* Nor is the answer sent to an endpoint that has come in that peer's place, with a session of the same numbers. */
Test(sim_commit, ends_before_another_begins)
{
	struct party_config again = { 0 };
	struct region *target;
	struct job *durable;
	struct bed bed;

	target = open_two(&bed, 15, NULL);
	again.port = party_port(bed.party[0]);
	bed.node[1]->disk_stuck = true;
	durable = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE, 1);
	job_may(durable, REFUSAL_PEER_GONE);
	job_may(durable, REFUSAL_CANCELLED);
	durable->clean = false;
	post(durable);
	model_pass(bed.model, SIM_SECOND);
	party_close(bed.party[0]);
	model_pass(bed.model, SIM_SECOND);
	bed.party[0] = party_open(bed.model, bed.node[0], &again);
	bed_meet(&bed);
	post(job_rma(bed.party[0], target, OP_WRITE, 64, 40, DURABLE, 1));
	model_pass(bed.model, SIM_SECOND);
	bed.node[1]->disk_stuck = false;
	post(job_rma(bed.party[0], target, OP_WRITE, 128, 40, DURABLE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* The answer to a running flush is owed: a target that closes waits for it. */
Test(sim_commit, closing_waits_for_the_flush)
{
	struct region *target;
	struct job *durable;
	struct bed bed;

	target = open_two(&bed, 11, NULL);
	bed.world->weather.flush_max_ns = TIME_BYE_NS / 2;
	durable = job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE, 1);
	post(durable);
	while (!bed.node[1]->flushes)
		model_step(bed.model);
	cr_assert_not(durable->done);
	party_close(bed.party[1]);
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert(durable->done && !durable->failed);
	bed_close(&bed);
}

/* The room for its CQ data was promised before its first byte, and is there when it is durable, however full the queue. */
Test(sim_commit, data_for_a_queue_that_is_full)
{
	struct party_config party = { .cq_size = 1 };
	struct region *target;
	struct bed bed;

	bed_open(&bed, 14, 2, NULL, &party);
	target = region_open(bed.party[1], REGION, 1, BED_BOTH, false, 0);
	bed.party[1]->deaf = true;
	bed.node[1]->disk_stuck = true;
	post(job_rma(bed.party[0], target, OP_WRITE, 0, 40, DURABLE | POST_CQ_DATA, 1));
	model_pass(bed.model, SIM_SECOND / 10);
	for (uint64_t i = 1; i <= 8; i++)
		post(job_rma(bed.party[0], target, OP_WRITE, 64 * i, 40, POST_COMPLETE | POST_CQ_DATA, 1));
	model_pass(bed.model, SIM_SECOND / 10);
	bed.node[1]->disk_stuck = false;
	model_pass(bed.model, SIM_SECOND / 10);
	bed.party[1]->deaf = false;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* An endpoint that addresses itself. */
Test(sim_commit, to_oneself)
{
	struct region *own;
	struct bed bed;

	open_two(&bed, 10, NULL);
	own = region_open(bed.party[0], 300000, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], own, OP_WRITE, 0, 200000, DURABLE | POST_CQ_DATA, 1));
	post(job_rma(bed.party[0], own, OP_WRITE, 200064, 40, DURABLE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_eq(bed.node[0]->flushes, 2);
	bed_close(&bed);
}
