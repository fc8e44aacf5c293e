/* SPDX-License-Identifier: BSD-2-Clause */
/* cm.c - connections come to be once, and end once, whatever is cut, killed or said by strangers (WIRE-80 to WIRE-84). */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "tests/sim/harness/ends.h"
#include "tests/sim/harness/lines.h"

static unsigned told(const struct end *end)
{
	unsigned sum = 0;

	for (int i = 0; i < ENDS_KINDS; i++)
		sum += end->told[i];
	return sum;
}

/* --- cuts --- */

static void accepted_script(struct ends *ends)
{
	struct world *world = ends->world;

	ends_meet(ends);
	end_message(world, &ends->asks, &ends->accepts, 40);
	end_message(world, &ends->accepts, &ends->asks, 30);
	end_shutdown(&ends->asks);
	end_await(world, &ends->accepts, CM_SHUTDOWN);
	world_pass(world, 5 * SIM_SECOND);
	WORLD_CHECK(world, told(&ends->asks) == 2 && told(&ends->accepts) == 2 && told(&ends->listens) == 1,
		    "something was told twice");
}

static void rejected_script(struct ends *ends)
{
	struct world *world = ends->world;

	end_connect(&ends->asks, &ends->listens, "may I come in?");
	end_await(world, &ends->listens, CM_REQUEST);
	end_reject(&ends->listens, "we are full");
	end_await(world, &ends->asks, CM_REFUSED);
	WORLD_CHECK(world, ends->asks.err == ECONNREFUSED && end_data_is(&ends->asks, "we are full"), "not what was said");
	world_pass(world, 5 * SIM_SECOND);
	WORLD_CHECK(world, told(&ends->asks) == 1 && told(&ends->listens) == 1, "something was told twice");
}

/* WIRE-82 */
Test(sim_cm, accepted_and_cut_at_every_byte)
{
	ends_cut_everywhere(accepted_script, 500, 2);
}

Test(sim_cm, rejected_and_cut_at_every_byte)
{
	ends_cut_everywhere(rejected_script, 501, 1);
}

/* Over and over, in bad weather: dials are refused, connections break. */
Test(sim_cm, in_bad_weather)
{
	for (uint64_t seed = 510; seed < 700; seed++) {
		struct ends ends;

		ends_open(&ends, seed);
		ends.world->weather.cut_mean = 300;
		ends.world->weather.cuts_left = 12;
		ends.world->weather.chunk_max = 30;
		accepted_script(&ends);
		ends_close(&ends);
	}
}

Test(sim_cm, long_messages)
{
	static const size_t lengths[] = { 0, 1, 65536, 65537, 131073, 1 << 20 };
	struct ends ends;

	ends_open(&ends, 502);
	ends_meet(&ends);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		end_message(ends.world, &ends.asks, &ends.accepts, lengths[i]);
		end_message(ends.world, &ends.accepts, &ends.asks, lengths[i]);
	}
	ends_close(&ends);
}

/* --- peers that are gone --- */

Test(sim_cm, nobody_listens)
{
	struct ends ends;

	ends_open(&ends, 503);
	end_close(&ends.listens);
	end_connect(&ends.asks, &ends.listens, "");
	end_await(ends.world, &ends.asks, CM_REFUSED);
	cr_assert_eq(ends.asks.err, ECONNREFUSED);
	ends_close(&ends);
}

Test(sim_cm, nobody_can_be_reached)
{
	struct ends ends;

	ends_open(&ends, 504);
	node_cut_off(ends.world->node[1], true);
	end_connect(&ends.asks, &ends.listens, "");
	end_await(ends.world, &ends.asks, CM_REFUSED);
	cr_assert_eq(ends.asks.err, ETIMEDOUT);
	node_cut_off(ends.world->node[1], false);
	ends_close(&ends);
}

