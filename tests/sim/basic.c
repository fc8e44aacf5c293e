/* SPDX-License-Identifier: BSD-2-Clause */
/* basic.c - two NICs and no faults: every kind of op, every kind of size, every flag, and every refusal. */
#include <criterion/criterion.h>

#include "tests/sim/harness/bed.h"

static const uint64_t lengths[] = {
	0, 1, 7, 8, 63, 64, 255, 256, 257, 4096, 65535, 65536, 65537, 131071, 131072, 131073, 300000, 1048577, 3000001,
};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]), LONGEST = 3000001 };

static void post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
}

Test(sim_basic, every_kind_and_length)
{
	struct bed bed;
	struct region *target;

	bed_open(&bed, 1, 2, NULL, NULL);
	target = region_open(bed.party[1], LONGEST + 64, 1, BED_BOTH, false, 0);
	for (unsigned i = 0; i < LENGTHS; i++) {
		intake_post(bed.party[1], lengths[i], 1, NULL);
		post(job_rma(bed.party[0], target, OP_WRITE, 0, lengths[i], POST_COMPLETE, 1));
		model_finish(bed.model, BED_LIMIT_NS);
		post(job_rma(bed.party[0], target, OP_READ, 5, lengths[i], POST_COMPLETE, 1));
		post(job_message(bed.party[0], bed.party[1], lengths[i], POST_COMPLETE, 1));
		model_end(bed.model, BED_LIMIT_NS);
	}
	bed_close(&bed);
}

