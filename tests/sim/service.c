/* SPDX-License-Identifier: BSD-2-Clause */
/* service.c - services are found by their number, whatever datagrams are lost, doubled or forged; and what two managers say to each
 * other arrives once, and in order (WIRE-180, WIRE-181, WIRE-184). */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "emu/nic/endpoint/service.h"
#include "tests/sim/harness/ends.h"
#include "tests/sim/harness/ports.h"
#include "wire/rdma.h"

enum { NUMBER = 7174 };

/* Node 0 asks, node 1 serves. */
struct managers {
	struct world *world;
	struct end asks, serves;
};

static void managers_open(struct managers *m, uint64_t seed, bool serves)
{
	memset(m, 0, sizeof(*m));
	m->world = world_open(world_seed(seed));
	m->world->tapped = true;
	for (int i = 0; i < 2; i++)
		node_open(m->world, NULL);
	end_open_manager(&m->asks, m->world->node[0]);
	end_open_manager(&m->serves, m->world->node[1]);
	if (serves)
		end_serve(&m->serves, NUMBER);
}

static void managers_close(struct managers *m)
{
	end_close(&m->asks);
	end_close(&m->serves);
	world_close(m->world);
}

static void meet_by_number(struct managers *m)
{
	end_seek(&m->asks, &m->serves, NUMBER);
	end_await(m->world, &m->asks, CM_FOUND);
	end_say(&m->asks, &m->asks.peer, 6, "by number");
	end_await(m->world, &m->serves, CM_REQUEST);
	WORLD_CHECK(m->world, m->serves.request == 6 && end_data_is(&m->serves, "by number"), "not what was said");
	end_await(m->world, &m->asks, CM_SAID);
	WORLD_CHECK(m->world, !m->asks.err, "refused: %d", m->asks.err);
}

Test(sim_service, found_by_its_number)
{
	struct managers m;

	managers_open(&m, 900, true);
	meet_by_number(&m);
	managers_close(&m);
}

/* WIRE-181: a question is repeated. */
Test(sim_service, in_bad_weather)
{
	for (uint64_t seed = 910; seed < 960; seed++) {
		struct managers m;

		managers_open(&m, seed, true);
		m.world->weather.lose_percent = 40;
		m.world->weather.twice_percent = 20;
		m.world->weather.flip_percent = 20;
		m.world->weather.full_percent = 10;
		m.world->weather.delay_max_ns = SIM_SECOND / 20;
		meet_by_number(&m);
		managers_close(&m);
	}
}

Test(sim_service, nobody_has_the_number)
{
	struct managers m;
	uint64_t before_ns;

	managers_open(&m, 901, false);
	before_ns = m.world->now_ns;
	end_seek(&m.asks, &m.serves, NUMBER);
	end_await(m.world, &m.asks, CM_REFUSED);
	cr_assert_eq(m.asks.err, ECONNREFUSED);
	cr_assert_lt(m.world->now_ns - before_ns, TIME_ASK_REFUSED_NS + SIM_SECOND / 10, "it is told as soon as that is sure");
	managers_close(&m);
}

Test(sim_service, nobody_answers)
{
	struct managers m;

	managers_open(&m, 902, true);
	m.serves.turns_away = true;
	end_seek(&m.asks, &m.serves, NUMBER);
	end_await(m.world, &m.asks, CM_REFUSED);
	cr_assert_eq(m.asks.err, ETIMEDOUT);
	managers_close(&m);
}

/* A question that is taken back, and one that ends with its manager. */
Test(sim_service, closed_while_it_asks)
{
	struct service *question;
	struct managers m;

	managers_open(&m, 903, true);
	m.world->weather.lose_percent = 100;
	question = end_seek(&m.asks, &m.serves, NUMBER);
	end_seek(&m.asks, &m.serves, NUMBER);
	world_pass(m.world, SIM_SECOND);
	node_enter(m.asks.node);
	service_close(question);
	node_leave(m.asks.node);
	world_pass(m.world, SIM_SECOND);
	end_close(&m.asks);
	world_pass(m.world, 20 * SIM_SECOND);
	managers_close(&m);
}

/* WIRE-180, WIRE-181: strangers get an answer to a right question alone, and the asking side takes that of its own question. */
Test(sim_service, strangers)
{
	struct wire_service_fields fields = { .nonce = 1, .at = { .family = 4, .port = NUMBER, .addr = { 10, 0, 0, 2 } } };
	struct wire_service bytes;
	struct managers m;
	uint64_t sent;

	managers_open(&m, 904, true);
	for (int i = 0; i < 500; i++) {
		uint8_t junk[64];

		memset(junk, i, sizeof(junk));
		ports_inject(m.world, NUMBER, junk, (size_t)i % 65);
	}
	fields.kind = WIRE_SERVICE_ANSWER;
	fields.port = 4711;
	wire_put_service(&bytes, &fields);
	ports_inject(m.world, NUMBER, &bytes, sizeof(bytes));
	fields.kind = WIRE_SERVICE_QUESTION;
	fields.port = 0;
	fields.at.port = NUMBER + 1;
	wire_put_service(&bytes, &fields);
	ports_inject(m.world, NUMBER, &bytes, sizeof(bytes));
	sent = m.world->packets_sent;
	world_pass(m.world, SIM_SECOND);
	cr_assert_eq(m.world->packets_sent, sent, "a stranger was answered");
	meet_by_number(&m);
	managers_close(&m);
}

