/* SPDX-License-Identifier: BSD-2-Clause */
/* peers.c - presence of peers: simultaneous dials, peers that die, come back or fall silent, and an endpoint as its own peer. */
#include <criterion/criterion.h>

#include "tests/sim/harness/bed.h"
#include "tests/sim/harness/cable.h"
#include "tests/sim/harness/lines.h"

static struct job *post(struct job *job)
{
	cr_assert(job);
	cr_assert(!job_post(job));
	return job;
}

/* Which node dialled the only connection that is left between the two. */
static int survivor(const struct bed *bed)
{
	const struct cable *left = NULL;

	lines_sweep(bed->world);
	for (uint32_t i = 0; i < bed->world->cables; i++) {
		const struct cable *cable = bed->world->cable[i];

		if (cable->end[0].closed || cable->end[1].closed || cable->end[0].node == cable->end[1].node)
			continue;
		WORLD_CHECK(bed->world, !left, "two connections between the same endpoints stay");
		left = cable;
	}
	WORLD_CHECK(bed->world, left, "no connection is left");
	return left->end[0].node->id;
}

/* Both dial at once, again and again. Whichever has the larger instance id, one connection stays and no op is lost. */
Test(sim_peers, simultaneous_dials)
{
	unsigned stays[2] = { 0 }, doubles = 0;

	for (uint64_t seed = 300; seed < 500; seed++) {
		struct region *region[2];
		struct bed bed;

		bed_open(&bed, seed, 2, NULL, NULL);
		for (int i = 0; i < 2; i++)
			region[i] = region_open(bed.party[i], 4096, 1, BED_BOTH, false, 0);
		for (int i = 0; i < 2; i++) {
			post(job_rma(bed.party[i], region[!i], OP_WRITE, 0, 1000, POST_COMPLETE | POST_CQ_DATA, 1));
			post(job_message(bed.party[i], bed.party[!i], 100, POST_COMPLETE, 1));
			post(job_rma(bed.party[i], region[!i], OP_READ, 1024, 1000, POST_COMPLETE, 1));
		}
		model_end(bed.model, BED_LIMIT_NS);
		world_pass(bed.world, SIM_SECOND / 10);
		doubles += bed.world->cables_made > 1;
		stays[survivor(&bed)]++;
		bed_close(&bed);
	}
	cr_assert_gt(doubles, 150);
	cr_assert_gt(stays[0], 20);
	cr_assert_gt(stays[1], 20);
}

/* The same with connections that break while they are sorted out. */
Test(sim_peers, simultaneous_dials_and_cuts)
{
	for (uint64_t seed = 500; seed < 700; seed++) {
		struct bed bed;
		struct workload load;

		bed_open(&bed, seed, 2, NULL, NULL);
		bed.model->counts_exact = false;
		bed.world->weather.cut_mean = 600;
		bed.world->weather.cuts_left = 6;
		workload_init(&load, bed.model, 30);
		load.churn_permille = 0;
		workload_run(&load, BED_LIMIT_NS);
		survivor(&bed);
		bed_close(&bed);
	}
}

static void one_op(struct bed *bed, struct party *from, struct region *to, bool good)
{
	/* Each elsewhere: of one that was given up, some bytes may still come. */
	struct job *job = job_rma(from, to, OP_WRITE, bed->model->jobs % 30 * 128, 100, POST_COMPLETE, 1);

	job->may.good = good;
	post(job);
	model_finish(bed->model, SIM_SECOND);
}

/* No endpoint listens at the address: three refused dials (WIRE-35). */
Test(sim_peers, nobody_there)
{
	struct bed bed;
	struct region *target;

	bed_open(&bed, 30, 2, NULL, NULL);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	model_kill(bed.model, bed.node[1]);
	one_op(&bed, bed.party[0], target, false);
	cr_assert_eq(bed.world->cables_made, REFUSED_DIALS_GONE);
	bed_close(&bed);
}

/* FI_EMU_RETRY_CNT: as many as the user says. */
Test(sim_peers, nobody_there_told_sooner)
{
	struct nic_config config = { .refused_dials = 1 };
	struct region *target;
	struct bed bed;

	bed_open(&bed, 31, 2, &config, NULL);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	model_kill(bed.model, bed.node[1]);
	one_op(&bed, bed.party[0], target, false);
	cr_assert_eq(bed.world->cables_made, 1);
	bed_close(&bed);
}