/* The process that was asked dies before it answers, or ends in good order. */
Test(sim_cm, who_was_asked_is_gone)
{
	for (int dies = 0; dies < 2; dies++) {
		struct ends ends;
		uint64_t gone_ns;

		ends_open(&ends, 505);
		end_connect(&ends.asks, &ends.listens, "");
		end_await(ends.world, &ends.listens, CM_REQUEST);
		world_pass(ends.world, SIM_SECOND);
		cr_assert_eq(told(&ends.asks), 0, "a program may think as long as it likes");
		if (dies)
			node_kill(ends.world->node[1]);
		else
			end_close(&ends.listens);
		gone_ns = ends.world->now_ns;
		end_await(ends.world, &ends.asks, CM_REFUSED);
		cr_assert_lt(ends.world->now_ns - gone_ns, 3 * SIM_SECOND);
		cr_assert_eq(ends.asks.err, ECONNREFUSED);
		ends_close(&ends);
	}
}

/* The passive endpoint may go as soon as an endpoint has accepted. */
Test(sim_cm, the_passive_endpoint_is_closed_at_once)
{
	for (uint64_t seed = 570; seed < 600; seed++) {
		struct ends ends;

		ends_open(&ends, seed);
		end_connect(&ends.asks, &ends.listens, "");
		end_await(ends.world, &ends.listens, CM_REQUEST);
		end_accept(&ends.accepts, &ends.listens, "");
		end_close(&ends.listens);
		end_await(ends.world, &ends.asks, CM_CONNECTED);
		end_await(ends.world, &ends.accepts, CM_CONNECTED);
		end_message(ends.world, &ends.asks, &ends.accepts, 100);
		ends_close(&ends);
	}
}

/* The peer dies while nothing is sent: that is noticed all the same. */
Test(sim_cm, the_peer_dies)
{
	uint64_t killed_ns;
	struct ends ends;

	ends_open(&ends, 506);
	ends_meet(&ends);
	node_kill(ends.world->node[1]);
	killed_ns = ends.world->now_ns;
	end_await(ends.world, &ends.asks, CM_SHUTDOWN);
	cr_assert_lt(ends.world->now_ns - killed_ns, 2 * SIM_SECOND);
	cr_assert_eq(ep_post(ends.asks.ep, &(struct post){ .kind = OP_SEND }), -ESHUTDOWN);
	ends_close(&ends);
}

/* So it is that the network has gone, for longer than the retry budget; not that it was away for a while. */
Test(sim_cm, the_network_goes)
{
	struct ends ends;

	ends_open(&ends, 507);
	ends_meet(&ends);
	node_cut_off(ends.world->node[1], true);
	world_pass(ends.world, 12 * SIM_SECOND);
	node_cut_off(ends.world->node[1], false);
	end_message(ends.world, &ends.asks, &ends.accepts, 100);
	cr_assert_eq(ends.asks.told[CM_SHUTDOWN] + ends.accepts.told[CM_SHUTDOWN], 0);
	node_cut_off(ends.world->node[1], true);
	end_await(ends.world, &ends.asks, CM_SHUTDOWN);
	end_await(ends.world, &ends.accepts, CM_SHUTDOWN);
	node_cut_off(ends.world->node[1], false);
	ends_close(&ends);
}

/* A request that cannot be kept is refused (WIRE-81). */
Test(sim_cm, the_program_takes_no_request)
{
	struct ends ends;

	ends_open(&ends, 508);
	ends.listens.turns_away = true;
	end_connect(&ends.asks, &ends.listens, "");
	end_await(ends.world, &ends.asks, CM_REFUSED);
	cr_assert_eq(ends.asks.err, ECONNREFUSED);
	cr_assert_eq(told(&ends.listens), 0);
	ends_close(&ends);
}

