/* SPDX-License-Identifier: BSD-2-Clause */
/* service.c - passive endpoints are found by their number, whatever datagrams are lost, doubled or forged; and what two connected
 * endpoints note to each other arrives once (WIRE-180, WIRE-181, WIRE-184). */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "emu/nic/endpoint/service.h"
#include "tests/sim/harness/ends.h"
#include "tests/sim/harness/ports.h"
#include "wire/rdma.h"

enum { NUMBER = 7174 };

static void meet_by_number(struct ends *ends)
{
	struct world *world = ends->world;

	end_serve(&ends->listens, NUMBER);
	end_ask(&ends->asks, &ends->listens, NUMBER, "by number");
	end_await(world, &ends->listens, CM_REQUEST);
	WORLD_CHECK(world, end_data_is(&ends->listens, "by number"), "not what was said");
	end_accept(&ends->accepts, &ends->listens, "come in");
	end_await(world, &ends->asks, CM_CONNECTED);
	end_await(world, &ends->accepts, CM_CONNECTED);
	end_message(world, &ends->asks, &ends->accepts, 40);
}

Test(sim_service, found_by_its_number)
{
	struct ends ends;

	ends_open(&ends, 900);
	meet_by_number(&ends);
	ends_close(&ends);
}

/* WIRE-181: a question is repeated. */
Test(sim_service, in_bad_weather)
{
	for (uint64_t seed = 910; seed < 960; seed++) {
		struct ends ends;

		ends_open(&ends, seed);
		ends.world->weather.lose_percent = 40;
		ends.world->weather.twice_percent = 20;
		ends.world->weather.flip_percent = 20;
		ends.world->weather.full_percent = 10;
		ends.world->weather.delay_max_ns = SIM_SECOND / 20;
		meet_by_number(&ends);
		ends_close(&ends);
	}
}

Test(sim_service, nobody_has_the_number)
{
	struct ends ends;
	uint64_t before_ns;

	ends_open(&ends, 901);
	before_ns = ends.world->now_ns;
	end_ask(&ends.asks, &ends.listens, NUMBER, "");
	end_await(ends.world, &ends.asks, CM_REFUSED);
	cr_assert_eq(ends.asks.err, ECONNREFUSED);
	cr_assert_lt(ends.world->now_ns - before_ns, SIM_SECOND, "it is told at once");
	ends_close(&ends);
}

Test(sim_service, nobody_answers)
{
	struct ends ends;

	ends_open(&ends, 902);
	end_serve(&ends.listens, NUMBER);
	ends.world->weather.lose_percent = 100;
	end_ask(&ends.asks, &ends.listens, NUMBER, "");
	end_await(ends.world, &ends.asks, CM_REFUSED);
	cr_assert_eq(ends.asks.err, ETIMEDOUT);
	ends_close(&ends);
}

Test(sim_service, closed_while_it_asks)
{
	struct ends ends;

	ends_open(&ends, 903);
	end_serve(&ends.listens, NUMBER);
	ends.world->weather.lose_percent = 100;
	end_ask(&ends.asks, &ends.listens, NUMBER, "");
	world_pass(ends.world, SIM_SECOND);
	end_close(&ends.asks);
	world_pass(ends.world, 20 * SIM_SECOND);
	ends_close(&ends);
}