/* A peer dies in mid transfer: its partner's ops end within a second, others do not notice. */
Test(sim_peers, dies_in_mid_transfer)
{
	for (uint64_t seed = 31; seed < 71; seed++) {
		struct bed bed;
		struct workload load;

		bed_open(&bed, seed, 3, NULL, NULL);
		workload_init(&load, bed.model, 200);
		load.churn_permille = 0;
		load.ops_left = 60;
		workload_run(&load, BED_LIMIT_NS);
		for (int i = 0; i < 6; i++)
			for (int from = 0; from < 2; from++) {
				struct region *to = load.region[2][1];
				struct job *job = job_rma(bed.party[from], to, i & 1 ? OP_READ : OP_WRITE,
							  (uint64_t)(i * 2 + from) * 30016, 30000, POST_COMPLETE, 1);

				post(job);
				post(job_message(bed.party[from], bed.party[2], 200, POST_COMPLETE, 1));
			}
		world_pass(bed.world, rnd_below(&bed.world->rnd, 200000));
		model_kill(bed.model, bed.node[2]);
		model_finish(bed.model, SIM_SECOND);
		one_op(&bed, bed.party[0], load.region[1][0], true);
		one_op(&bed, bed.party[1], load.region[0][0], true);
		bed_close(&bed);
	}
}

static struct party *restart(struct bed *bed, struct party *old)
{
	return party_again(old, node_open(bed->world, NULL), NULL);
}

/* Another endpoint at the same address: ops meant for the old one fail, later ones work. */
Test(sim_peers, comes_back_as_another)
{
	for (uint64_t seed = 72; seed < 112; seed++) {
		struct bed bed;
		struct region *old, *fresh;

		bed_open(&bed, seed, 2, NULL, NULL);
		old = region_open(bed.party[1], 100000, 1, BED_BOTH, false, 42);
		one_op(&bed, bed.party[0], old, true);
		for (uint64_t i = 1; i < 4; i++)
			post(job_rma(bed.party[0], old, OP_WRITE, i * 20032, 20000, POST_COMPLETE, 1));
		world_pass(bed.world, rnd_below(&bed.world->rnd, 100000));
		model_kill(bed.model, bed.node[1]);
		fresh = region_open(restart(&bed, bed.party[1]), 100000, 1, BED_BOTH, false, 42);
		model_finish(bed.model, SIM_SECOND);
		model_pass(bed.model, SIM_SECOND / 1000); /* the initiator sees that the old one has gone */
		one_op(&bed, bed.party[0], fresh, true);
		region_check(fresh); /* nothing that was meant for the old one */
		bed_close(&bed);
	}
}

/* Closed in good order while the other still asks: its ops fail at once, and work again after a restart. */
Test(sim_peers, says_goodbye)
{
	struct bed bed;
	struct region *target;

	bed_open(&bed, 113, 2, NULL, NULL);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	one_op(&bed, bed.party[0], target, true);
	party_close(bed.party[1]);
	job_outcome(&bed.model->peers_may, REFUSAL_PEER_GONE);
	bed.model->counts_exact = false;
	one_op(&bed, bed.party[0], target, false);
	target = region_open(restart(&bed, bed.party[1]), 4096, 1, BED_BOTH, false, 0);
	one_op(&bed, bed.party[0], target, true);
	bed_close(&bed);
}

