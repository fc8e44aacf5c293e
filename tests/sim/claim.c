/* SPDX-License-Identifier: BSD-2-Clause */
/* claim.c - strangers that connect under addresses that are not theirs: a session with a known peer goes on until the endpoint
 * that listens at the peer's address says otherwise (WIRE-78). */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "tests/sim/harness/words.h"

enum { BYE = sizeof(struct wire_head) + sizeof(struct wire_bye), HELLO = sizeof(struct wire_head) + sizeof(struct wire_hello) };

struct scene {
	struct bed bed;
	struct words words;
	struct region *region; /* of party 0 */
};

static void scene_open(struct scene *scene, uint64_t seed)
{
	*scene = (struct scene){ .words = { .bed = &scene->bed } };
	bed_open(&scene->bed, seed, 2, NULL, NULL);
	scene->region = region_open(scene->bed.party[0], 8192, 1, BED_BOTH, false, 0);
}

static struct session *session_between(struct scene *scene, int here, int there)
{
	struct ep *ep = scene->bed.party[here]->ep;
	struct session *session;

	node_enter(scene->bed.node[here]);
	session = session_get(ep, &scene->bed.party[there]->ep->name);
	node_leave(scene->bed.node[here]);
	return session;
}

/* Party 1 writes to party 0, and it goes well. */
static void writes(struct scene *scene, uint64_t offset)
{
	cr_assert(!job_post(job_rma(scene->bed.party[1], scene->region, OP_WRITE, offset, 64, POST_COMPLETE, 1)));
	model_finish(scene->bed.model, 2 * SIM_SECOND);
}

/* HELLO to party 0, under the address of that party. */
static struct wire_hello_fields in_the_name_of(struct scene *scene, int party)
{
	struct wire_hello_fields fields = plain_hello(&scene->words);

	address_put(&scene->bed.party[party]->ep->name, &fields.at);
	return fields;
}

static struct raw *comes(struct scene *scene, const struct wire_hello_fields *fields)
{
	struct raw *raw = raw_dial(scene->bed.world, party_port(scene->bed.party[0]));

	scene->words.length = 0;
	say_hello(&scene->words, fields);
	raw_send(raw, scene->words.bytes, scene->words.length);
	return raw;
}

/* Why it is sent away, and that it is. */
static int refused(struct raw *raw)
{
	uint8_t heard[BYE];

	raw_hear(raw, heard, sizeof(heard));
	raw_close(raw);
	cr_assert_eq(heard[0], WIRE_BYE);
	return (int)wire_get32(((struct wire_bye *)(heard + sizeof(struct wire_head)))->reason);
}

static void accepted(struct raw *raw)
{
	uint8_t heard[HELLO];

	raw_hear(raw, heard, sizeof(heard));
	cr_assert_eq(heard[0], WIRE_HELLO);
}