/* WIRE-180, WIRE-181: strangers get an answer to a right question alone, and the asking side takes that of its own question. */
Test(sim_service, strangers)
{
	struct wire_service_fields fields = { .service = NUMBER, .nonce = 1 };
	struct wire_service bytes;
	struct ends ends;
	uint64_t sent;

	ends_open(&ends, 904);
	end_serve(&ends.listens, NUMBER);
	for (int i = 0; i < 500; i++) {
		uint8_t junk[64];

		memset(junk, i, sizeof(junk));
		ports_inject(ends.world, NUMBER, junk, (size_t)i % 65);
	}
	fields.kind = WIRE_SERVICE_ANSWER;
	fields.port = 4711;
	wire_put_service(&bytes, &fields);
	ports_inject(ends.world, NUMBER, &bytes, sizeof(bytes));
	fields = (struct wire_service_fields){ .kind = WIRE_SERVICE_QUESTION, .service = NUMBER + 1, .nonce = 1 };
	wire_put_service(&bytes, &fields);
	ports_inject(ends.world, NUMBER, &bytes, sizeof(bytes));
	sent = ends.world->packets_sent;
	world_pass(ends.world, SIM_SECOND);
	cr_assert_eq(ends.world->packets_sent, sent, "a stranger was answered");
	end_ask(&ends.asks, &ends.listens, NUMBER, "");
	end_await(ends.world, &ends.listens, CM_REQUEST);
	ends_close(&ends);
}

/* The first question of an asking side, which does not arrive; and the port where it waits for the answer. */
static struct wire_service_fields open_and_steal(struct ends *ends, uint64_t seed, uint16_t *asks_at)
{
	struct wire_service_fields fields;
	struct wire_service bytes;

	ends_open(ends, seed);
	end_serve(&ends->listens, NUMBER);
	end_ask(&ends->asks, &ends->listens, NUMBER, "by number");
	WORLD_CHECK(ends->world, ports_steal(ends->world, NUMBER, &bytes, sizeof(bytes), asks_at) == sizeof(bytes), "no question");
	WORLD_CHECK(ends->world, wire_get_service(&bytes, sizeof(bytes), &fields) && fields.kind == WIRE_SERVICE_QUESTION,
		    "that is no question");
	return fields;
}

static void forge(struct ends *ends, uint16_t to, const struct wire_service_fields *fields)
{
	struct wire_service bytes;

	wire_put_service(&bytes, fields);
	ports_inject(ends->world, to, &bytes, sizeof(bytes));
}

/* WIRE-180: a question, and an answer, with any bit changed is none; the asking side waits for a whole one. */
Test(sim_service, with_each_bit_changed)
{
	struct wire_service_fields fields;
	struct wire_service bytes;
	struct ends ends;
	uint16_t asks_at;
	uint64_t sent;

	fields = open_and_steal(&ends, 905, &asks_at);
	sent = ends.world->packets_sent;
	for (int answers = 0; answers < 2; answers++) {
		fields.kind = answers ? WIRE_SERVICE_ANSWER : WIRE_SERVICE_QUESTION;
		fields.port = answers ? 4711 : 0;
		for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
			wire_put_service(&bytes, &fields);
			((uint8_t *)&bytes)[bit / 8] ^= (uint8_t)(1 << bit % 8);
			ports_inject(ends.world, answers ? asks_at : NUMBER, &bytes, sizeof(bytes));
		}
	}
	world_pass(ends.world, TIME_MS(1));
	cr_assert_eq(ends.world->packets_sent, sent, "a question that is none was answered");
	cr_assert_eq(ends.asks.told[CM_REFUSED] + ends.asks.told[CM_CONNECTED], 0);
	end_await(ends.world, &ends.listens, CM_REQUEST);
	ends_close(&ends);
}

/* WIRE-181: of answers to other questions, and of its own question, the asking side takes nothing. */
Test(sim_service, answers_to_other_questions)
{
	struct wire_service_fields asked, other;
	struct ends ends;
	uint16_t asks_at;

	asked = open_and_steal(&ends, 906, &asks_at);
	forge(&ends, asks_at, &asked);
	asked.kind = WIRE_SERVICE_ANSWER;
	asked.port = 4711; /* where nobody listens */
	other = asked;
	other.nonce++;
	forge(&ends, asks_at, &other);
	other = asked;
	other.service++;
	forge(&ends, asks_at, &other);
	world_pass(ends.world, TIME_MS(1));
	cr_assert_eq(ends.asks.told[CM_REFUSED], 0);
	end_await(ends.world, &ends.listens, CM_REQUEST); /* of the question that was repeated */
	forge(&ends, asks_at, &asked);                    /* late, when it has its answer */
	end_accept(&ends.accepts, &ends.listens, "");
	end_await(ends.world, &ends.asks, CM_CONNECTED);
	end_await(ends.world, &ends.accepts, CM_CONNECTED);
	ends_close(&ends);
}

