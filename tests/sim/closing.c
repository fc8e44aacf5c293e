/* SPDX-License-Identifier: BSD-2-Clause */
/* closing.c - fi_close of a region in mid transfer: after it not a byte changes, and only its own ops end (S178). */
#include <criterion/criterion.h>

#include "tests/sim/harness/bed.h"

enum { BIG = 1 << 20 };

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

static void open_bed(struct bed *bed, uint64_t seed)
{
	const struct nic_config config = { .digest = seed & 2 ? NIC_DIGEST_FULL : NIC_DIGEST_HEAD };

	bed_open(bed, seed, 2, &config, NULL);
	bed->world->weather.chunk_max = 4000;
	bed->world->weather.capacity = 20000;
}

/* How many of the runs below ended the op with a refusal in mid transfer. */
static unsigned close_in_the_middle(enum op_kind kind, uint64_t seed, bool virtual_addr)
{
	struct region *target, *other;
	struct bed bed;
	struct job *job;
	unsigned failed;

	open_bed(&bed, seed);
	target = region_open(bed.party[1], BIG, 1, BED_BOTH, virtual_addr, 0);
	other = region_open(bed.party[1], BIG, 3, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], other, kind, 0, BIG / 4, POST_COMPLETE, 1));
	job = post(job_rma(bed.party[0], target, kind, 0, BIG, POST_COMPLETE, 1));
	post(job_rma(bed.party[0], other, kind, BIG / 2, BIG / 4, POST_COMPLETE, 1));
	model_pass(bed.model, 100000 + rnd_below(&bed.world->rnd, 4000000));
	region_end(target);
	model_end(bed.model, BED_LIMIT_NS);
	failed = job->failed;
	post(job_rma(bed.party[0], other, OP_WRITE, 0, 1000, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_eq(bed.world->cables_made, 1, "the connection did not live on");
	bed_close(&bed);
	return failed;
}

Test(sim_closing, target_of_a_write)
{
	unsigned failed = 0;

	for (uint64_t seed = 900; seed < 980; seed++)
		failed += close_in_the_middle(OP_WRITE, seed, seed & 1);
	cr_assert_gt(failed, 10);
}

Test(sim_closing, source_of_a_read)
{
	unsigned failed = 0;

	for (uint64_t seed = 1100; seed < 1180; seed++)
		failed += close_in_the_middle(OP_READ, seed, seed & 1);
	cr_assert_gt(failed, 10);
}

/* Closed and registered again under the same key: what was meant for the old one does not touch the new one. */
Test(sim_closing, same_key_again)
{
	for (uint64_t seed = 980; seed < 1020; seed++) {
		struct region *target;
		struct bed bed;

		open_bed(&bed, seed);
		target = region_open(bed.party[1], BIG, 1, BED_BOTH, false, 7);
		post(job_rma(bed.party[0], target, OP_WRITE, 0, BIG, POST_COMPLETE, 2));
		model_pass(bed.model, rnd_below(&bed.world->rnd, 3000000));
		region_end(target);
		if (seed & 1)
			model_pass(bed.model, rnd_below(&bed.world->rnd, 1000000));
		region_again(target, BED_BOTH);
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* Many regions come and go while all parties use them, also through cuts. */
static void churn(uint64_t seed, uint64_t cut_mean)
{
	struct workload load;
	struct bed bed;

	bed_open(&bed, seed, 3, NULL, NULL);
	bed.world->weather.cut_mean = cut_mean;
	bed.world->weather.cuts_left = 30;
	bed.model->counts_exact = !cut_mean;
	workload_init(&load, bed.model, 1500);
	load.sends = false;
	load.big_max = 90000;
	load.churn_permille = 60;
	workload_run(&load, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_closing, churn)
{
	churn(1020, 0);
}

Test(sim_closing, churn_and_cuts)
{
	churn(1021, 60000);
}
