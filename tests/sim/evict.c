/* SPDX-License-Identifier: BSD-2-Clause */
/* evict.c - a listener that has no descriptors left: idle connections make room for those that come, and harm no peer by it
 * (WIRE-79). */
#include <criterion/criterion.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/greeting.h"
#include "tests/sim/harness/words.h"

enum { HELLO = sizeof(struct wire_head) + sizeof(struct wire_hello), LINES = 24, PARTIES = 4 };

struct scene {
	struct bed bed;
	struct region *region; /* of party 0, which is short of lines */
	struct raw *raw[LINES];
};

/* All that party 0 has are taken: by party 1, if it is `known` to it, perhaps as one behind a firewall, and by strangers that greet
 * and say nothing more. */
static void scene_open_as(struct scene *scene, uint64_t seed, bool known, bool walled)
{
	struct bed *bed = &scene->bed;
	struct words words = { .bed = bed };
	uint8_t heard[HELLO];

	bed_open(bed, seed, PARTIES, NULL, NULL);
	bed->model->counts_exact = false;
	if (walled)
		av_wall(bed->party[0]->av, bed->party[0]->index[1]);
	scene->region = region_open(bed->party[0], 65536, 1, BED_BOTH, false, 0);
	if (known) {
		cr_assert(!job_post(job_rma(bed->party[1], scene->region, OP_WRITE, 0, 64, POST_COMPLETE, 1)));
		model_end(bed->model, SIM_SECOND);
	}
	for (; lines_open(bed->node[0]) < LINES; words.who++) {
		struct wire_hello_fields fields = plain_hello(&words);

		words.length = 0;
		say_hello(&words, &fields);
		scene->raw[words.who] = raw_dial(bed->world, party_port(bed->party[0]));
		raw_send(scene->raw[words.who], words.bytes, words.length);
		raw_hear(scene->raw[words.who], heard, sizeof(heard));
	}
	bed->node[0]->lines_max = LINES;
}

static void scene_open(struct scene *scene, uint64_t seed, bool known)
{
	scene_open_as(scene, seed, known, false);
}

static void scene_close(struct scene *scene)
{
	for (int i = 0; i < LINES && scene->raw[i]; i++)
		raw_close(scene->raw[i]);
	bed_close(&scene->bed);
}

static struct session *with_party(struct scene *scene, int party)
{
	struct session *session;

	node_enter(scene->bed.node[0]);
	session = session_get(scene->bed.party[0]->ep, &scene->bed.party[party]->ep->name);
	node_leave(scene->bed.node[0]);
	return session;
}

static void writes(struct scene *scene, int party)
{
	cr_assert(
		!job_post(job_rma(scene->bed.party[party], scene->region, OP_WRITE, (uint64_t)party * 4096, 64, POST_COMPLETE, 1)));
	model_finish(scene->bed.model, 4 * SIM_SECOND);
}

Test(sim_evict, is_made_for_a_new_peer)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct scene scene = { .region = NULL };

		scene_open(&scene, seed, false);
		for (int party = 1; party < PARTIES; party++)
			writes(&scene, party);
		cr_assert_leq(lines_open(scene.bed.node[0]), LINES);
		cr_assert(node_logged(scene.bed.node[0], "make room"));
		scene_close(&scene);
	}
}

/* And for its own dials. */
Test(sim_evict, is_made_for_a_dial)
{
	struct scene scene = { .region = NULL };
	struct region *theirs;

	scene_open(&scene, 30, false);
	theirs = region_open(scene.bed.party[2], 4096, 1, BED_BOTH, false, 0);
	cr_assert(!job_post(job_rma(scene.bed.party[0], theirs, OP_WRITE, 0, 64, POST_COMPLETE, 1)));
	model_finish(scene.bed.model, 4 * SIM_SECOND);
	scene_close(&scene);
}

/* Strangers go before a peer that has done something, and that keeps its session if it has to go as well. */
Test(sim_evict, ends_no_session)
{
	for (uint64_t seed = 40; seed < 60; seed++) {
		struct scene scene = { .region = NULL };
		struct session *session;
		uint64_t life;

		scene_open(&scene, seed, true);
		session = with_party(&scene, 1);
		life = session->rsp.generation;
		world_pass(scene.bed.world, 2 * SIM_SECOND);
		writes(&scene, 2);
		cr_assert_eq(session->state, SESSION_OPEN, "strangers are enough");
		world_pass(scene.bed.world, 2 * SIM_SECOND);
		node_enter(scene.bed.node[0]);
		while (session->conn && evict_idle(scene.bed.node[0]->nic))
			;
		node_leave(scene.bed.node[0]);
		if (session->conn) { /* that was the first look at it */
			world_pass(scene.bed.world, 2 * SIM_SECOND);
			node_enter(scene.bed.node[0]);
			cr_assert(evict_idle(scene.bed.node[0]->nic));
			node_leave(scene.bed.node[0]);
		}
		cr_assert_null(session->conn);
		world_pass(scene.bed.world, SIM_SECOND);
		writes(&scene, 1);
		cr_assert_eq(session->rsp.generation, life, "the session went on");
		scene_close(&scene);
	}
}