/* The first question of an asking side, which does not arrive; and the port where it waits for the answer. */
static struct wire_service_fields open_and_steal(struct managers *m, uint64_t seed, uint16_t *asks_at)
{
	struct wire_service_fields fields;
	struct wire_service bytes;

	managers_open(m, seed, true);
	end_seek(&m->asks, &m->serves, NUMBER);
	WORLD_CHECK(m->world, ports_steal(m->world, NUMBER, &bytes, sizeof(bytes), asks_at) == sizeof(bytes), "no question");
	WORLD_CHECK(m->world, wire_get_service(&bytes, sizeof(bytes), &fields) && fields.kind == WIRE_SERVICE_QUESTION,
		    "that is no question");
	return fields;
}

static void forge(struct managers *m, uint16_t to, const struct wire_service_fields *fields)
{
	struct wire_service bytes;

	wire_put_service(&bytes, fields);
	ports_inject(m->world, to, &bytes, sizeof(bytes));
}

/* WIRE-180: a question, and an answer, with any bit changed is none; the asking side waits for a whole one. */
Test(sim_service, with_each_bit_changed)
{
	struct wire_service_fields fields;
	struct wire_service bytes;
	struct managers m;
	uint16_t asks_at;
	uint64_t sent;

	fields = open_and_steal(&m, 905, &asks_at);
	sent = m.world->packets_sent;
	for (int answers = 0; answers < 2; answers++) {
		fields.kind = answers ? WIRE_SERVICE_ANSWER : WIRE_SERVICE_QUESTION;
		fields.port = answers ? 4711 : 0;
		for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
			wire_put_service(&bytes, &fields);
			((uint8_t *)&bytes)[bit / 8] ^= (uint8_t)(1 << bit % 8);
			ports_inject(m.world, answers ? asks_at : NUMBER, &bytes, sizeof(bytes));
		}
	}
	world_pass(m.world, TIME_MS(1));
	cr_assert_eq(m.world->packets_sent, sent, "a question that is none was answered");
	cr_assert_eq(m.asks.told[CM_REFUSED] + m.asks.told[CM_FOUND], 0);
	end_await(m.world, &m.asks, CM_FOUND);
	managers_close(&m);
}

/* WIRE-181: of answers to other questions, and of its own question, the asking side takes nothing. */
Test(sim_service, answers_to_other_questions)
{
	struct wire_service_fields asked, other;
	struct managers m;
	uint16_t asks_at;

	asked = open_and_steal(&m, 906, &asks_at);
	forge(&m, asks_at, &asked);
	asked.kind = WIRE_SERVICE_ANSWER;
	asked.port = 4711; /* where nobody listens */
	other = asked;
	other.nonce++;
	forge(&m, asks_at, &other);
	other = asked;
	other.at.port++;
	forge(&m, asks_at, &other);
	other = asked;
	other.at.addr[3]++;
	forge(&m, asks_at, &other);
	world_pass(m.world, TIME_MS(1));
	cr_assert_eq(m.asks.told[CM_REFUSED] + m.asks.told[CM_FOUND], 0);
	end_await(m.world, &m.asks, CM_FOUND); /* of the question that was repeated */
	forge(&m, asks_at, &asked);            /* late, when it has its answer */
	end_say(&m.asks, &m.asks.peer, 6, "by number");
	end_await(m.world, &m.serves, CM_REQUEST);
	managers_close(&m);
}

/* A liar that has seen the question sends the asking side wherever it likes: nobody is there, and it hears so. */
Test(sim_service, an_answer_that_lies)
{
	struct wire_service_fields asked;
	struct managers m;
	uint16_t asks_at;

	asked = open_and_steal(&m, 907, &asks_at);
	asked.kind = WIRE_SERVICE_ANSWER;
	asked.port = 4711;
	forge(&m, asks_at, &asked);
	forge(&m, asks_at, &asked);
	end_await(m.world, &m.asks, CM_FOUND);
	end_say(&m.asks, &m.asks.peer, 6, "by number");
	end_await(m.world, &m.asks, CM_SAID);
	cr_assert_eq(m.asks.err, ECONNREFUSED);
	cr_assert_eq(m.serves.told[CM_REQUEST], 0);
	managers_close(&m);
}