/* A post to an address is for the endpoint that is there, even if the device has not read yet that the one before has closed. */
Test(sim_peers, closes_and_comes_back_at_once)
{
	for (uint64_t seed = 640; seed < 680; seed++) {
		struct party *fresh;
		struct region *target;
		struct bed bed;

		bed_open(&bed, seed, 2, NULL, NULL);
		one_op(&bed, bed.party[0], region_open(bed.party[1], 4096, 1, BED_BOTH, false, 42), true);
		party_close(bed.party[1]);
		fresh = party_again(bed.party[1], bed.node[1], NULL);
		target = region_open(fresh, 100000, 1, BED_BOTH, false, 42);
		post(job_rma(bed.party[0], target, OP_WRITE, 0, 70000, POST_COMPLETE | POST_CQ_DATA, 1));
		post(job_rma(bed.party[0], target, OP_READ, 80000, 100, POST_COMPLETE, 1));
		post(job_atomic(bed.party[0], target, JOB_FETCH_SUM, 90048, 8, POST_COMPLETE, 1));
		post(job_message(bed.party[0], fresh, 100, POST_COMPLETE, 1));
		post(job_message(bed.party[0], fresh, 100000, POST_COMPLETE, 1));
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}

/* What the one before has executed is not done again, and what it has begun alone fails. */
Test(sim_peers, closes_in_mid_transfer_and_comes_back)
{
	unsigned first = 0, second = 0, failed = 0;

	for (uint64_t seed = 680; seed < 760; seed++) {
		struct job *job[8];
		struct party *fresh;
		struct bed bed;

		bed_open(&bed, seed, 2, NULL, NULL);
		bed.world->weather.chunk_max = 400;
		bed.model->counts_exact = false;
		job_outcome(&bed.model->peers_may, REFUSAL_PEER_GONE);
		one_op(&bed, bed.party[0], region_open(bed.party[1], 4096, 1, BED_BOTH, false, 42), true);
		for (int i = 0; i < 8; i++)
			job[i] = post(job_message(bed.party[0], bed.party[1], i & 1 ? 90000 : 300, POST_COMPLETE, 1));
		world_pass(bed.world, rnd_below(&bed.world->rnd, 60000));
		node_enter(bed.node[1]);
		ep_close(bed.party[1]->ep); /* at once: not when all is answered */
		node_leave(bed.node[1]);
		bed.party[1]->ep = NULL;
		fresh = party_again(bed.party[1], bed.node[1], NULL);
		for (int i = 0; i < 8; i++)
			intake_post(fresh, 90000, 1, NULL);
		model_finish(bed.model, SIM_SECOND);
		for (int i = 0; i < 8; i++) {
			failed += job[i]->failed;
			second += !job[i]->failed && job[i]->delivered;
			first += !job[i]->failed && !job[i]->delivered;
		}
		bed_close(&bed);
	}
	cr_assert_gt(first, 30);
	cr_assert_gt(second, 30);
	cr_assert_gt(failed, 10);
}

static void silence(bool met, uint64_t heals_after_ns)
{
	struct nic_config config = { .retry_budget_ns = 3 * SIM_SECOND };
	struct bed bed;
	struct region *target;
	struct job *job;
	uint64_t begin;

	bed_open(&bed, 114, 2, &config, NULL);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	if (met)
		one_op(&bed, bed.party[0], target, true);
	node_cut_off(bed.node[1], true);
	job = job_rma(bed.party[0], target, OP_WRITE, 0, 100, POST_COMPLETE, 1);
	job->may.good = heals_after_ns;
	if (!heals_after_ns)
		job_may(job, REFUSAL_UNREACHABLE);
	begin = bed.world->now_ns;
	post(job);
	if (heals_after_ns) {
		model_pass(bed.model, heals_after_ns);
		node_cut_off(bed.node[1], false);
	}
	model_finish(bed.model, 20 * SIM_SECOND);
	WORLD_CHECK(bed.world, heals_after_ns || bed.world->now_ns - begin >= 3 * SIM_SECOND, "gave up early");
	/* A dial that hangs takes its time out of the budget. */
	WORLD_CHECK(bed.world, heals_after_ns || met || bed.world->now_ns - begin <= 4 * SIM_SECOND, "gave up late");
	node_cut_off(bed.node[1], false);
	one_op(&bed, bed.party[0], target, true);
	bed_close(&bed);
}

Test(sim_peers, never_reached)
{
	silence(false, 0);
}

Test(sim_peers, falls_silent)
{
	silence(true, 0);
}

Test(sim_peers, silent_for_a_while)
{
	silence(false, 2 * SIM_SECOND);
	silence(true, 2 * SIM_SECOND);
}

/* An endpoint that addresses itself, and two endpoints of one NIC. */
static void inside(uint64_t seed, int parties)
{
	struct bed bed;
	struct workload load;

	bed_open(&bed, seed, 1, NULL, NULL);
	for (int i = 1; i < parties; i++)
		bed.party[i] = party_open(bed.model, bed.node[0], NULL);
	bed_meet(&bed);
	bed.world->weather.chunk_max = 3000;
	workload_init(&load, bed.model, 800);
	workload_run(&load, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_peers, itself)
{
	inside(115, 1);
}

Test(sim_peers, another_of_the_same_nic)
{
	inside(116, 3);
}

/* Only ops to the address without an endpoint fail. */
Test(sim_peers, no_such_index)
{
	struct bed bed;
	struct region *target;
	struct job *job;

	bed_open(&bed, 117, 2, NULL, NULL);
	target = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	one_op(&bed, bed.party[0], target, true);
	job = job_refused(bed.party[0], bed.party[1], OP_WRITE, target->key, 0, 8, REFUSAL_ADDRESS);
	cr_assert(!av_remove(bed.party[0]->av, bed.party[0]->index[1]));
	post(job);
	model_finish(bed.model, SIM_SECOND);
	bed_close(&bed);
}
