/* SPDX-License-Identifier: BSD-2-Clause */
/* firewall.c - a peer behind a firewall (av_wall(), WIRE-137): it dials, and is not dialled; its connection breaks at any byte. */
#include <criterion/criterion.h>

#include "emu/nic/base/address.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/bed.h"
#include "tests/sim/harness/cable.h"
#include "tests/sim/harness/words.h"

enum { OUTSIDE, INSIDE };
#define BUDGET_NS (3 * SIM_SECOND)

struct scene {
	struct bed bed;
	struct region *region[2]; /* each party's own */
};

static void scene_open_as(struct scene *scene, uint64_t seed, bool walled)
{
	struct nic_config config = { .retry_budget_ns = BUDGET_NS };
	struct party *outside;

	bed_open(&scene->bed, seed, 2, &config, NULL);
	scene->bed.model->counts_exact = false;
	outside = scene->bed.party[OUTSIDE];
	if (walled)
		av_wall(outside->av, outside->index[INSIDE]);
	for (int i = 0; i < 2; i++)
		scene->region[i] = region_open(scene->bed.party[i], 65536, 1, BED_BOTH, false, 0);
}

static void scene_open(struct scene *scene, uint64_t seed)
{
	scene_open_as(scene, seed, true);
}

/* None of the connections was dialled from outside. */
static void scene_close(struct scene *scene)
{
	struct world *world = scene->bed.world;

	for (uint32_t i = 0; i < world->cables; i++)
		WORLD_CHECK(world, world->cable[i]->end[0].node != scene->bed.node[OUTSIDE], "dialled from outside");
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

/* As a peer of an earlier release: it does not know that it is not dialled. */
static void forget(struct scene *scene)
{
	party_session(scene->bed.party[INSIDE], scene->bed.party[OUTSIDE])->dials_for_both = false;
}

/* Nothing of an earlier peer's own is on its way: the operation waits for it, for twice the budget, as for any other that is
 * away. */
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
	forget(&scene);
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

Test(sim_firewall, a_cut_under_an_op_of_the_other_which_an_earlier_peer_returns_to)
{
	for (uint64_t seed = 0; seed < 40; seed++)
		cut_alone(1100 + seed, true, REFUSAL_NONE);
}

Test(sim_firewall, a_cut_under_an_op_of_the_other_and_an_earlier_peer_stays_away)
{
	for (uint64_t seed = 0; seed < 40; seed++)
		cut_alone(1200 + seed, false, REFUSAL_FIREWALL);
}

/* The peer has nothing to send: it dials again for the other, whose operation is executed once. */
Test(sim_firewall, a_cut_under_an_op_of_the_other_for_which_the_peer_dials)
{
	for (uint64_t seed = 0; seed < 80; seed++) {
		struct scene scene;
		struct bed *bed = &scene.bed;

		scene_open(&scene, 1400 + seed);
		bed->world->weather.chunk_max = 900;
		world_fault(bed->world, FAULT_CUT, 0, 1, 1000 + rnd_below(&bed->world->rnd, 50000));
		world_fault(bed->world, FAULT_CUT, 1, seed & 1, rnd_below(&bed->world->rnd, 400)); /* perhaps the greeting */
		meet(&scene);
		post(op(&scene, OUTSIDE, 0, 60000));
		post(job_message(bed->party[OUTSIDE], bed->party[INSIDE], 300, POST_COMPLETE, 1));
		model_drain(bed->model, SIM_SECOND);
		WORLD_CHECK(bed->world, bed->world->cables_made > 1, "was not cut");
		model_end(bed->model, SIM_SECOND);
		scene_close(&scene);
	}
}

/* Neither has anything on its way: they are connected again before either posts. */
Test(sim_firewall, a_cut_while_idle)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct scene scene;
		struct bed *bed = &scene.bed;

		scene_open(&scene, 1500 + seed);
		meet(&scene);
		for (int cut = 0; cut < 3; cut++) {
			cable_break(bed->world->cable[0], false);
			model_pass(bed->model, SIM_SECOND);
			WORLD_CHECK(bed->world, bed->world->cables_made == 2u + (uint32_t)cut, "was not dialled again, or twice");
			post(op(&scene, OUTSIDE, 0, 8));
			model_end(bed->model, SIM_SECOND / 100);
		}
		scene_close(&scene);
	}
}