/* A service is silent before it hears and when it has ended; then another may have the number. */
Test(sim_service, silent_before_and_after)
{
	struct service *service;
	uint16_t number = NUMBER;
	struct managers m;

	managers_open(&m, 908, false);
	node_enter(m.serves.node);
	cr_assert_eq(service_open(m.serves.ep, &m.serves.name, &number, NULL, &service), 0);
	node_leave(m.serves.node);
	end_seek(&m.asks, &m.serves, NUMBER);
	world_pass(m.world, 5 * SIM_SECOND);
	cr_assert_eq(m.asks.told[CM_REFUSED] + m.asks.told[CM_FOUND], 0, "somebody has the number, who may hear soon");
	node_enter(m.serves.node);
	service_hear(service);
	node_leave(m.serves.node);
	end_await(m.world, &m.asks, CM_FOUND);

	node_enter(m.serves.node);
	service_close(service);
	node_leave(m.serves.node);
	end_seek(&m.asks, &m.serves, NUMBER);
	end_await(m.world, &m.asks, CM_REFUSED);
	cr_assert_eq(m.asks.err, ECONNREFUSED);
	end_serve(&m.serves, NUMBER);
	managers_close(&m);
}

/* --- words (WIRE-184) --- */

static void words_script(struct managers *m)
{
	struct world *world = m->world;

	end_say(&m->asks, &m->serves.name, 4, "may I?");
	end_await(world, &m->serves, CM_REQUEST);
	WORLD_CHECK(world, m->serves.request == 4 && end_data_is(&m->serves, "may I?"), "not what was said");
	end_say(&m->serves, &m->serves.peer, 5, "you may");
	end_await(world, &m->asks, CM_REQUEST);
	WORLD_CHECK(world, m->asks.request == 5 && end_data_is(&m->asks, "you may"), "not what was answered");
	end_await(world, &m->asks, CM_SAID);
	end_await(world, &m->serves, CM_SAID);
	world_pass(world, 5 * SIM_SECOND);
	WORLD_CHECK(world, m->asks.told[CM_REQUEST] == 1 && m->serves.told[CM_REQUEST] == 1, "a word came twice");
	WORLD_CHECK(world, m->asks.told[CM_SAID] == 1 && m->serves.told[CM_SAID] == 1, "the end of a word was told twice");
}

Test(sim_service, words_in_bad_weather)
{
	for (uint64_t seed = 960; seed < 1060; seed++) {
		struct managers m;

		managers_open(&m, seed, false);
		m.world->weather.cut_mean = 300;
		m.world->weather.cuts_left = 12;
		m.world->weather.chunk_max = 30;
		words_script(&m);
		managers_close(&m);
	}
}

Test(sim_service, words_to_itself)
{
	struct managers m;

	managers_open(&m, 905, false);
	end_say(&m.asks, &m.asks.name, 4, "myself");
	end_await(m.world, &m.asks, CM_REQUEST);
	cr_assert(end_data_is(&m.asks, "myself") && !memcmp(&m.asks.peer, &m.asks.name, sizeof(m.asks.name)));
	end_await(m.world, &m.asks, CM_SAID);
	managers_close(&m);
}

/* A word that is not taken, and ones to a connected endpoint, which takes none. */
Test(sim_service, words_refused)
{
	struct managers m;
	struct end other;

	managers_open(&m, 906, false);
	m.serves.turns_away = true;
	end_say(&m.asks, &m.serves.name, 4, "no");
	end_await(m.world, &m.asks, CM_SAID);
	cr_assert_eq(m.asks.err, ECONNREFUSED);
	m.asks.told[CM_SAID] = 0;
	end_open(&other, m.world->node[1], false);
	end_say(&m.asks, &other.name, 4, "no");
	end_await(m.world, &m.asks, CM_SAID);
	cr_assert_neq(m.asks.err, 0);
	end_close(&other);
	managers_close(&m);
}

static void keep(struct end *end, const struct sockaddr_storage *peer, bool lasts)
{
	node_enter(end->node);
	ep_keep(end->ep, peer, lasts);
	node_leave(end->node);
}

/* A peer's death is heard of where something lasts, by its next dial. */
Test(sim_service, the_peer_of_what_lasts_dies)
{
	for (int lasts = 0; lasts < 2; lasts++) {
		struct managers m;

		managers_open(&m, 907, false);
		words_script(&m);
		keep(&m.asks, &m.serves.name, true);
		keep(&m.asks, &m.serves.name, lasts);
		if (!lasts)
			keep(&m.asks, &m.serves.name, false);
		node_kill(m.world->node[1]);
		world_pass(m.world, 3 * SIM_SECOND);
		cr_assert_eq(m.asks.told[CM_SHUTDOWN], (unsigned)lasts);
		managers_close(&m);
	}
}
