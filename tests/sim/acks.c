/* SPDX-License-Identifier: BSD-2-Clause */
/* acks.c - what an acknowledgement travels with (WIRE-61): the answer that a program gives to a message, if it gives one
 * soon; nothing comes of itself from where bytes were written. */
#include <criterion/criterion.h>

#include "tests/sim/bed.h"

struct pair {
	struct bed bed;
	struct party *a, *b;
	uint32_t acks;		/* frames that do nothing but acknowledge, so far */
};

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

/* Connected, and nothing is owed; b's program, and its NIC thread, do not look but where the test says so. */
static struct region *pair_open(struct pair *pair)
{
	struct region *region;

	bed_open(&pair->bed, 61, 2, NULL, NULL);
	pair->a = pair->bed.party[0];
	pair->b = pair->bed.party[1];
	region = region_open(pair->b, 4096, 1, BED_BOTH, false, 0);
	post(job_message(pair->a, pair->b, 8, POST_COMPLETE, 1));
	post(job_message(pair->b, pair->a, 8, POST_COMPLETE, 1));
	model_end(pair->bed.model, BED_LIMIT_NS);
	model_pass(pair->bed.model, SIM_SECOND / 100);
	pair->b->node->asleep = true;
	pair->acks = tap_count(pair->bed.world, TAP_ACK);
	return region;
}

static bool look(struct pair *pair)
{
	return driver_run(nic_driver(pair->b->node->nic));
}

/* a's op, a short one, has come to b. */
static void arrives(struct pair *pair, struct job *job)
{
	post(job);
	do
		world_step(pair->bed.world);
	while (!look(pair));
}

static uint32_t acks(struct pair *pair)
{
	return tap_count(pair->bed.world, TAP_ACK) - pair->acks;
}

static void pair_close(struct pair *pair)
{
	pair->b->node->asleep = false;
	model_end(pair->bed.model, BED_LIMIT_NS);
	bed_close(&pair->bed);
}

Test(sim_acks, of_a_message_with_its_answer)
{
	struct pair pair;
	struct job *asked;

	pair_open(&pair);
	intake_post(pair.b, 64, 1, NULL);
	arrives(&pair, asked = job_message(pair.a, pair.b, 8, POST_COMPLETE, 1));
	for (int i = 1; i < SLICE_IDLE_ACKS; i++)
		cr_assert_not(look(&pair), "nothing to do");
	post(job_message(pair.b, pair.a, 8, POST_COMPLETE, 1));
	look(&pair);
	while (!asked->done) {
		world_step(pair.bed.world);
		model_read(pair.a);
	}
	cr_assert_eq(acks(&pair), 0, "the answer did it");
	pair_close(&pair);
}

Test(sim_acks, of_a_message_without_answer)
{
	struct pair pair;

	pair_open(&pair);
	intake_post(pair.b, 64, 1, NULL);
	arrives(&pair, job_message(pair.a, pair.b, 8, POST_COMPLETE, 1));
	for (int i = 1; i < SLICE_IDLE_ACKS; i++)
		look(&pair);
	cr_assert_eq(acks(&pair), 0);
	look(&pair);
	cr_assert_eq(acks(&pair), 1);
	pair_close(&pair);
}

Test(sim_acks, of_a_write_at_once)
{
	struct pair pair;
	struct region *region = pair_open(&pair);

	arrives(&pair, job_rma(pair.a, region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	cr_assert_eq(acks(&pair), 0, "while there is anything to do, more may come");
	look(&pair);
	cr_assert_eq(acks(&pair), 1);
	pair_close(&pair);
}