/* Dials for a peer that has ended, or cannot be reached, end in time; the next operation begins anew. */
static void peer_goes(bool dies)
{
	struct scene scene;
	struct bed *bed = &scene.bed;
	struct session *session;
	uint32_t made;

	scene_open(&scene, 1600);
	meet(&scene);
	session = party_session(bed->party[INSIDE], bed->party[OUTSIDE]);
	if (dies)
		model_kill(bed->model, bed->node[OUTSIDE]);
	else
		node_cut_off(bed->node[OUTSIDE], true);
	model_pass(bed->model, LINES_TIMEOUT_NS + 3 * BUDGET_NS);
	made = bed->world->cables_made;
	cr_assert_gt(made, 1);
	cr_assert(session->state == SESSION_IDLE && session->peer_is == PEER_STRANGER);
	model_pass(bed->model, 20 * BUDGET_NS);
	cr_assert_eq(bed->world->cables_made, made, "dials for ever");
	node_cut_off(bed->node[OUTSIDE], false);
	if (!dies) {
		meet(&scene);
		post(op(&scene, OUTSIDE, 0, 8));
		model_end(bed->model, SIM_SECOND);
	}
	scene_close(&scene);
}

Test(sim_firewall, a_peer_that_has_ended_is_not_dialled_for_ever)
{
	peer_goes(true);
}

Test(sim_firewall, a_peer_that_cannot_be_reached_is_not_dialled_for_ever)
{
	peer_goes(false);
}

/* The budget of the peer's own operations is over: its session lives as long as the other's, which has one on its way. */
Test(sim_firewall, an_outage_that_is_longer_than_the_budget)
{
	struct scene scene;
	struct bed *bed = &scene.bed;
	struct session *session;
	uint64_t life, until_ns;

	scene_open(&scene, 1650);
	meet(&scene);
	session = party_session(bed->party[OUTSIDE], bed->party[INSIDE]);
	life = session->rsp.generation;
	node_cut_off(bed->node[INSIDE], true);
	while (session->conn)
		cr_assert(model_step(bed->model));
	until_ns = bed->world->now_ns + BUDGET_NS + BUDGET_NS / 2;
	post(op(&scene, OUTSIDE, 0, 8));
	model_pass(bed->model, until_ns - bed->world->now_ns);
	cr_assert_geq(bed->world->now_ns, until_ns);
	node_cut_off(bed->node[INSIDE], false);
	model_end(bed->model, SIM_SECOND);
	cr_assert_eq(session->rsp.generation, life);
	scene_close(&scene);
}

/* An address that comes behind a firewall during an outage is dialled no more. */
Test(sim_firewall, an_address_is_walled_while_it_is_to_be_dialled)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct scene scene;
		struct bed *bed = &scene.bed;
		struct party *outside;
		struct session *session;
		uint32_t made;

		scene_open_as(&scene, 1700 + seed, false);
		outside = bed->party[OUTSIDE];
		meet(&scene);
		session = party_session(outside, bed->party[INSIDE]);
		bed->world->weather.refuse_percent = 100;
		cable_break(bed->world->cable[0], false);
		post(op(&scene, OUTSIDE, 0, 8));
		while (session->state != SESSION_BACKOFF || bed->world->now_ns >= session->retry_ns)
			cr_assert(model_step(bed->model));
		made = bed->world->cables_made;
		av_wall(outside->av, outside->index[INSIDE]);
		model_pass(bed->model, SIM_SECOND);
		cr_assert_eq(session->state, SESSION_IDLE);
		cr_assert_eq(bed->world->cables_made, made, "was dialled");
		bed->world->weather.refuse_percent = 0;
		meet(&scene);
		model_end(bed->model, SIM_SECOND);
		bed_close(bed);
	}
}