/* Every peer that an endpoint has ever greeted knows all of its HELLO but the session's id. */
Test(sim_claim, ends_no_session)
{
	static const struct {
		bool instance, expected;
		uint64_t epoch;
		int answer;
	} claims[] = {
		{ true, true, 1ull << 40, WIRE_BYE_SESSION }, { true, false, 1ull << 40, WIRE_BYE_DUPLICATE },
		{ true, false, 1, WIRE_BYE_DUPLICATE },       { false, false, 1, WIRE_BYE_CLAIM },
		{ false, false, 1ull << 40, WIRE_BYE_CLAIM },
	};

	for (uint64_t seed = 0; seed < 2 * sizeof(claims) / sizeof(claims[0]); seed++) {
		struct scene scene;
		struct wire_hello_fields fields;
		struct session *session;
		struct conn *conn;
		uint64_t id;
		size_t i = seed / 2;

		scene_open(&scene, seed);
		writes(&scene, 0);
		session = session_between(&scene, 0, 1);
		id = session->id;
		conn = session->conn;
		cr_assert(conn && session->peer_is == PEER_KNOWN);
		if (seed & 1) /* with something under way */
			cr_assert(!job_post(job_rma(scene.bed.party[1], scene.region, OP_READ, 4096, 4000, POST_COMPLETE, 1)));
		fields = in_the_name_of(&scene, 1);
		fields.epoch = claims[i].epoch;
		if (claims[i].instance)
			memcpy(fields.instance, scene.bed.party[1]->ep->instance, WIRE_ID_LEN);
		if (claims[i].expected)
			memcpy(fields.expected, scene.bed.party[0]->ep->instance, WIRE_ID_LEN);
		cr_assert_eq(refused(comes(&scene, &fields)), claims[i].answer, "claim %zu", i);
		model_end(scene.bed.model, SIM_SECOND);
		world_pass(scene.bed.world, SIM_SECOND);
		cr_assert(session->peer_is == PEER_KNOWN && session->id == id && session->conn == conn, "claim %zu", i);
		cr_assert_null(session->question);
		cr_assert_eq(scene.bed.node[0]->nic->claims.open, 0);
		cr_assert_eq(scene.bed.node[0]->warns, fields.epoch != 1 || !claims[i].instance, "claim %zu", i);
		cr_assert_eq(strstr(scene.bed.node[1]->info, "asks whether its session goes on here") != NULL, !claims[i].expected,
			     "claim %zu", i);
		writes(&scene, 64);
		bed_close(&scene.bed);
	}
}

/* A stranger that is first under an address has it until its owner comes. */
Test(sim_claim, keeps_no_address)
{
	for (uint64_t seed = 20; seed < 40; seed++) {
		struct scene scene;
		struct wire_hello_fields fields;
		struct raw *raw;

		scene_open(&scene, seed);
		fields = in_the_name_of(&scene, 1);
		if (seed & 1) /* with the owner's instance id, even */
			memcpy(fields.instance, scene.bed.party[1]->ep->instance, WIRE_ID_LEN);
		raw = comes(&scene, &fields);
		accepted(raw);
		writes(&scene, 0);
		if (seed & 1)
			cr_assert(raw_closed(raw));
		else
			cr_assert_eq(refused(raw), WIRE_BYE_CLAIM);
		cr_assert(node_logged(scene.bed.node[0], "was asked for its instance"), "%s", scene.bed.node[0]->log[0]);
		if (!(seed & 1))
			cr_assert(node_logged(scene.bed.node[1], "another endpoint is known here"), "the owner is told");
		bed_close(&scene.bed);
	}
}

Test(sim_claim, is_not_the_receiver)
{
	struct scene scene;
	struct wire_hello_fields fields;

	scene_open(&scene, 50);
	fields = in_the_name_of(&scene, 0);
	cr_assert_eq(refused(comes(&scene, &fields)), WIRE_BYE_PROTOCOL);
	cr_assert(!job_post(job_rma(scene.bed.party[0], scene.region, OP_WRITE, 0, 64, POST_COMPLETE, 1)));
	model_end(scene.bed.model, SIM_SECOND);
	bed_close(&scene.bed);
}

/* Strangers choose the addresses that are asked: each is asked once a second, and of all no more than the bounds say. */
Test(sim_claim, has_few_dials_made)
{
	enum { ADDRESSES = 2 * LIMIT_CLAIMS, ROUNDS = 3 };
	struct scene scene;
	uint32_t dials = 0;

	scene_open(&scene, 60);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < ADDRESSES; i++) {
			struct wire_hello_fields fields;
			uint32_t cables;
			struct raw *raw;

			scene.words.who = i;
			fields = plain_hello(&scene.words);
			fields.instance[0] = (uint8_t)(round + 1);
			fields.session += round;
			cables = scene.bed.world->cables_made;
			raw = comes(&scene, &fields);
			raw_pause(raw);
			cr_assert_leq(scene.bed.node[0]->nic->claims.open, LIMIT_CLAIMS_OPEN);
			dials += scene.bed.world->cables_made - cables - 1;
			raw_close(raw);
		}
	}
	cr_assert(dials > 0);
	cr_assert_leq(dials, LIMIT_CLAIMS * (1 + scene.bed.world->now_ns / TIME_CLAIMS_NS));
	bed_close(&scene.bed);
}

