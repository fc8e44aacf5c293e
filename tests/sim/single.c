/* SPDX-License-Identifier: BSD-2-Clause */
/* single.c - regions of single use, when the op that has one does not get to its end: then the next one may (S130). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/sim/harness/bed.h"

enum { PAGE = 4096, BYTES = 128 * PAGE, HALF = BYTES / 2 };

/* Two initiators and a target with a region for one op. */
struct scene {
	struct bed bed;
	struct party *first, *next;
	struct region *region;
};

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

static void scene_open(struct scene *scene, uint64_t seed)
{
	bed_open(&scene->bed, seed, 3, NULL, NULL);
	scene->bed.world->weather.chunk_max = 3000;
	scene->bed.world->weather.capacity = 20000;
	scene->first = scene->bed.party[0];
	scene->next = scene->bed.party[2];
	scene->region = region_open(scene->bed.party[1], BYTES, 1, BED_BOTH, false, 0);
	region_make_single(scene->region);
}

/* The region is there for one op of another peer, and then for none. */
static void scene_close(struct scene *scene)
{
	struct job *job = job_rma(scene->next, scene->region, OP_WRITE, HALF, 100, POST_COMPLETE, 1);

	cr_assert(job && job->may.good);
	job->may = (struct outcomes){ .good = true };
	post(job);
	model_end(scene->bed.model, BED_LIMIT_NS);
	job = post(job_rma(scene->next, scene->region, OP_WRITE, HALF, 100, POST_COMPLETE, 1));
	model_end(scene->bed.model, BED_LIMIT_NS);
	cr_assert(job->failed);
	bed_close(&scene->bed);
}

/* Short ones and such of several segments; the hole is in the middle. */
static const uint64_t lengths[] = { 2 * PAGE, 20 * PAGE, HALF };
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

Test(sim_single, source_that_faults)
{
	for (uint64_t seed = 1300; seed < 1330; seed++) {
		uint8_t *memory = mmap(NULL, HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t length = lengths[seed % LENGTHS];
		struct scene scene;
		struct job *job;

		cr_assert_neq(memory, MAP_FAILED);
		scene_open(&scene, seed);
		job = job_rma(scene.first, scene.region, OP_WRITE, 0, length, POST_COMPLETE, 1);
		job_use_memory(job, memory);
		job->may = (struct outcomes){ 0 };
		job_may(job, REFUSAL_SOURCE_FAULT);
		world_poison(scene.bed.world, memory + length / 2 / PAGE * PAGE, PAGE);
		post(job);
		model_finish(scene.bed.model, BED_LIMIT_NS);
		model_quiet(scene.bed.model, BED_LIMIT_NS); /* the target hears of it, too */
		scene_close(&scene);
		munmap(memory, HALF);
	}
}

Test(sim_single, target_that_faults)
{
	for (uint64_t seed = 1330; seed < 1360; seed++) {
		enum op_kind kind = seed & 1 ? OP_READ : OP_WRITE;
		uint64_t length = lengths[seed / 2 % LENGTHS];
		struct scene scene;
		struct job *job;

		scene_open(&scene, seed);
		cr_assert(region_claim(scene.region, 0, length));
		job = job_refused(scene.first, scene.bed.party[1], kind, scene.region->key, 0, length, REFUSAL_NOT_BACKED);
		job->clean = false;
		world_poison(scene.bed.world, scene.region->block + length / 2 / PAGE * PAGE, PAGE);
		post(job);
		model_finish(scene.bed.model, BED_LIMIT_NS);
		world_heal(scene.bed.world, scene.region->block + length / 2 / PAGE * PAGE);
		scene_close(&scene);
	}
}

/* Its endpoint closes in mid transfer. */
Test(sim_single, initiator_that_leaves)
{
	unsigned failed = 0;

	for (uint64_t seed = 1360; seed < 1400; seed++) {
		struct scene scene;
		struct job *job;

		scene_open(&scene, seed);
		job = job_rma(scene.first, scene.region, OP_WRITE, 0, HALF, POST_COMPLETE, 1);
		job_may(job, REFUSAL_CANCELLED);
		post(job);
		model_pass(scene.bed.model, 50000 + rnd_below(&scene.bed.world->rnd, 900000));
		node_enter(scene.first->node);
		if (!job->done)
			ep_close(scene.first->ep);
		node_leave(scene.first->node);
		if (job->done) {
			bed_close(&scene.bed);
			continue;
		}
		scene.first->ep = NULL;
		model_read(scene.first);
		model_pass(scene.bed.model, SIM_SECOND / 10);
		if (!memcmp(scene.region->block, job->bytes, HALF)) { /* it was there, and no completion told of it */
			bed_close(&scene.bed);
			continue;
		}
		failed++;
		scene_close(&scene);
	}
	cr_assert_gt(failed, 5);
}