/* The peer's process has died: another comes back under its address. Nobody can be asked there: it waits for half the budget. */
Test(sim_firewall, a_peer_that_was_restarted_is_let_in)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct scene scene;
		struct bed *bed = &scene.bed;
		struct nic_config config = { .retry_budget_ns = BUDGET_NS };
		struct party *again;
		uint64_t gone_ns;

		scene_open(&scene, 1800 + seed);
		meet(&scene);
		model_kill(bed->model, bed->node[INSIDE]);
		model_pass(bed->model, SIM_SECOND / 10);
		gone_ns = bed->world->now_ns;
		again = party_again(bed->party[INSIDE], node_open(bed->world, &config), NULL);
		party_meet(again, bed->party[OUTSIDE]);
		post(job_rma(again, scene.region[OUTSIDE], OP_WRITE, 0, 8, POST_COMPLETE, 1));
		model_finish(bed->model, BUDGET_NS);
		WORLD_CHECK(bed->world, bed->world->now_ns - gone_ns > BUDGET_NS / 3, "an address is had for the asking");
		post(job_message(bed->party[OUTSIDE], again, 8, POST_COMPLETE, 1));
		model_end(bed->model, SIM_SECOND);
		cr_assert(node_logged(bed->node[OUTSIDE], "stays away"));
		scene_close(&scene);
	}
}

/* The peer has given its session up, the other has not. */
Test(sim_firewall, a_session_that_the_peer_has_given_up_gives_way)
{
	struct scene scene;
	struct bed *bed = &scene.bed;
	struct job *job;

	scene_open(&scene, 1850);
	meet(&scene);
	node_cut_off(bed->node[INSIDE], true);
	job = op(&scene, INSIDE, 0, 8);
	job->may.good = false;
	job_may(job, REFUSAL_UNREACHABLE);
	post(job);
	model_finish(bed->model, LINES_TIMEOUT_NS + 2 * BUDGET_NS);
	cr_assert_eq(party_session(bed->party[OUTSIDE], bed->party[INSIDE])->peer_is, PEER_KNOWN);
	node_cut_off(bed->node[INSIDE], false);
	meet(&scene);
	post(op(&scene, OUTSIDE, 0, 8));
	model_end(bed->model, SIM_SECOND);
	scene_close(&scene);
}

/* A stranger in the peer's name is sent away while the peer is connected, and for a while after a cut; no dial asks. */
Test(sim_firewall, a_stranger_does_not_take_the_place_of_the_peer)
{
	for (int away = 0; away < 2; away++) {
		struct scene scene;
		struct bed *bed = &scene.bed;
		struct words words = { .bed = bed };
		struct wire_hello_fields fields;
		uint8_t heard[sizeof(struct wire_head) + sizeof(struct wire_bye)];
		struct session *session;
		struct raw *raw;
		uint64_t life;

		scene_open(&scene, 1860);
		meet(&scene);
		session = party_session(bed->party[OUTSIDE], bed->party[INSIDE]);
		life = session->rsp.generation;
		bed->world->now_ns += 2 * BUDGET_NS;
		bed->node[INSIDE]->asleep = away;
		if (away)
			cable_break(bed->world->cable[0], false);
		fields = plain_hello(&words);
		address_put(&bed->party[INSIDE]->name, &fields.at);
		say_hello(&words, &fields);
		raw = raw_dial(bed->world, party_port(bed->party[OUTSIDE]));
		raw_send(raw, words.bytes, words.length);
		raw_hear(raw, heard, sizeof(heard));
		cr_assert_eq(heard[0], WIRE_BYE);
		cr_assert_eq(wire_get32(((struct wire_bye *)(heard + sizeof(struct wire_head)))->reason), WIRE_BYE_CLAIM);
		raw_close(raw);
		bed->node[INSIDE]->asleep = false;
		cr_assert_null(session->question);
		post(op(&scene, OUTSIDE, 0, 8));
		model_end(bed->model, SIM_SECOND);
		cr_assert_eq(session->rsp.generation, life);
		scene_close(&scene);
	}
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