/* A stranger that is, in each round, another one under its address. */
static void claims_again(struct scene *scene, uint32_t who, uint32_t round, int answer)
{
	struct wire_hello_fields fields;
	struct raw *raw;

	scene->words.who = who;
	fields = plain_hello(&scene->words);
	fields.instance[0] = (uint8_t)(round + 1);
	fields.session += round;
	raw = comes(scene, &fields);
	if (answer) {
		cr_assert_eq(refused(raw), answer);
	} else {
		accepted(raw);
		raw_pause(raw);
	}
}

/* Questions to addresses that do not answer give way to others, and are put less and less often. */
Test(sim_claim, under_addresses_that_do_not_answer)
{
	enum { ADDRESSES = 400, ROUNDS = 16, LAST = 8 };
	struct wire_hello_fields fields;
	struct scene scene;
	uint32_t cables = 0;

	scene_open(&scene, 65);
	writes(&scene, 0);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		claims_again(&scene, i, 0, 0);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint64_t end_ns = scene.bed.world->now_ns + TIME_CLAIM_NS;

		if (round == ROUNDS - LAST)
			cables = scene.bed.world->cables_made;
		scene.bed.world->weather.dial_max_ns = 100000 * SIM_SECOND;
		for (uint32_t i = 0; i < ADDRESSES; i++)
			claims_again(&scene, i, round, WIRE_BYE_CLAIM);
		cr_assert_leq(scene.bed.node[0]->nic->claims.open, LIMIT_CLAIMS_OPEN);
		scene.bed.world->weather.dial_max_ns = 0;
		if (scene.bed.world->now_ns < end_ns)
			world_pass(scene.bed.world, end_ns - scene.bed.world->now_ns);
	}
	cables = scene.bed.world->cables_made - cables - (LAST + 1) * ADDRESSES;
	cr_assert_leq(cables, (LAST + 1) * ADDRESSES / (TIME_CLAIM_MOST_NS / TIME_CLAIM_NS) + ADDRESSES, "%u", cables);
	fields = in_the_name_of(&scene, 1);
	fields.instance[9]++;
	cr_assert_eq(refused(comes(&scene, &fields)), WIRE_BYE_CLAIM);
	world_pass(scene.bed.world, SIM_SECOND);
	cr_assert(strstr(scene.bed.node[1]->info, "asks whether its session goes on here"), "the next is asked all the same");
	bed_close(&scene.bed);
}

/* An endpoint that is not there does not answer: the known peer stays, and no op waits for ever. */
Test(sim_claim, without_an_answer)
{
	struct scene scene;
	struct wire_hello_fields fields;
	struct session *session;
	struct raw *first;

	scene_open(&scene, 70);
	scene.bed.world->weather.dial_max_ns = 0;
	fields = in_the_name_of(&scene, 1);
	first = comes(&scene, &fields);
	accepted(first);
	session = session_between(&scene, 0, 1);
	node_cut_off(scene.bed.node[1], true);
	fields.instance[9]++;
	cr_assert_eq(refused(comes(&scene, &fields)), WIRE_BYE_CLAIM);
	cr_assert_not_null(session->question);
	cr_assert_eq(refused(comes(&scene, &fields)), WIRE_BYE_CLAIM);
	cr_assert_eq(scene.bed.node[0]->nic->claims.open, 1, "one question is enough");
	world_pass(scene.bed.world, 2 * LINES_TIMEOUT_NS);
	cr_assert_null(session->question);
	cr_assert_eq(scene.bed.node[0]->nic->claims.open, 0);
	cr_assert(session->state == SESSION_OPEN);
	raw_close(first);
	node_cut_off(scene.bed.node[1], false);
	bed_close(&scene.bed);
}