/* A peer with a message that no receive has taken yet, or with an op under way, is not touched, however long that is. */
Test(sim_evict, spares_who_waits)
{
	struct scene scene = { .region = NULL };
	struct session *session;
	struct conn *conn;

	scene_open(&scene, 70, true);
	session = with_party(&scene, 1);
	conn = session->conn;
	for (int turn = 0; turn < 9; turn++) {
		session->messages = turn / 3 == 0;
		session->rsp.rsend.open = turn / 3 == 1;
		session->rsp.deaf = turn / 3 == 2;
		world_pass(scene.bed.world, 2 * SIM_SECOND);
		node_enter(scene.bed.node[0]);
		while (evict_idle(scene.bed.node[0]->nic))
			;
		node_leave(scene.bed.node[0]);
		cr_assert_eq(session->conn, conn, "%d", turn);
	}
	session->rsp.deaf = false;
	scene_close(&scene);
}

static const struct line *with_descriptor;

static bool is_another(const struct line *line)
{
	return line != with_descriptor;
}

static void evict(struct scene *scene)
{
	node_enter(scene->bed.node[0]);
	cr_assert(evict_idle(scene->bed.node[0]->nic));
	node_leave(scene->bed.node[0]);
}

/* A peer behind a firewall (av_wall()) is the last to go, though it alone frees a descriptor, and it comes back by itself. */
Test(sim_evict, takes_a_peer_behind_a_firewall_last)
{
	for (uint64_t seed = 80; seed < 90; seed++) {
		struct scene scene = { .region = NULL };
		struct bed *bed = &scene.bed;
		struct region *theirs;
		struct session *session;
		struct conn *conn;
		uint64_t life;

		scene_open_as(&scene, seed, true, true);
		theirs = region_open(bed->party[1], 4096, 1, BED_BOTH, false, 0);
		session = with_party(&scene, 1);
		life = session->rsp.generation;
		conn = session->conn;
		with_descriptor = conn->line;
		bed->node[0]->nic->link.shares = is_another;
		node_enter(bed->node[0]);
		evict_candidate(conn);
		node_leave(bed->node[0]);
		bed->world->now_ns += 2 * SIM_SECOND;
		evict(&scene);
		cr_assert_eq(lines_open(bed->node[0]), LINES - SLICE_ROOM);
		cr_assert_eq(session->conn, conn);
		evict(&scene);
		cr_assert_null(session->conn);
		world_pass(bed->world, SIM_SECOND);
		cr_assert(session->state == SESSION_OPEN && session->rsp.generation == life);
		cr_assert(!job_post(job_rma(bed->party[0], theirs, OP_WRITE, 0, 64, POST_COMPLETE, 1)));
		model_finish(bed->model, SIM_SECOND);
		scene_close(&scene);
	}
}

/* The last in the order of time, but the only one that frees a descriptor, goes at the first round, which takes SLICE_ROOM. */
Test(sim_evict, begins_with_what_frees_a_descriptor)
{
	struct scene scene = { .region = NULL };
	struct conn *last = NULL;
	struct nic *nic;

	scene_open(&scene, 90, false);
	nic = scene.bed.node[0]->nic;
	world_pass(scene.bed.world, 2 * SIM_SECOND);
	node_enter(scene.bed.node[0]);
	for (struct conn *conn = nic->conns; conn; conn = conn->next)
		if (!last || conn->moved_ns > last->moved_ns)
			last = conn;
	with_descriptor = last->line;
	nic->link.shares = is_another;
	cr_assert(evict_idle(nic));
	cr_assert_eq(lines_open(scene.bed.node[0]), LINES - SLICE_ROOM);
	for (struct conn *conn = nic->conns; conn; conn = conn->next)
		cr_assert_neq(conn, last);
	node_leave(scene.bed.node[0]);
	scene_close(&scene);
}