Test(sim_basic, every_flag)
{
	struct bed bed;
	struct region *target;

	bed_open(&bed, 2, 2, NULL, NULL);
	target = region_open(bed.party[1], 65536, 1, BED_BOTH, true, 0);
	for (uint32_t flags = 0; flags < 16; flags++) {
		uint64_t length = 1 + 15 * flags;

		post(job_rma(bed.party[0], target, OP_WRITE, flags * 1024, length, flags, 1));
		post(job_rma(bed.party[0], target, OP_READ, 32768 + flags * 1024, length, flags & (POST_COMPLETE | POST_FENCE), 1));
		post(job_message(bed.party[0], bed.party[1], length, flags, 1));
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Every number of local pieces against every number of remote ranges, over a region of several segments. */
Test(sim_basic, vectored)
{
	struct bed bed;
	struct region *target;

	bed_open(&bed, 3, 2, NULL, NULL);
	target = region_open(bed.party[1], 200001, 7, BED_BOTH, false, 77);
	for (size_t local = 1; local <= LIMIT_IOV; local++)
		for (size_t remote = 1; remote <= LIMIT_IOV; remote++)
			for (int kind = OP_WRITE; kind <= OP_READ; kind++) {
				uint64_t length = 9 + rnd_below(&bed.world->rnd, remote == 3 ? 150000 : 3000);
				uint64_t offset = rnd_below(&bed.world->rnd, 200001 - length);
				struct job *job = job_rma(bed.party[0], target, (enum op_kind)kind, offset, length, POST_COMPLETE,
							  local);

				cr_assert(job);
				job_split_remote(job, remote);
				post(job);
				model_finish(bed.model, BED_LIMIT_NS);
			}
	for (size_t pieces = 1; pieces <= LIMIT_IOV; pieces++) {
		intake_post(bed.party[1], 70000, LIMIT_IOV + 1 - pieces, NULL);
		intake_post(bed.party[1], 700, pieces, NULL);
		post(job_message(bed.party[0], bed.party[1], 60000, POST_COMPLETE, pieces));
		post(job_message(bed.party[0], bed.party[1], 600, POST_COMPLETE, pieces));
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Each refusal has its cause, changes nothing, and disturbs none of the good ops around it (WIRE-57). */
Test(sim_basic, refusals)
{
	struct bed bed;
	struct region *both, *read_only, *write_only, *closed;
	struct party *a, *b;

	bed_open(&bed, 4, 2, NULL, NULL);
	a = bed.party[0];
	b = bed.party[1];
	both = region_open(b, 4096, 1, BED_BOTH, false, 0);
	read_only = region_open(b, 4096, 1, MR_REMOTE_READ, false, 0);
	write_only = region_open(b, 4096, 1, MR_REMOTE_WRITE, true, 0);
	closed = region_open(b, 4096, 1, BED_BOTH, false, 0);
	region_end(closed);
	for (int kind = OP_WRITE; kind <= OP_READ; kind++) {
		struct region *other = kind == OP_WRITE ? read_only : write_only;
		enum op_kind k = (enum op_kind)kind;

		post(job_rma(a, both, k, 0, 64, POST_COMPLETE, 1));
		post(job_refused(a, b, k, both->key ^ 0x1234567, 0, 64, REFUSAL_UNKNOWN_KEY));
		post(job_refused(a, b, k, closed->key, 0, 64, REFUSAL_CLOSED));
		post(job_rma(a, both, k, 64, 64, POST_COMPLETE, 1));
		post(job_refused(a, b, k, other->key, region_addr(other, 0), 64, REFUSAL_RIGHT));
		post(job_refused(a, b, k, both->key, 4096 - 63, 64, REFUSAL_RANGE));
		post(job_refused(a, b, k, both->key, 4097, 0, REFUSAL_RANGE));
		post(job_refused(a, b, k, both->key, 0, 1000000, REFUSAL_RANGE));
		post(job_refused(a, b, k, both->key, UINT64_MAX - 5, 64, REFUSAL_WRAP));
		post(job_rma(a, both, k, 4095, 1, POST_COMPLETE, 1));
		post(job_rma(a, both, k, 4096, 0, POST_COMPLETE, 1));
		model_finish(bed.model, BED_LIMIT_NS);
	}
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_geq(tap_count(bed.world, TAP_NAK), 14);
	bed_close(&bed);
}

/* Of a write to several ranges one is refused: no completion says that it has arrived. */
Test(sim_basic, cq_data_of_a_refused_range)
{
	struct bed bed;
	struct region *target;
	struct job *job;

	bed_open(&bed, 8, 2, NULL, NULL);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	for (size_t wrong = 0; wrong < 3; wrong++) {
		job = job_rma(bed.party[0], target, OP_WRITE, wrong * 1024, 900, POST_COMPLETE | POST_CQ_DATA, 2);
		job_split_remote(job, 3);
		job->remote[wrong].addr = 4000;
		job->may.good = false;
		job_may(job, REFUSAL_RANGE);
		job->clean = false;
		post(job);
		model_finish(bed.model, BED_LIMIT_NS);
		model_quiet(bed.model, BED_LIMIT_NS);
		cr_assert(!job->delivered);
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* A target whose endpoint was not opened for it. */
Test(sim_basic, capabilities)
{
	struct party_config config = { .caps = EP_SEND | EP_READ | EP_WRITE };
	struct bed bed;
	struct region *target;

	bed_open(&bed, 5, 2, NULL, &config);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	post(job_refused(bed.party[0], bed.party[1], OP_WRITE, target->key, 0, 64, REFUSAL_CAPABILITY));
	post(job_refused(bed.party[0], bed.party[1], OP_READ, target->key, 0, 64, REFUSAL_CAPABILITY));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Late writes to a place win over earlier ones; a read behind a fence sees the last (WIRE-62). */
Test(sim_basic, later_write_wins)
{
	enum { WRITES = 50, LENGTH = 40000 };
	struct bed bed;
	struct region *target;
	struct job *job = NULL;

	bed_open(&bed, 6, 2, NULL, NULL);
	bed.world->weather.chunk_max = 5000;
	target = region_open(bed.party[1], LENGTH, 1, BED_BOTH, false, 0);
	for (int i = 0; i < WRITES; i++) {
		/* The model takes ranges one op at a time: here they overlap on purpose, and only the last is judged. */
		region_release(target, 0, LENGTH);
		job = job_rma(bed.party[0], target, OP_WRITE, 0, LENGTH, POST_COMPLETE, 1);
		job->region = i + 1 < WRITES ? NULL : target;
		job->claims = job->region;
		post(job);
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* The same words with a queue for both directions, and programs that look at it seldom. */
Test(sim_basic, one_slow_queue)
{
	struct party_config config = { .one_cq = true, .cq_size = 3 };
	struct bed bed;
	struct workload load;

	bed_open(&bed, 7, 2, NULL, &config);
	bed.party[0]->reads_slowly = true;
	bed.party[1]->reads_slowly = true;
	workload_init(&load, bed.model, 600);
	workload_run(&load, BED_LIMIT_NS);
	bed_close(&bed);
}

static void received_in_place(uint32_t capacity)
{
	enum { LARGE = 4 << 20 };
	struct nic_config config = { .eager = 32 * 1024 };
	struct region *region;
	struct job *job;
	struct bed bed;

	bed_open(&bed, 9, 2, &config, NULL);
	bed.world->weather.chunk_max = 0;
	bed.world->weather.capacity = capacity ? capacity : bed.world->weather.capacity;
	region = region_open(bed.party[1], LARGE, 1, BED_BOTH, false, 0);
	for (int i = 0; i < 4; i++) {
		struct party *to = bed.party[i != 3];

		if (i == 0)
			intake_post(bed.party[1], LARGE, 1, NULL);
		if (i == 1)
			intake_post_tagged(bed.party[1], LARGE, 1, NULL, 7, 0);
		model_pass(bed.model, 1000000);
		to->node->aside = 0;
		if (i < 2)
			job = job_message(bed.party[0], bed.party[1], LARGE, POST_COMPLETE, 1);
		else
			job = job_rma(bed.party[0], region, i == 2 ? OP_WRITE : OP_READ, 0, LARGE, POST_COMPLETE, 1);
		if (i == 1)
			job_tag(job, 7);
		cr_assert(job && !job_post(job));
		model_finish(bed.model, BED_LIMIT_NS);
		cr_assert_leq(to->node->aside, SLICE_RECV_BYTES + LARGE / 32, "way %d: %llu bytes", i,
			      (unsigned long long)to->node->aside);
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* The payload of what is expected is received where it belongs, but for what comes with a head, after the receiver had caught up:
 * no second copy. However much of the next payload is there by then. */
Test(sim_basic, large_payloads_are_received_in_place)
{
	received_in_place(0);
	received_in_place(16 << 20);
}
