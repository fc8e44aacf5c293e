/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.c - atomics without faults: every sort and size, every flag, ranges, refusals, rights, order. */
#include <criterion/criterion.h>

#include "emu/nic/transport/session.h"
#include "tests/sim/harness/bed.h"

static void post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
}

Test(sim_atomic, every_sort_and_length)
{
	static const uint64_t lengths[] = { 8, 16, 24, 128, 1016, 1024, 1032, 4088, 4096 };
	struct region *target;
	struct bed bed;

	bed_open(&bed, 1, 2, NULL, NULL);
	target = region_open(bed.party[1], 8192, 1, BED_BOTH, false, 0);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (int which = 0; which < JOB_ATOMICS; which++)
			for (size_t pieces = 1; pieces <= LIMIT_IOV && pieces <= lengths[i] / 8; pieces++) {
				post(job_atomic(bed.party[0], target, (enum job_atomic)which, 3 * i, lengths[i], POST_COMPLETE,
						pieces));
				model_finish(bed.model, BED_LIMIT_NS);
			}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_atomic, every_flag)
{
	struct region *target;
	struct bed bed;

	bed_open(&bed, 2, 2, NULL, NULL);
	target = region_open(bed.party[1], 65536, 1, BED_BOTH, true, 0);
	for (uint32_t flags = 0; flags < 32; flags++)
		for (int which = 0; which < JOB_ATOMICS; which++)
			post(job_atomic(bed.party[0], target, (enum job_atomic)which, (flags * JOB_ATOMICS + (unsigned)which) * 256,
					8 + 8 * (flags % 15), flags, 1));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Several remote ranges are several requests, each with its share of operands, comparisons and results. */
Test(sim_atomic, ranges)
{
	struct region *target;
	struct bed bed;

	bed_open(&bed, 3, 2, NULL, NULL);
	target = region_open(bed.party[1], 20001, 7, BED_BOTH, false, 77);
	for (int which = 0; which < JOB_ATOMICS; which++)
		for (size_t remote = 1; remote <= LIMIT_IOV; remote++)
			for (uint32_t flags = 0; flags <= POST_INJECT; flags += POST_INJECT) {
				uint64_t offset = rnd_below(&bed.world->rnd, 20001 - 4096);
				struct job *job = job_atomic(bed.party[0], target, (enum job_atomic)which, offset,
							     flags ? 128 : 1024, POST_COMPLETE | flags, 3);

				job_split_remote(job, remote);
				post(job);
				model_finish(bed.model, BED_LIMIT_NS);
			}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

static struct job *refused(struct party *a, struct party *b, struct atomic_what what, uint64_t key, uint64_t addr, uint64_t length,
			   enum refusal_cause cause)
{
	struct job *job = job_refused(a, b, OP_ATOMIC, key, addr, length, cause);

	job->what = what;
	if (what.kind != ATOMIC_PLAIN) {
		job->result = malloc(length);
		memset(job->result, 0xc3, length);
		job->was = calloc(1, length);
	}
	if (what.kind == ATOMIC_COMPARE)
		job->compare = calloc(1, length);
	return job;
}

static const struct atomic_what sum = { ATOMIC_PLAIN, ATOMIC_SUM, ATOMIC_UINT64 };
static const struct atomic_what fetch_sum = { ATOMIC_FETCH, ATOMIC_SUM, ATOMIC_UINT64 };
static const struct atomic_what fetch = { ATOMIC_FETCH, ATOMIC_READ, ATOMIC_UINT64 };
static const struct atomic_what swap = { ATOMIC_COMPARE, ATOMIC_CSWAP, ATOMIC_UINT64 };

/* S29, S31, S40, S65, S178: for atomics as for writes, and none of the good ones around is disturbed. */
Test(sim_atomic, refusals)
{
	const struct atomic_what whats[] = { sum, fetch_sum, fetch, swap };
	struct region *both, *read_only, *closed;
	struct party *a, *b;
	struct bed bed;

	bed_open(&bed, 4, 2, NULL, NULL);
	a = bed.party[0];
	b = bed.party[1];
	both = region_open(b, 4096, 1, BED_BOTH, false, 0);
	read_only = region_open(b, 4096, 1, MR_REMOTE_READ, false, 0);
	closed = region_open(b, 4096, 1, BED_BOTH, false, 0);
	region_end(closed);
	for (int i = 0; i < 4; i++) {
		post(job_atomic(a, both, JOB_FETCH_SUM, 0, 64, POST_COMPLETE, 1));
		post(refused(a, b, whats[i], both->key ^ 0x1234567, 0, 64, REFUSAL_UNKNOWN_KEY));
		post(refused(a, b, whats[i], closed->key, 0, 64, REFUSAL_CLOSED));
		post(refused(a, b, whats[i], read_only->key, 0, 64, REFUSAL_RIGHT));
		post(refused(a, b, whats[i], both->key, 4096 - 63, 64, REFUSAL_RANGE));
		post(refused(a, b, whats[i], both->key, 4096, 8, REFUSAL_RANGE));
		post(refused(a, b, whats[i], both->key, UINT64_MAX - 5, 64, REFUSAL_WRAP));
		post(job_atomic(a, both, JOB_SUM, 64, 64, POST_COMPLETE, 1));
		model_finish(bed.model, BED_LIMIT_NS);
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* S30: to the letter FI_REMOTE_WRITE is all that any atomic needs; where the other reading is asked for, what returns
 * something needs FI_REMOTE_READ, too, and reading alone needs nothing else. */
Test(sim_atomic, rights_of_fetching)
{
	for (int strictly = 0; strictly < 2; strictly++) {
		struct nic_config config = { .fetch_reads = strictly };
		struct region *write_only, *read_only;
		struct party *a, *b;
		struct bed bed;

		bed_open(&bed, 5, 2, &config, NULL);
		a = bed.party[0];
		b = bed.party[1];
		write_only = region_open(b, 4096, 1, MR_REMOTE_WRITE, false, 0);
		read_only = region_open(b, 4096, 1, MR_REMOTE_READ, false, 0);
		post(job_atomic(a, write_only, JOB_SUM, 0, 8, POST_COMPLETE, 1));
		if (strictly) {
			post(refused(a, b, fetch_sum, write_only->key, 8, 8, REFUSAL_RIGHT));
			post(refused(a, b, swap, write_only->key, 8, 8, REFUSAL_RIGHT));
			post(refused(a, b, fetch, write_only->key, 8, 8, REFUSAL_RIGHT));
			post(refused(a, b, fetch_sum, read_only->key, 8, 8, REFUSAL_RIGHT));
			post(refused(a, b, swap, read_only->key, 8, 8, REFUSAL_RIGHT));
			post(job_atomic(a, read_only, JOB_FETCH, 0, 8, POST_COMPLETE, 1));
		} else {
			for (int which = JOB_FETCH_SUM; which < JOB_ATOMICS; which++)
				post(job_atomic(a, write_only, (enum job_atomic)which, (uint64_t)which * 64, 8, POST_COMPLETE, 1));
			post(refused(a, b, fetch, read_only->key, 0, 8, REFUSAL_RIGHT));
		}
		post(refused(a, b, sum, read_only->key, 8, 8, REFUSAL_RIGHT));
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* Operations that the target's device does not have, as a peer of another version might ask for; and those that its endpoint was
 * not opened for. */
Test(sim_atomic, not_there)
{
	static const struct party_config plain = { .caps = EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE };
	struct region *target;
	struct bed bed;

	bed_open(&bed, 6, 2, NULL, NULL);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	post(refused(bed.party[0], bed.party[1], (struct atomic_what){ ATOMIC_PLAIN, ATOMIC_BOR, ATOMIC_DOUBLE }, target->key, 0, 8,
		     REFUSAL_ATOMIC));
	post(refused(bed.party[0], bed.party[1], (struct atomic_what){ ATOMIC_PLAIN, ATOMIC_CSWAP, ATOMIC_UINT64 }, target->key, 0,
		     8, REFUSAL_ATOMIC));
	post(refused(bed.party[0], bed.party[1], sum, target->key, 0, 12, REFUSAL_ATOMIC));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
	bed_open(&bed, 7, 2, NULL, &plain);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	post(refused(bed.party[0], bed.party[1], sum, target->key, 0, 8, REFUSAL_CAPABILITY));
	post(refused(bed.party[0], bed.party[1], fetch, target->key, 0, 8, REFUSAL_CAPABILITY));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* S18: nothing is there, or only half of it. */
Test(sim_atomic, missing_memory)
{
	const struct atomic_what whats[] = { sum, fetch_sum, fetch, swap };
	enum { PAGE = 4096 };

	for (int i = 0; i < 4; i++) {
		struct region *target, *beside;
		struct party *a, *b;
		struct bed bed;

		bed_open(&bed, 20 + (uint64_t)i, 2, NULL, NULL);
		a = bed.party[0];
		b = bed.party[1];
		target = region_open(b, 4 * PAGE, 1, BED_BOTH, false, 0);
		beside = region_open(b, PAGE, 1, BED_BOTH, false, 0);
		world_poison(bed.world, target->block + PAGE, PAGE);
		post(refused(a, b, whats[i], target->key, PAGE + 64, 64, REFUSAL_NOT_BACKED));
		post(job_atomic(a, beside, JOB_FETCH_SUM, 0, 64, POST_COMPLETE, 1));
		post(refused(a, b, whats[i], target->key, PAGE - 32, 64, REFUSAL_NOT_BACKED));
		post(refused(a, b, whats[i], target->key, 2 * PAGE - 32, 64, REFUSAL_NOT_BACKED));
		model_finish(bed.model, BED_LIMIT_NS);
		world_heal(bed.world, target->block + PAGE);
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* S81: through the pin alone; what stores nothing puts nothing there. */
Test(sim_atomic, pinned)
{
	struct region *target;
	uint64_t put = 0;
	struct bed bed;

	bed_open(&bed, 30, 2, NULL, NULL);
	target = region_open(bed.party[1], 8192, 3, BED_BOTH, false, 0);
	region_make_pinned(target);
	for (int which = 0; which < JOB_ATOMICS; which++) {
		post(job_atomic(bed.party[0], target, (enum job_atomic)which, 2700, 512, POST_COMPLETE, 2));
		model_finish(bed.model, BED_LIMIT_NS);
		put += which == JOB_FETCH || which == JOB_NO_SWAP ? 0 : 512;
		cr_assert_eq(target->pin->put, put);
		cr_assert_eq(target->pin->got, 512 * ((unsigned)which + 1));
	}
	target->pin->failing = true;
	post(refused(bed.party[0], bed.party[1], sum, target->key, 0, 8, REFUSAL_NOT_BACKED));
	post(refused(bed.party[0], bed.party[1], fetch, target->key, 0, 8, REFUSAL_NOT_BACKED));
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* More than are granted at a time: they wait here. And a program that reads nothing holds no verdicts up. */
Test(sim_atomic, many)
{
	struct region *target;
	struct bed bed;

	bed_open(&bed, 8, 2, NULL, NULL);
	target = region_open(bed.party[1], 64 * 600, 1, BED_BOTH, false, 0);
	for (uint64_t i = 0; i < 600; i++)
		post(job_atomic(bed.party[0], target, (enum job_atomic)(i % JOB_ATOMICS), i * 64, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert_eq(tap_count(bed.world, TAP_RESULT), 480);
	bed_close(&bed);
}

/* WIRE-47: where each slice has as many requests to send as it may, verdicts are acknowledged before them. */
Test(sim_atomic, answered_as_fast_as_sent)
{
	enum { JOBS = 2000 };
	struct party_config config = { .tx_size = JOBS, .cq_size = JOBS };
	const struct session *session;
	struct region *target;
	struct bed bed;

	bed_open(&bed, 9, 2, NULL, &config);
	bed.world->weather.delay_max_ns = 0;
	target = region_open(bed.party[1], 64 * JOBS, 1, BED_BOTH, false, 0);
	for (uint64_t i = 0; i < JOBS; i++)
		post(job_atomic(bed.party[0], target, JOB_FETCH_SUM, i * 64, 8, POST_COMPLETE, 1));
	while (bed.model->open) {
		bool asked = node_run(bed.node[0]), answered = false;

		for (int turn = 0; turn < 4; turn++)
			answered |= node_run(bed.node[1]);

		if (asked || answered)
			model_read(bed.party[0]);
		else
			cr_assert(model_step(bed.model));
		session = party_session(bed.party[0], bed.party[1]);
		cr_assert(!session || session->req.verdict_seen - session->req.verdict_said < ACK_REQUESTS);
	}
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Remote CQ data needs a slot in the target's queue before anything is done. */
Test(sim_atomic, no_slot_for_cq_data)
{
	struct party_config config = { .cq_size = 1 };
	struct region *target;
	struct bed bed;

	bed_open(&bed, 31, 2, NULL, &config);
	target = region_open(bed.party[1], 40 * 64, 1, BED_BOTH, false, 0);
	bed.party[1]->deaf = true;
	for (uint64_t i = 0; i < 40; i++)
		post(job_atomic(bed.party[0], target, JOB_FETCH_SUM, 64 * i, 8, POST_COMPLETE | POST_CQ_DATA, 1));
	model_pass(bed.model, SIM_SECOND / 10);
	cr_assert_geq(bed.model->open, 38);
	cr_assert_gt(tap_count(bed.world, TAP_RNR), 0);
	cr_assert_leq(tap_count(bed.world, TAP_RESULT), 2);
	bed.party[1]->deaf = false;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}
