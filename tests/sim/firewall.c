/* SPDX-License-Identifier: BSD-2-Clause */
/* firewall.c - a peer behind a firewall (av_wall()): it dials, and is not dialled; its connection breaks at any byte. */
#include <criterion/criterion.h>

#include "emu/nic/queues/av.h"
#include "tests/sim/harness/bed.h"
#include "tests/sim/harness/cable.h"

enum { OUTSIDE, INSIDE };
#define BUDGET_NS (3 * SIM_SECOND)

struct scene {
	struct bed bed;
	struct region *region[2]; /* each party's own */
};

static void scene_open(struct scene *scene, uint64_t seed)
{
	struct nic_config config = { .retry_budget_ns = BUDGET_NS };
	struct party *outside;

	bed_open(&scene->bed, seed, 2, &config, NULL);
	scene->bed.model->counts_exact = false;
	outside = scene->bed.party[OUTSIDE];
	av_wall(outside->av, outside->index[INSIDE]);
	for (int i = 0; i < 2; i++)
		scene->region[i] = region_open(scene->bed.party[i], 65536, 1, BED_BOTH, false, 0);
}

/* None of the connections was dialled from outside. */
static void scene_close(struct scene *scene)
{
	struct world *world = scene->bed.world;

	for (uint32_t i = 0; i < world->cables; i++)
		WORLD_CHECK(world, world->cable[i]->end[0].node == scene->bed.node[INSIDE], "dialled from outside");
	bed_close(&scene->bed);
}

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

static struct job *op(struct scene *scene, int from, uint64_t offset, uint64_t length)
{
	return job_rma(scene->bed.party[from], scene->region[!from], OP_WRITE, offset, length, POST_COMPLETE, 1);
}

/* The peer's first operation connects. */
static void meet(struct scene *scene)
{
	post(op(scene, INSIDE, 65024, 8));
	model_finish(scene->bed.model, SIM_SECOND);
}

/* Both have operations on their way: the peer dials again, and each is executed once. */
Test(sim_firewall, a_cut_under_work_of_both)
{
	unsigned again = 0;

	for (uint64_t seed = 0; seed < 120; seed++) {
		struct scene scene;
		struct bed *bed = &scene.bed;

		scene_open(&scene, 900 + seed);
		bed->world->weather.chunk_max = 900;
		world_fault(bed->world, FAULT_CUT, 0, seed & 1, 200 + rnd_below(&bed->world->rnd, 40000));
		meet(&scene);
		for (int i = 0; i < 4; i++) {
			post(op(&scene, OUTSIDE, (uint64_t)i * 8192, 8000));
			post(op(&scene, INSIDE, (uint64_t)i * 8192, 8000));
			post(job_message(bed->party[OUTSIDE], bed->party[INSIDE], 300, POST_COMPLETE, 1));
			post(job_message(bed->party[INSIDE], bed->party[OUTSIDE], 300, POST_COMPLETE, 1));
		}
		model_end(bed->model, BED_LIMIT_NS);
		again += bed->world->cables_made > 1;
		scene_close(&scene);
	}
	cr_assert_gt(again, 60);
}

/* Nothing of the peer's own is on its way: the operation waits for it, for twice the budget, as for any other that is away. */
static void cut_alone(uint64_t seed, bool returns, enum refusal_cause cause)
{
	struct scene scene;
	struct bed *bed = &scene.bed;
	struct job *job;
	uint64_t cut;

	scene_open(&scene, seed);
	bed->world->weather.chunk_max = 900;
	world_fault(bed->world, FAULT_CUT, 0, 1, 1000 + rnd_below(&bed->world->rnd, 50000));
	meet(&scene);
	job = op(&scene, OUTSIDE, 0, 60000);
	job->may.good = returns;
	if (!returns)
		job_may(job, cause);
	post(job);
	cut = bed->world->now_ns;
	if (returns) {
		model_pass(bed->model, BUDGET_NS);
		cr_assert(!job->done);
		post(op(&scene, INSIDE, 0, 8));
	}
	model_finish(bed->model, 4 * BUDGET_NS);
	WORLD_CHECK(bed->world, returns || bed->world->now_ns - cut >= 2 * BUDGET_NS, "gave up early");
	job = op(&scene, OUTSIDE, 64000, 8); /* not connected: at once; connected: reached */
	if (!returns) {
		job->may.good = false;
		job_may(job, REFUSAL_FIREWALL);
	}
	cut = bed->world->now_ns;
	post(job);
	model_finish(bed->model, SIM_SECOND);
	WORLD_CHECK(bed->world, bed->world->now_ns - cut < BUDGET_NS, "waited for nobody");
	meet(&scene); /* and the peer may connect again */
	post(op(&scene, OUTSIDE, 64512, 8));
	model_end(bed->model, SIM_SECOND);
	scene_close(&scene);
}

Test(sim_firewall, a_cut_under_an_op_of_the_other_which_the_peer_returns_to)
{
	for (uint64_t seed = 0; seed < 40; seed++)
		cut_alone(1100 + seed, true, REFUSAL_NONE);
}

Test(sim_firewall, a_cut_under_an_op_of_the_other_and_the_peer_stays_away)
{
	for (uint64_t seed = 0; seed < 40; seed++)
		cut_alone(1200 + seed, false, REFUSAL_FIREWALL);
}

/* Without a connection, and none was dialled for it. */
Test(sim_firewall, before_the_peer_has_connected)
{
	struct scene scene;
	struct job *job;

	scene_open(&scene, 1300);
	job = op(&scene, OUTSIDE, 0, 8);
	job->may.good = false;
	job_may(job, REFUSAL_FIREWALL);
	post(job);
	model_finish(scene.bed.model, SIM_SECOND);
	cr_assert_eq(scene.bed.world->cables_made, 0);
	meet(&scene);
	post(op(&scene, OUTSIDE, 4096, 8));
	model_end(scene.bed.model, SIM_SECOND);
	scene_close(&scene);
}
