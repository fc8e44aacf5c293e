/* SPDX-License-Identifier: BSD-2-Clause */
/* pinned.c - regions whose bytes are reached through a pin alone (S81): all sizes, ways of addressing, digests, cuts, and
 * a pin that fails. */
#include <criterion/criterion.h>

#include "emu/nic/faults/fault_plan.h"
#include "tests/sim/harness/bed.h"

static void post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
}

static void every_length(enum nic_digest digest, size_t segs, bool virtual_addr, uint64_t seed)
{
	static const uint64_t lengths[] = { 0, 1, 63, 1024, 1025, 32768, 32769, 65537, 131072, 131073, 400000 };
	struct nic_config config = { .digest = digest };
	uint64_t sum = 0;
	struct region *target;
	struct bed bed;

	bed_open(&bed, seed, 2, &config, NULL);
	target = region_open(bed.party[1], 1 << 20, segs, BED_BOTH, virtual_addr, 0);
	region_make_pinned(target);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		post(job_rma(bed.party[0], target, OP_WRITE, 77, lengths[i], POST_COMPLETE | POST_CQ_DATA, 2));
		model_finish(bed.model, BED_LIMIT_NS);
		post(job_rma(bed.party[0], target, OP_READ, 3, lengths[i], POST_COMPLETE, 3));
		model_end(bed.model, BED_LIMIT_NS);
		sum += lengths[i];
	}
	cr_assert_eq(target->pin->put, sum);
	cr_assert_eq(target->pin->got, sum);
	cr_assert_eq(bed.node[1]->warns, 0);
	bed_close(&bed);
}

Test(sim_pinned, every_length)
{
	for (int digest = NIC_DIGEST_HEAD; digest <= NIC_DIGEST_OFF; digest++) {
		every_length((enum nic_digest)digest, 1, false, 1);
		every_length((enum nic_digest)digest, 1, true, 2);
		every_length((enum nic_digest)digest, 7, false, 3);
	}
}

