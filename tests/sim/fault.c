/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - memory that is not there, at either end: the op ends with FI_EFAULT, not a byte stands in the place of those
 * that are missing, all other ops go on (S18). Streams say -EFAULT by the letter of link.h, or as kernels do it: even if
 * the first bytes could be moved. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/sim/harness/bed.h"
#include "tests/unit/nic/sandbox.h"

enum { PAGE = 4096, PAGES = 128, BYTES = PAGE * PAGES };

struct hole { /* memory of which some pages cannot be touched */
	struct bed bed;
	struct party *a, *b;
	struct region *other; /* of b, for ops that must not notice */
	uint8_t *memory;
	bool breaks; /* it is what is sent: a payload that cannot be gone on with ends with its connection */
};

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

/* With payload digests in one of two: then it is the digest that meets the memory first, and not the stream. */
static void hole_open(struct hole *hole, uint64_t seed)
{
	const struct nic_config config = { .digest = seed & 16 ? NIC_DIGEST_FULL : NIC_DIGEST_HEAD };

	hole->breaks = false;
	bed_open(&hole->bed, seed, 2, &config, NULL);
	hole->bed.world->weather.rough_efault = seed & 1;
	hole->bed.world->weather.chunk_max = seed & 2 ? 3000 : 0;
	hole->a = hole->bed.party[0];
	hole->b = hole->bed.party[1];
	hole->other = region_open(hole->b, BYTES, 1, BED_BOTH, false, 0);
	hole->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(hole->memory, MAP_FAILED);
}

/* Everything but the one op went well; and the next goes well, too. */
static void hole_close(struct hole *hole)
{
	model_end(hole->bed.model, BED_LIMIT_NS);
	post(job_rma(hole->a, hole->other, OP_WRITE, 0, BYTES / 2, POST_COMPLETE, 1));
	model_end(hole->bed.model, BED_LIMIT_NS);
	cr_assert(hole->breaks || hole->bed.world->cables_made == 1, "the connection did not live on");
	munmap(hole->memory, BYTES);
	bed_close(&hole->bed);
}

/* Lengths around what is copied, sent in one segment, and sent in several; the hole is in its middle. */
static const uint64_t lengths[] = { 2 * PAGE, 5 * PAGE, 40 * PAGE, 100 * PAGE };
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static struct job *faulty_source(struct job *job, struct hole *hole)
{
	job_use_memory(job, hole->memory);
	hole->breaks = true;
	job->may.good = false;
	job_may(job, REFUSAL_SOURCE_FAULT);
	return job;
}

/* Nothing leaves in the place of bytes that are not there, nor do those behind them. */
static void expect_nothing_else(const struct job *job)
{
	uint64_t hole = job->length / 2 / PAGE * PAGE;
	uint8_t now[BYTES], before[BYTES];

	region_get(job->region, job->offset[0], now, job->length);
	region_get_shadow(job->region, job->offset[0], before, job->length);
	for (uint64_t i = 0; i < job->length; i++)
		cr_assert(now[i] == before[i] || (i < hole && now[i] == job->bytes[i]), "byte %llu", (unsigned long long)i);
}

Test(sim_fault, source_of_a_write)
{
	for (uint64_t seed = 1100; seed < 1140; seed++) {
		uint64_t length = lengths[seed / 4 % LENGTHS];
		struct region *target;
		struct hole hole;
		struct job *job;

		hole_open(&hole, seed);
		target = region_open(hole.b, BYTES, 1, BED_BOTH, false, 0);
		post(job_rma(hole.a, hole.other, OP_WRITE, 0, 50000, POST_COMPLETE, 1));
		job = faulty_source(job_rma(hole.a, target, OP_WRITE, 64, length, POST_COMPLETE | POST_CQ_DATA, 1), &hole);
		world_poison(hole.bed.world, hole.memory + length / 2 / PAGE * PAGE, PAGE);
		post(job);
		post(job_rma(hole.a, hole.other, OP_READ, 65536, 50000, POST_COMPLETE, 1));
		model_end(hole.bed.model, BED_LIMIT_NS);
		cr_assert(job->failed);
		cr_assert(!job->delivered, "CQ data of a write that failed");
		expect_nothing_else(job);
		hole_close(&hole);
	}
}

/* Its receive ends with an error if the sender had announced it, or takes the next message (WIRE-58). */
Test(sim_fault, source_of_a_message)
{
	for (uint64_t seed = 1140; seed < 1180; seed++) {
		uint64_t length = lengths[seed / 4 % LENGTHS];
		struct intake *intake;
		struct hole hole;
		struct job *job;

		hole_open(&hole, seed);
		intake = intake_post(hole.b, BYTES, 1, NULL);
		intake->may_fail = true;
		job = faulty_source(job_message(hole.a, hole.b, length, POST_COMPLETE, 1), &hole);
		world_poison(hole.bed.world, hole.memory + length / 2 / PAGE * PAGE, PAGE);
		post(job);
		post(job_message(hole.a, hole.b, 500, POST_COMPLETE, 1));
		intake_post(hole.b, 500, 1, NULL);
		model_finish(hole.bed.model, BED_LIMIT_NS);
		model_pass(hole.bed.model, SIM_SECOND / 100);
		cr_assert(job->failed);
		cr_assert(intake->done, "the receive of a faulted message never ended");
		cr_assert_eq(intake->failed, length > LIMIT_EAGER);
		world_heal(hole.bed.world, hole.memory + length / 2 / PAGE * PAGE);
		hole_close(&hole);
	}
}