/* Before there is a peer, and with ops and receives under way when it goes. */
Test(sim_cm, posts_at_the_wrong_time)
{
	uint8_t bytes[100];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct post post = { .kind = OP_SEND, .flags = POST_COMPLETE, .iov = &iov, .iov_count = 1 };
	struct recv_post recv = { .iov = &iov, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE };
	struct cq_error error;
	struct ends ends;

	ends_open(&ends, 509);
	cr_assert_eq(ep_post(ends.asks.ep, &post), -ENOTCONN);
	cr_assert_eq(ep_recv(ends.asks.ep, &recv), 0);
	ends_meet(&ends);
	node_kill(ends.world->node[1]);
	cr_assert_eq(ep_post(ends.asks.ep, &post), 0);
	end_await(ends.world, &ends.asks, CM_SHUTDOWN);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(cq_take_error(ends.asks.cq, &error), 1);
	cr_assert_eq(cq_take_error(ends.asks.cq, &error), -EAGAIN);
	ends_close(&ends);
}

/* --- strangers --- */

enum { ROOM = 2048 };

/* A peer that a test makes up. */
struct liar {
	struct world *world;
	struct raw *raw;
	uint64_t seq;
	uint8_t heard[ROOM];
	size_t length;
};

static void say(struct liar *liar, void *frame, size_t length)
{
	wire_seal(frame, 0, true);
	raw_send(liar->raw, frame, length);
	world_pass(liar->world, SIM_SECOND / 10);
	liar->length += raw_recv(liar->raw, liar->heard + liar->length, ROOM - liar->length);
}

static void liar_meet(struct liar *liar, struct world *world, const struct end *victim, uint16_t port)
{
	struct wire_hello_fields fields = {
		.version_min = 1,
		.version_max = 1,
		.instance = { 7, (uint8_t)port },
		.session = 99,
		.epoch = 1,
		.requests = 64,
		.reads = 8,
		.segment = WIRE_SEGMENT_MIN,
		.at = { .family = 4, .port = port, .addr = { 10, 9, 9, 9 } },
	};
	uint8_t frame[WIRE_FRAME_MAX];

	*liar = (struct liar){ .world = world };
	liar->raw = raw_dial(world, ntohs(((const struct sockaddr_in *)&victim->name)->sin_port));
	say(liar, frame, wire_put_hello(frame, &fields));
}

static void say_cm(struct liar *liar, uint8_t op, uint64_t request)
{
	uint8_t frame[WIRE_FRAME_MAX];

	say(liar, frame, wire_put_cm(frame, op, 0, ++liar->seq, request));
}

/* With data of zeros. */
static void say_word(struct liar *liar, uint64_t request, uint32_t length)
{
	uint8_t frame[WIRE_FRAME_MAX + 2 * WIRE_CM_DATA_MAX] = { 0 };
	size_t at = wire_put_cm(frame, WIRE_CONNECT, length, ++liar->seq, request) + length;

	if (length)
		at += wire_put_trailer(frame + at, WIRE_GOOD, 0);
	say(liar, frame, at);
}

static void say_send(struct liar *liar)
{
	uint8_t frame[WIRE_FRAME_MAX];

	say(liar, frame, wire_put_send(frame, 0, 0, ++liar->seq, &(struct wire_message_fields){ 0 }));
}

/* How many NAKs with this cause were heard. */
static unsigned naks(struct liar *liar, uint32_t cause)
{
	unsigned count = 0;

	raw_pause(liar->raw);
	liar->length += raw_recv(liar->raw, liar->heard + liar->length, ROOM - liar->length);
	for (size_t at = 0; at + sizeof(struct wire_head) <= liar->length;) {
		const struct wire_head *head = (const struct wire_head *)(liar->heard + at);

		if (head->op == WIRE_NAK) {
			struct wire_nak_fields fields;

			wire_get_nak(head, &fields);
			count += fields.cause == cause;
		}
		at += sizeof(*head) + wire_body_len(head->op);
	}
	return count;
}

/* The next act of the program that asked, perhaps another request to the same passive endpoint, comes after. */
Test(sim_cm, who_accepted_hears_of_it_at_once)
{
	struct ends ends;

	ends_open(&ends, 519);
	end_connect(&ends.asks, &ends.listens, "");
	end_await(ends.world, &ends.listens, CM_REQUEST);
	end_accept(&ends.accepts, &ends.listens, "");
	end_await(ends.world, &ends.asks, CM_CONNECTED);
	ends.asks.node->asleep = true;
	end_await(ends.world, &ends.accepts, CM_CONNECTED);
	ends.asks.node->asleep = false;
	ends_close(&ends);
}

