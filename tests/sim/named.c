/* SPDX-License-Identifier: BSD-2-Clause */
/* named.c - fi_close of a local region that ops and receives name by its descriptor: from its return on not a byte of it is read or
 * written (S176). An op or receive that names it and was not done before fails, and no other does. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/harness/bed.h"

enum { MOST = 600000, NEW = 0x99 };

struct scene {
	struct bed bed;
	struct party *a, *b;
	struct region *target;
	struct mr *mr; /* of a's, over `memory` */
	uint8_t *memory;
};

/* Of both parties, enum ep_rule. */
static uint32_t rules;

static void scene_open(struct scene *s, uint64_t seed)
{
	const struct party_config party = { .rules = rules };
	const struct nic_config config = { .digest = seed & 2 ? NIC_DIGEST_FULL : NIC_DIGEST_HEAD };
	struct mr_attr attr = { .iov_count = 1, .access = MR_ACCESS_ALL, .key = 4711, .key_bytes = 8 };
	struct iovec all;

	bed_open(&s->bed, seed, 2, &config, &party);
	s->bed.world->weather.chunk_max = 4000;
	s->bed.world->weather.capacity = 20000;
	s->a = s->bed.party[0];
	s->b = s->bed.party[1];
	s->target = region_open(s->b, MOST, 1, BED_BOTH, false, 0);
	s->memory = malloc(MOST);
	memset(s->memory, 0x11, MOST);
	all = (struct iovec){ s->memory, MOST };
	attr.iov = &all;
	node_enter(s->a->node);
	cr_assert(!mr_add(pd_regions(s->a->pd), &attr, &s->mr));
	node_leave(s->a->node);
}

/* The memory is the program's again, which puts something else there. */
static void close_region(struct scene *s)
{
	node_enter(s->a->node);
	pd_remove_region(s->a->pd, s->mr);
	node_leave(s->a->node);
	model_read(s->a);
	memset(s->memory, NEW, MOST);
}

static void scene_close(struct scene *s)
{
	intake_post(s->b, 1000, 1, NULL);
	cr_assert(!job_post(job_message(s->a, s->b, 1000, POST_COMPLETE, 1)));
	model_finish(s->bed.model, BED_LIMIT_NS);
	model_pass(s->bed.model, SIM_SECOND / 10); /* a message that does not come ends its receive */
	model_end(s->bed.model, BED_LIMIT_NS);
	for (size_t i = 0; i < MOST; i++)
		cr_assert_eq(s->memory[i], NEW, "byte %zu was written", i);
	bed_close(&s->bed);
	free(s->memory);
}

static struct job *long_job(struct scene *s, int kind, uint64_t length)
{
	struct job *job;

	switch (kind) {
	case OP_SEND:
		intake_post(s->b, MOST, 1, NULL)->may_fail = true;
		job = job_message(s->a, s->b, length, POST_COMPLETE, 1);
		break;
	case OP_ATOMIC:
		job = job_atomic(s->a, s->target, JOB_SWAP, 0, 512, POST_COMPLETE, 1);
		break;
	default:
		job = job_rma(s->a, s->target, (enum op_kind)kind, 0, length, POST_COMPLETE, 1);
	}
	return job;
}

static const uint64_t lengths[] = { 500, 30000, 200000, MOST };

/* Whether the op failed. Its bytes at the target are its own, whatever the program puts there later: the model sees to that. */
static bool op_closed(int kind, uint64_t seed)
{
	struct job *job;
	struct scene s;
	bool failed;

	scene_open(&s, seed);
	job = long_job(&s, kind, lengths[seed / 4 % 4]);
	if (kind != OP_ATOMIC)
		job_use_memory(job, s.memory);
	job->desc = (void *)(uintptr_t)s.mr->desc;
	job_may(job, REFUSAL_LOCAL_CLOSED);
	cr_assert(!job_post(job));
	model_pass(s.bed.model, rnd_below(&s.bed.world->rnd, 200000));
	close_region(&s);
	cr_assert(job->done, "it goes on");
	failed = job->failed;
	scene_close(&s);
	return failed;
}

static void some_fail(int kind, uint64_t seed)
{
	unsigned failed = 0;

	for (int i = 0; i < 80; i++)
		failed += op_closed(kind, seed + (uint64_t)i);
	cr_assert_gt(failed, 10);
}

Test(sim_named, source_of_a_write)
{
	some_fail(OP_WRITE, 3200);
}

Test(sim_named, source_of_a_message)
{
	some_fail(OP_SEND, 3300);
}

Test(sim_named, destination_of_a_read)
{
	some_fail(OP_READ, 3400);
}

Test(sim_named, buffers_of_an_atomic)
{
	some_fail(OP_ATOMIC, 3500);
}

/* Ops before and behind those that name the region, and with other descriptors, go well. */
Test(sim_named, nothing_else)
{
	for (uint64_t seed = 3600; seed < 3640; seed++) {
		struct job *job[3];
		struct scene s;

		scene_open(&s, seed);
		for (uint64_t i = 0; i < 3; i++) {
			job[i] = job_rma(s.a, s.target, OP_WRITE, i * 150016, 150000, POST_COMPLETE, 1);
			job[i]->desc = (void *)(uintptr_t)(i == 1 ? s.mr->desc : 1);
			if (i == 1) {
				job_use_memory(job[i], s.memory);
				job_may(job[i], REFUSAL_LOCAL_CLOSED);
			}
			cr_assert(!job_post(job[i]));
		}
		model_pass(s.bed.model, rnd_below(&s.bed.world->rnd, 500000));
		close_region(&s);
		model_finish(s.bed.model, BED_LIMIT_NS);
		cr_assert(!job[0]->failed && !job[2]->failed);
		cr_assert_eq(s.bed.world->cables_made, 1, "the connection did not live on");
		scene_close(&s);
	}
}

/* A receive that waits, or whose message arrives, is pulled, or was kept. The next one takes what comes next. */
static void receive_closed(uint64_t from, enum refusal_cause cause)
{
	unsigned failed = 0;

	for (uint64_t seed = from; seed < from + 80; seed++) {
		struct intake *intake;
		struct job *job;
		struct scene s;

		scene_open(&s, seed);
		intake = intake_post_named(s.a, MOST, s.memory, (void *)(uintptr_t)s.mr->desc);
		job = job_message(s.b, s.a, lengths[seed / 4 % 4], POST_COMPLETE, 1);
		job_may(job, cause);
		cr_assert(!job_post(job));
		model_pass(s.bed.model, rnd_below(&s.bed.world->rnd, 200000));
		close_region(&s);
		cr_assert(intake->done, "it goes on");
		failed += intake->failed;
		for (int i = 0; i < 2; i++) /* the first message may still need one */
			intake_post(s.a, MOST, 1, NULL);
		cr_assert(!job_post(job_message(s.b, s.a, 800, POST_COMPLETE, 1)));
		scene_close(&s);
	}
	cr_assert_gt(failed, 10);
}

Test(sim_named, receive)
{
	receive_closed(3700, REFUSAL_CLOSED);
}

/* The same of messages that take receives, in segments (WIRE-147). */
Test(sim_named, messages_that_take_receives)
{
	rules = EP_RULE_RECEIVE_FIRST;
	some_fail(OP_SEND, 3800);
	receive_closed(3900, REFUSAL_RECEIVE_BUFFER);
}