/* A liar that has seen the question sends the asking side wherever it likes: nobody is there, and it hears so. */
Test(sim_service, an_answer_that_lies)
{
	struct wire_service_fields asked;
	struct ends ends;
	uint16_t asks_at;

	asked = open_and_steal(&ends, 907, &asks_at);
	asked.kind = WIRE_SERVICE_ANSWER;
	asked.port = 4711;
	forge(&ends, asks_at, &asked);
	forge(&ends, asks_at, &asked);
	end_await(ends.world, &ends.asks, CM_REFUSED);
	cr_assert_eq(ends.asks.err, ECONNREFUSED);
	cr_assert_eq(ends.listens.told[CM_REQUEST], 0);
	ends_close(&ends);
}

/* A passive endpoint with a number is silent before it hears and when it has ended; then another may have the number. */
Test(sim_service, silent_before_and_after)
{
	uint16_t number = NUMBER;
	struct ends ends;
	struct end next;

	ends_open(&ends, 908);
	node_enter(ends.listens.node);
	cr_assert_eq(ep_serve(ends.listens.ep, &number), 0);
	node_leave(ends.listens.node);
	end_ask(&ends.asks, &ends.listens, NUMBER, "by number");
	world_pass(ends.world, 5 * SIM_SECOND);
	cr_assert_eq(ends.asks.told[CM_REFUSED] + ends.listens.told[CM_REQUEST], 0, "somebody has the number, who may hear soon");
	node_enter(ends.listens.node);
	ep_serve_hear(ends.listens.ep);
	node_leave(ends.listens.node);
	end_await(ends.world, &ends.listens, CM_REQUEST);
	end_reject(&ends.listens, "");
	end_await(ends.world, &ends.asks, CM_REFUSED);

	node_enter(ends.listens.node);
	ep_serve_end(ends.listens.ep);
	node_leave(ends.listens.node);
	end_close(&ends.asks);
	end_open(&ends.asks, ends.world->node[0], false);
	end_ask(&ends.asks, &ends.listens, NUMBER, "");
	end_await(ends.world, &ends.asks, CM_REFUSED);
	cr_assert_eq(ends.asks.err, ECONNREFUSED);
	cr_assert_eq(ends.listens.told[CM_REQUEST], 1);
	end_open(&next, ends.world->node[1], true);
	end_serve(&next, NUMBER);
	end_close(&next);
	ends_close(&ends);
}

/* --- notes --- */

static void notes_script(struct ends *ends)
{
	struct world *world = ends->world;

	ends_meet(ends);
	end_note(&ends->asks, WIRE_RDMA_READY, "ready");
	end_await(world, &ends->accepts, CM_NOTE);
	WORLD_CHECK(world, end_data_is(&ends->accepts, "ready"), "not what was noted");
	end_await(world, &ends->asks, CM_NOTED);
	end_shutdown(&ends->accepts);
	end_await(world, &ends->asks, CM_SHUTDOWN);
	world_pass(world, 5 * SIM_SECOND);
	WORLD_CHECK(world, ends->accepts.told[CM_NOTE] == 1 && ends->asks.told[CM_NOTED] == 1, "a note came twice");
}

/* WIRE-184 */
Test(sim_service, notes_in_bad_weather)
{
	for (uint64_t seed = 960; seed < 1060; seed++) {
		struct ends ends;

		ends_open(&ends, seed);
		ends.world->weather.cut_mean = 300;
		ends.world->weather.cuts_left = 12;
		ends.world->weather.chunk_max = 30;
		notes_script(&ends);
		ends_close(&ends);
	}
}
