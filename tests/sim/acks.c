/* SPDX-License-Identifier: BSD-2-Clause */
/* acks.c - what an acknowledgement travels with (WIRE-61): the answer that a program gives to a message, if it gives one
 * soon; nothing comes of itself from where bytes were written. */
#include <criterion/criterion.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/bed.h"

struct pair {
	struct bed bed;
	struct party *a, *b;
	uint32_t acks; /* frames that do nothing but acknowledge, so far */
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
	pair->bed.world->weather.capacity = 2 * ACK_BYTES;
	pair->a = pair->bed.party[0];
	pair->b = pair->bed.party[1];
	region = region_open(pair->b, ACK_BYTES, 1, BED_BOTH, false, 0);
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

/* A message that a receive waits for. */
static struct job *message_arrives(struct pair *pair, uint32_t length)
{
	struct job *job = job_message(pair->a, pair->b, length, POST_COMPLETE, 1);

	intake_post(pair->b, length, 1, NULL);
	arrives(pair, job);
	return job;
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
	asked = message_arrives(&pair, 8);
	for (int i = 1; i < SLICE_IDLE_ACKS; i++)
		cr_assert_not(look(&pair), "nothing to do");
	post(job_message(pair.b, pair.a, 8, POST_COMPLETE, 1));
	look(&pair);
	pair.a->node->asleep = true; /* its NIC thread would acknowledge the answer at once */
	while (!asked->done) {
		world_step(pair.bed.world);
		driver_run(nic_driver(pair.a->node->nic));
		model_read(pair.a);
	}
	pair.a->node->asleep = false;
	cr_assert_eq(acks(&pair), 0, "the answer did it");
	pair_close(&pair);
}

Test(sim_acks, of_a_message_without_answer)
{
	struct pair pair;

	pair_open(&pair);
	message_arrives(&pair, 8);
	for (int i = 1; i < SLICE_IDLE_ACKS; i++)
		look(&pair);
	cr_assert_eq(acks(&pair), 0);
	look(&pair);
	cr_assert_eq(acks(&pair), 1);
	pair_close(&pair);
}

/* Its sender could not inject it, and most likely waits; the next, a short one, is no hurry. */
Test(sim_acks, of_a_long_message_sooner)
{
	struct pair pair;

	pair_open(&pair);
	message_arrives(&pair, LIMIT_INJECT + 1);
	for (int i = 1; i < SLICE_IDLE_ACKS_LONG; i++)
		look(&pair);
	cr_assert_eq(acks(&pair), 0);
	look(&pair);
	cr_assert_eq(acks(&pair), 1);
	message_arrives(&pair, LIMIT_INJECT);
	for (int i = 1; i < SLICE_IDLE_ACKS; i++)
		look(&pair);
	cr_assert_eq(acks(&pair), 1);
	pair_close(&pair);
}

/* A program that sends to itself and receives is done with both: MPI for Python's own tests rely on it. */
Test(sim_acks, of_a_message_to_oneself_at_once)
{
	struct pair pair;

	bed_open(&pair.bed, 63, 1, NULL, NULL);
	pair.a = pair.b = pair.bed.party[0];
	post(job_message(pair.a, pair.a, 8, POST_COMPLETE, 1));
	model_end(pair.bed.model, BED_LIMIT_NS);
	model_pass(pair.bed.model, SIM_SECOND / 100);
	pair.b->node->asleep = true;
	pair.acks = tap_count(pair.bed.world, TAP_ACK);
	message_arrives(&pair, 8);
	look(&pair);
	cr_assert_eq(acks(&pair), 1);
	pair_close(&pair);
}

/* Whose program looks but now and then. */
Test(sim_acks, of_a_message_after_a_while)
{
	struct pair pair;

	pair_open(&pair);
	message_arrives(&pair, 8);
	pair.bed.world->now_ns += TIME_FLUSH_NS;
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

/* b's side of the two's session. */
static const struct session *session_of(const struct pair *pair)
{
	return party_session(pair->b, pair->a);
}

/* So many WRITEs of `length` bytes in all, of which b executes the last in a slice that may not be the last. */
static uint32_t acks_of_writes(uint64_t writes, uint64_t length)
{
	struct pair pair;
	struct region *region = pair_open(&pair);
	uint64_t until = session_of(&pair)->rsp.seen + writes, part = length / writes / REGION_GRAIN * REGION_GRAIN;
	uint32_t count;

	for (uint64_t i = 0; i < writes; i++)
		post(job_rma(pair.a, region, OP_WRITE, i * part, i + 1 < writes ? part : length - i * part, POST_COMPLETE, 1));
	world_pass(pair.bed.world, SIM_SECOND / 100);
	while (session_of(&pair)->rsp.seen < until)
		cr_assert(look(&pair));
	count = acks(&pair);
	pair_close(&pair);
	return count;
}

/* A peer that sends much is acknowledged in between, though more may come. */
Test(sim_acks, of_many_requests)
{
	cr_assert_eq(acks_of_writes(ACK_REQUESTS - 1, 64 * ACK_REQUESTS), 0);
	cr_assert_eq(acks_of_writes(ACK_REQUESTS, 64 * ACK_REQUESTS), 1);
}

Test(sim_acks, of_many_bytes)
{
	cr_assert_eq(acks_of_writes(2, ACK_BYTES - 1), 0);
	cr_assert_eq(acks_of_writes(2, ACK_BYTES), 1);
}

static uint32_t acks_of_verdicts(int count)
{
	struct pair pair;
	uint64_t until;

	pair_open(&pair);
	until = session_of(&pair)->req.verdict_seen + (uint64_t)count;
	for (int i = 0; i < count; i++)
		post(job_refused(pair.b, pair.a, OP_WRITE, 0xdead, 0, 8, REFUSAL_UNKNOWN_KEY));
	look(&pair);
	world_pass(pair.bed.world, SIM_SECOND / 100);
	pair.acks = tap_count(pair.bed.world, TAP_ACK);
	while (session_of(&pair)->req.verdict_seen < until)
		cr_assert(look(&pair));
	count = (int)acks(&pair);
	pair_close(&pair);
	return (uint32_t)count;
}

/* Verdicts are kept until then. */
Test(sim_acks, of_many_verdicts)
{
	cr_assert_eq(acks_of_verdicts(ACK_REQUESTS - 1), 0);
	cr_assert_eq(acks_of_verdicts(ACK_REQUESTS), 1);
}

/* Of two that meet, one has done nothing that could be acknowledged. */
Test(sim_acks, of_nothing)
{
	struct region *region;
	struct bed bed;

	bed_open(&bed, 62, 2, NULL, NULL);
	region = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_eq(tap_count(bed.world, TAP_ACK), 1);
	bed_close(&bed);
}