/* A region that cannot be touched is refused by its target's NIC. */
static void unbacked(enum op_kind kind, uint64_t seed)
{
	uint64_t length = lengths[seed / 4 % LENGTHS];
	uint8_t *page;
	struct region *target;
	struct hole hole;
	struct job *job;

	hole_open(&hole, seed);
	target = region_open(hole.b, BYTES, 1, BED_BOTH, false, 0);
	cr_assert(region_claim(target, 0, length));
	page = target->block + length / 2 / PAGE * PAGE;
	job = job_refused(hole.a, hole.b, kind, target->key, 0, length, REFUSAL_NOT_BACKED);
	job->clean = false;
	world_poison(hole.bed.world, page, PAGE);
	post(job_rma(hole.a, hole.other, kind, 0, 50000, POST_COMPLETE, 1));
	post(job);
	post(job_rma(hole.a, hole.other, kind, 65536, 50000, POST_COMPLETE, 1));
	model_finish(hole.bed.model, BED_LIMIT_NS);
	cr_assert(job->failed);
	world_heal(hole.bed.world, page);
	cr_assert(!memcmp(page, target->shadow + (page - target->block), PAGE), "bytes in the hole changed");
	hole_close(&hole);
}

Test(sim_fault, target_of_a_write)
{
	for (uint64_t seed = 1180; seed < 1220; seed++)
		unbacked(OP_WRITE, seed);
}

Test(sim_fault, source_of_a_read)
{
	for (uint64_t seed = 1220; seed < 1260; seed++)
		unbacked(OP_READ, seed);
}

static volatile sig_atomic_t strays;

static void on_stray(int sig)
{
	signal(sig, SIG_DFL);
	strays++;
}

/* The program has put its own handler over the guard's; it gets no fault of ours from the first access to a region that is
 * newer on, or, where no region is, TIME_GUARD_NS later. */
static void behind_a_handler(bool region_is_new)
{
	struct region *target;
	struct hole hole;
	struct job *job;

	hole_open(&hole, 1299);
	target = region_open(hole.b, BYTES, 1, BED_BOTH, false, 0);
	cr_assert(region_claim(target, 0, 64));
	post(job_rma(hole.a, hole.other, OP_READ, 0, 64, POST_COMPLETE, 1));
	model_end(hole.bed.model, BED_LIMIT_NS);
	signal(SIGSEGV, on_stray);
	signal(SIGBUS, on_stray);
	if (region_is_new) {
		node_enter(hole.b->node);
		nic_check_guard(hole.b->node->nic);
		node_leave(hole.b->node);
	} else {
		for (uint64_t from = hole.bed.world->now_ns; hole.bed.world->now_ns - from <= TIME_GUARD_NS;) {
			post(job_rma(hole.a, hole.other, OP_READ, 0, 64, POST_COMPLETE, 1));
			model_end(hole.bed.model, BED_LIMIT_NS);
		}
	}
	job = job_refused(hole.a, hole.b, OP_READ, target->key, 0, 64, REFUSAL_NOT_BACKED);
	world_poison(hole.bed.world, target->block, PAGE);
	post(job);
	model_finish(hole.bed.model, BED_LIMIT_NS);
	cr_assert(job->failed);
	cr_assert_eq(strays, 0, "a fault of the device came to the program");
	world_heal(hole.bed.world, target->block);
	hole_close(&hole);
}

Test(sim_fault, handler_over_the_guard)
{
	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	behind_a_handler(true);
}

Test(sim_fault, handler_over_the_guard_for_some_time)
{
	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	behind_a_handler(false);
}

/* The reader's own buffer cannot be written. */
Test(sim_fault, destination_of_a_read)
{
	for (uint64_t seed = 1260; seed < 1300; seed++) {
		uint64_t length = lengths[seed / 4 % LENGTHS];
		struct region *target;
		struct hole hole;

		hole_open(&hole, seed);
		target = region_open(hole.b, BYTES, 1, BED_BOTH, false, 0);
		world_poison(hole.bed.world, hole.memory + length / 2 / PAGE * PAGE, PAGE);
		post(faulty_source(job_rma(hole.a, target, OP_READ, 0, length, POST_COMPLETE, 1), &hole));
		post(job_rma(hole.a, hole.other, OP_READ, 0, 50000, POST_COMPLETE, 1));
		model_finish(hole.bed.model, BED_LIMIT_NS);
		hole_close(&hole);
	}
}

/* The receiver's buffer cannot be written: both its receive and the message fail, and nothing else. */
Test(sim_fault, destination_of_a_message)
{
	for (uint64_t seed = 1300; seed < 1340; seed++) {
		uint64_t length = lengths[seed / 4 % LENGTHS];
		struct intake *intake;
		struct hole hole;
		struct job *job;
		uint8_t *page;

		hole_open(&hole, seed);
		intake = intake_post_at(hole.b, hole.memory, BYTES);
		intake->may_fail = true;
		page = hole.memory + length / 2 / PAGE * PAGE;
		world_poison(hole.bed.world, page, PAGE);
		job = post(job_message(hole.a, hole.b, length, POST_COMPLETE, 1));
		job->may.good = false;
		job_may(job, REFUSAL_RECEIVE_BUFFER);
		post(job_message(hole.a, hole.b, 500, POST_COMPLETE, 1));
		intake_post(hole.b, 500, 1, NULL);
		model_finish(hole.bed.model, BED_LIMIT_NS);
		model_pass(hole.bed.model, SIM_SECOND / 100);
		cr_assert(intake->done && intake->failed && job->failed);
		world_heal(hole.bed.world, page);
		if (!job->failed)
			hole.bed.model->hearings--; /* its receiver has heard, but of a failure */
		job->delivered = true;
		hole_close(&hole);
	}
}