/* Answers that no endpoint waits for, and requests from an endpoint that is no peer, are refused and change nothing. */
Test(sim_cm, strangers_while_it_is_waited_for_an_answer)
{
	struct liar liar;
	struct ends ends;

	ends_open(&ends, 520);
	end_connect(&ends.asks, &ends.listens, "");
	end_await(ends.world, &ends.listens, CM_REQUEST);
	liar_meet(&liar, ends.world, &ends.asks, 7);
	say_cm(&liar, WIRE_CONNECT, 5);
	say_cm(&liar, WIRE_ACCEPT, ends.listens.request + 1);
	say_cm(&liar, WIRE_REJECT, ends.listens.request + 1);
	say_cm(&liar, WIRE_REJECT, ends.listens.request); /* not where it was asked */
	say_send(&liar);
	cr_assert_eq(naks(&liar, REFUSAL_CAPABILITY), 5);
	cr_assert_eq(told(&ends.asks), 0);
	end_accept(&ends.accepts, &ends.listens, "");
	end_await(ends.world, &ends.asks, CM_CONNECTED);
	end_await(ends.world, &ends.accepts, CM_CONNECTED);
	say_send(&liar); /* the endpoint that was here before is no peer now either */
	cr_assert_eq(naks(&liar, REFUSAL_CAPABILITY), 6);
	end_message(ends.world, &ends.asks, &ends.accepts, 10);
	raw_close(liar.raw);
	ends_close(&ends);
}

/* WIRE-83 */
Test(sim_cm, strangers_at_a_connected_endpoint)
{
	struct liar liar;
	struct ends ends;

	ends_open(&ends, 521);
	ends_meet(&ends);
	for (int i = 0; i < 2; i++) {
		liar_meet(&liar, ends.world, i ? &ends.asks : &ends.accepts, 8);
		cr_assert_eq(liar.heard[0], WIRE_BYE);
		cr_assert(raw_closed(liar.raw));
		raw_close(liar.raw);
	}
	end_message(ends.world, &ends.asks, &ends.accepts, 10);
	end_shutdown(&ends.asks);
	liar_meet(&liar, ends.world, &ends.asks, 8); /* nor when the peer has gone */
	cr_assert_eq(liar.heard[0], WIRE_BYE);
	raw_close(liar.raw);
	ends_close(&ends);
}

/* A passive endpoint takes requests, from any peer, and gives nothing else. */
Test(sim_cm, strangers_at_a_passive_endpoint)
{
	struct liar liar;
	struct ends ends;

	ends_open(&ends, 522);
	liar_meet(&liar, ends.world, &ends.listens, 9);
	say_send(&liar);
	say_cm(&liar, WIRE_ACCEPT, 1);
	say_cm(&liar, WIRE_REJECT, 1);
	cr_assert_eq(naks(&liar, REFUSAL_CAPABILITY), 3);
	say_cm(&liar, WIRE_CONNECT, 1);
	cr_assert_eq(ends.listens.told[CM_REQUEST], 1);
	cr_assert_eq(ends.listens.request, 1);
	raw_close(liar.raw);
	world_pass(ends.world, SIM_SECOND);
	/* To accept a peer that has left fails at the accepting side. */
	end_accept(&ends.accepts, &ends.listens, "");
	end_await(ends.world, &ends.accepts, CM_REFUSED);
	ends_close(&ends);
}