/* Neither writes nor reads of pinned memory are late by a plan that holds all of a peer. */
Test(sim_pinned, nothing_is_held)
{
	const struct fault_plan plan = { .rules = 1,
					 .rule = { { .sort = PLAN_HOLD,
						     .kinds = 1u << OP_WRITE | 1u << OP_READ | 1u << OP_ATOMIC,
						     .first = 1,
						     .every = 1,
						     .most = UINT64_MAX,
						     .chance = FAULT_CERTAIN,
						     .wait_ns = TIME_MS(1000) } } };
	struct nic_config config = { .fault = &plan };
	struct region *target;
	struct bed bed;

	bed_open(&bed, 5, 2, &config, NULL);
	target = region_open(bed.party[1], 1 << 20, 1, BED_BOTH, false, 0);
	region_make_pinned(target);
	post(job_rma(bed.party[0], target, OP_WRITE, 77, 100, POST_COMPLETE, 2));
	post(job_rma(bed.party[0], target, OP_READ, 300, 100, POST_COMPLETE, 3));
	model_pass(bed.model, SIM_SECOND / 2);
	cr_assert(target->pin->put == 100 && target->pin->got == 100);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* They change what the pin leads to, at any alignment and over the seams of a vectored region. */
Test(sim_pinned, atomics)
{
	static const uint64_t lengths[] = { 8, 24, 1024, 4096 };
	struct bed bed;

	bed_open(&bed, 4, 2, NULL, NULL);
	for (size_t segs = 1; segs <= 5; segs += 4) {
		struct region *target = region_open(bed.party[1], 8193, segs, BED_BOTH, false, 0);

		region_make_pinned(target);
		for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			for (int which = 0; which < JOB_ATOMICS; which++) {
				uint64_t put = target->pin->put, got = target->pin->got;

				post(job_atomic(bed.party[0], target, (enum job_atomic)which, 1333 * i, lengths[i], POST_COMPLETE,
						1));
				model_end(bed.model, BED_LIMIT_NS);
				cr_assert_eq(target->pin->got - got, lengths[i]);
				cr_assert_eq(target->pin->put - put, which == JOB_FETCH || which == JOB_NO_SWAP ? 0 : lengths[i]);
			}
	}
	cr_assert_eq(bed.node[1]->warns, 0);
	bed_close(&bed);
}

/* Ops of all sorts, right and wrong, with connections that break, regions that close and others that are durable. */
Test(sim_pinned, weather)
{
	for (uint64_t seed = 10; seed < 30; seed++) {
		uint64_t put = 0, got = 0;
		struct workload load;
		struct bed bed;

		bed_open(&bed, seed, 3, NULL, NULL);
		bed.world->weather.cut_mean = 30000;
		bed.world->weather.cuts_left = 10;
		bed.model->counts_exact = false;
		workload_init(&load, bed.model, 300);
		load.big_max = 300000;
		load.commit_percent = 10;
		load.atomic_percent = 20;
		for (int i = 0; i < bed.model->parties; i++)
			for (int k = 0; k < WORKLOAD_REGIONS; k++)
				region_make_pinned(load.region[i][k]);
		workload_run(&load, BED_LIMIT_NS);
		for (int k = 0; k < WORKLOAD_REGIONS; k++) {
			put += load.region[0][k]->pin->put;
			got += load.region[0][k]->pin->got;
		}
		cr_assert(put && got);
		bed_close(&bed);
	}
}

/* Told by the next access, once each, which is done. */
Test(sim_pinned, a_changed_mapping)
{
	struct region *target;
	struct bed bed;

	bed_open(&bed, 40, 2, NULL, NULL);
	target = region_open(bed.party[1], 1 << 20, 1, BED_BOTH, false, 0);
	region_make_pinned(target);
	for (uint32_t told = 1; told <= 4; told++) {
		target->pin->changed = true;
		post(job_refused(bed.party[0], bed.party[1], OP_WRITE, target->key + 1, 0, 64, REFUSAL_UNKNOWN_KEY));
		model_finish(bed.model, BED_LIMIT_NS);
		cr_assert(target->pin->changed, "asked about by an access that was refused");
		post(job_rma(bed.party[0], target, told & 1 ? OP_WRITE : OP_READ, 0, 300000, POST_COMPLETE, 1));
		model_finish(bed.model, BED_LIMIT_NS);
		post(job_rma(bed.party[0], target, OP_READ, 0, 64, POST_COMPLETE, 1));
		model_end(bed.model, BED_LIMIT_NS);
		cr_assert_eq(bed.node[1]->warns, 2 * told); /* the refusal is a line, too */
	}
	bed_close(&bed);
}

/* The outside cannot move the bytes: like memory that is not there, but that it is found out late. */
Test(sim_pinned, a_pin_that_fails)
{
	struct region *target, *beside;
	struct bed bed;

	bed_open(&bed, 50, 2, NULL, NULL);
	target = region_open(bed.party[1], 1 << 20, 1, BED_BOTH, false, 0);
	beside = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	region_make_pinned(target);
	target->pin->failing = true;
	for (int kind = OP_WRITE; kind <= OP_READ; kind++) {
		for (uint64_t length = 64; length < 400000; length *= 18) {
			struct job *job = job_refused(bed.party[0], bed.party[1], (enum op_kind)kind, target->key, 0, length,
						      REFUSAL_NOT_BACKED);

			job->clean = kind == OP_WRITE; /* zeros have come in the place of the bytes */
			post(job);
			post(job_rma(bed.party[0], beside, (enum op_kind)kind, 0, 64, POST_COMPLETE, 1));
			model_finish(bed.model, BED_LIMIT_NS);
		}
	}
	target->pin->failing = false;
	post(job_rma(bed.party[0], target, OP_WRITE, 0, 300000, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}