/* The endpoint that is asked may itself accept, on the very session of the request. */
Test(sim_cm, the_passive_side_answers_for_itself)
{
	struct liar liar;
	struct ends ends;

	ends_open(&ends, 523);
	end_connect(&ends.asks, &ends.listens, "");
	end_await(ends.world, &ends.listens, CM_REQUEST);
	liar_meet(&liar, ends.world, &ends.asks, 10);
	say_cm(&liar, WIRE_ACCEPT, ends.listens.request);
	end_await(ends.world, &ends.asks, CM_CONNECTED); /* it knew the number */
	say_cm(&liar, WIRE_ACCEPT, ends.listens.request);
	say_cm(&liar, WIRE_REJECT, ends.listens.request);
	cr_assert_eq(naks(&liar, REFUSAL_CAPABILITY), 2);
	raw_close(liar.raw);
	end_await(ends.world, &ends.asks, CM_SHUTDOWN);
	ends_close(&ends);
}

/* WIRE-184: each word is the program's to judge, and one that it cannot take is refused; ACCEPT and REJECT are none. */
Test(sim_cm, words_of_a_hostile_peer)
{
	enum { WORDS = 20 };
	struct end manager;
	struct liar liar;
	struct ends ends;

	ends_open(&ends, 524);
	end_open_manager(&manager, ends.world->node[0]);
	liar_meet(&liar, ends.world, &manager, 11);
	for (int i = 0; i < WORDS; i++)
		say_word(&liar, 5, 8);
	cr_assert_eq(manager.told[CM_REQUEST], WORDS);
	manager.turns_away = true;
	say_word(&liar, 5, WIRE_CM_DATA_MAX);
	cr_assert_eq(naks(&liar, REFUSAL_RESOURCE), 1);
	manager.turns_away = false;
	say_cm(&liar, WIRE_ACCEPT, 5);
	say_cm(&liar, WIRE_REJECT, 5);
	cr_assert_eq(naks(&liar, REFUSAL_CAPABILITY), 2);
	cr_assert_eq(manager.told[CM_REQUEST], WORDS);
	say_word(&liar, 0, 0); /* names no request (WIRE-80) */
	raw_pause(liar.raw);
	cr_assert(raw_closed(liar.raw));
	cr_assert_eq(manager.told[CM_REQUEST], WORDS);
	raw_close(liar.raw);
	end_close(&manager);
	ends_close(&ends);
}

/* A number that was executed is not executed again (WIRE-54); a longer word than goes along is no frame (WIRE-80). */
Test(sim_cm, a_word_that_comes_twice)
{
	struct end manager;
	struct liar liar;
	struct ends ends;

	ends_open(&ends, 525);
	end_open_manager(&manager, ends.world->node[0]);
	liar_meet(&liar, ends.world, &manager, 12);
	say_word(&liar, 4, 8);
	liar.seq--;
	say_word(&liar, 4, 8);
	raw_pause(liar.raw);
	cr_assert_eq(manager.told[CM_REQUEST], 1);
	cr_assert(!raw_closed(liar.raw));
	say_word(&liar, 4, WIRE_CM_DATA_MAX + 1);
	raw_pause(liar.raw);
	cr_assert(raw_closed(liar.raw));
	cr_assert_eq(manager.told[CM_REQUEST], 1);
	raw_close(liar.raw);
	end_close(&manager);
	ends_close(&ends);
}

/* A peer that takes no answer: what waits for it is bounded, since its requests are refused then. */
Test(sim_cm, a_peer_that_acknowledges_nothing)
{
	struct end manager;
	struct liar liar;
	struct ends ends;
	struct sockaddr_storage peer;

	ends_open(&ends, 526);
	end_open_manager(&manager, ends.world->node[0]);
	liar_meet(&liar, ends.world, &manager, 13);
	say_word(&liar, 4, 8);
	cr_assert_eq(manager.told[CM_REQUEST], 1);
	peer = manager.peer;
	for (int i = 0; i < LIMIT_WORDS; i++)
		end_say(&manager, &peer, 5, "");
	say_word(&liar, 4, 8);
	cr_assert_eq(manager.told[CM_REQUEST], 1, "it is heard of although it takes nothing");
	raw_close(liar.raw);
	end_close(&manager);
	ends_close(&ends);
}
