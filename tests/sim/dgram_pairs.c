/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram_pairs.c - queue pairs for datagrams over a link that loses, repeats, reorders and changes them: ops complete in the order
 * of posts, and what is received was sent to this queue pair, with its Q_Key. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/endpoint/pair.h"
#include "tests/sim/harness/ends.h"
#include "tests/sim/harness/ports.h"
#include "wire/datagram.h"

enum { NODES = 2, OF_NODE = 3, ALL = NODES * OF_NODE, POSTS = 300, MOST = 1024, GRH = 40, QKEY = 77 };

/* What a message begins with; the rest follows from `number`. */
struct card {
	uint32_t from, to, number, length;
};

struct side {
	struct end qp;
	struct op_slot {
		uint8_t bytes[MOST];
	} sent[POSTS];
	struct rx_slot {
		uint8_t bytes[GRH + MOST];
	} slot[POSTS];
	unsigned posted, done, receives, heard, cancelled, refused;
	bool got[ALL][POSTS];
};

static struct world *world;
static struct end listeners[NODES];
static struct side sides[ALL];
static struct nic_config config;

static void open_world(uint64_t seed)
{
	memset(sides, 0, sizeof(sides));
	world = world_open(world_seed(seed));
	config.digest = NIC_DIGEST_FULL;
	for (int node = 0; node < NODES; node++) {
		node_open(world, &config);
		end_open_pairs(&listeners[node], world->node[node]);
		for (int i = 0; i < OF_NODE; i++)
			end_open_datagrams(&sides[node * OF_NODE + i].qp, &listeners[node], QKEY + (uint32_t)(node * OF_NODE + i));
	}
}

static void close_world(void)
{
	for (int i = 0; i < ALL; i++)
		end_close(&sides[i].qp);
	for (int node = 0; node < NODES; node++)
		end_close(&listeners[node]);
	world_close(world);
}

static uint8_t byte_of(const struct card *card, size_t at)
{
	return (uint8_t)(card->number * 13 + card->from * 7 + card->to + at);
}

static struct datagram_to path_to(int from, int to)
{
	struct datagram_to path = { .qpn = ep_qpn(sides[to].qp.ep),
				    .qkey = QKEY + (uint32_t)to,
				    .hop_limit = 3,
				    .sl = 2,
				    .sgid = { [10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(1 + from / OF_NODE) },
				    .dgid = { [10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(1 + to / OF_NODE) } };
	struct sockaddr_in *at = (struct sockaddr_in *)&path.at;

	at->sin_family = AF_INET;
	memcpy(&at->sin_addr, path.dgid + 12, 4);
	return path;
}

static void send_along(int from, const struct datagram_to *path, uint32_t length, enum refusal_cause refused)
{
	struct side *side = &sides[from];
	uint8_t *bytes = side->sent[side->posted].bytes;
	struct iovec iov = { bytes, length };
	struct post_atomic atomic = { .to = path };
	struct post post = { .kind = OP_SEND,
			     .flags = POST_COMPLETE | POST_CQ_DATA,
			     .iov = &iov,
			     .iov_count = 1,
			     .cq_data = side->posted,
			     .context = (void *)(uintptr_t)(side->posted + 1),
			     .refused = refused,
			     .atomic = &atomic };
	int rc;

	while ((rc = ep_post(side->qp.ep, &post)) == -EAGAIN)
		world_step(world);
	WORLD_CHECK(world, !rc, "ep_post: %d", rc);
	side->posted++;
}

static void send_card(int from, int to)
{
	struct side *side = &sides[from];
	uint32_t length = (uint32_t)sizeof(struct card) + (uint32_t)rnd_below(&world->rnd, MOST - sizeof(struct card) + 1);
	struct card card = { (uint32_t)from, (uint32_t)to, side->posted, length };
	struct datagram_to path = path_to(from, to);
	uint8_t *bytes = side->sent[side->posted].bytes;

	memcpy(bytes, &card, sizeof(card));
	for (size_t i = sizeof(card); i < length; i++)
		bytes[i] = byte_of(&card, i);
	send_along(from, &path, length, REFUSAL_NONE);
}

static void receive(int at, uint32_t length)
{
	struct side *side = &sides[at];
	struct iovec iov = { side->slot[side->receives].bytes, length };
	struct recv_post post = { .iov = &iov, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE };

	post.context = side->slot[side->receives].bytes;
	cr_assert(!ep_recv(side->qp.ep, &post));
	side->receives++;
}

/* Receives complete in the order of posts, too. */
static void check_heard(int at, const struct completion *c)
{
	struct side *side = &sides[at];
	const uint8_t *bytes = side->slot[side->heard].bytes, *ip = bytes + 20;
	struct card card;

	memcpy(&card, bytes + GRH, sizeof(card));
	WORLD_CHECK(world, c->context == bytes, "receive %u completed out of turn", side->heard);
	WORLD_CHECK(world, card.to == (unsigned)at && card.from < ALL && card.number < POSTS, "a message for %u", card.to);
	WORLD_CHECK(world, c->length == GRH + card.length && c->data == card.number, "%zu bytes of %u", c->length, card.length);
	WORLD_CHECK(world, c->tag == (ep_qpn(sides[card.from].qp.ep) | 10u << 24), "another sender's QPN");
	WORLD_CHECK(world, ip[0] == 0x45 && ip[15] == 1 + card.from / OF_NODE && ip[19] == 1 + at / OF_NODE, "another header");
	for (size_t i = sizeof(card); i < card.length; i++)
		WORLD_CHECK(world, bytes[GRH + i] == byte_of(&card, i), "byte %zu of another message", i);
	side->got[card.from][card.number] = true;
	side->heard++;
}

static void read_queue(int at)
{
	struct side *side = &sides[at];
	struct completion c;
	struct cq_error error;

	for (;;) {
		ssize_t n = cq_take(side->qp.cq, &c, 1);

		if (n == 1 && (uintptr_t)c.context <= POSTS) {
			WORLD_CHECK(world, (uintptr_t)c.context == ++side->done, "an op completed out of turn");
		} else if (n == 1) {
			check_heard(at, &c);
		} else if (cq_take_error(side->qp.cq, &error) == 1) {
			bool op = (uintptr_t)error.c.context <= POSTS;

			WORLD_CHECK(world, !op || (uintptr_t)error.c.context == ++side->done, "an op failed out of turn");
			side->heard += !op;
			*(error.prov_errno == REFUSAL_CANCELLED ? &side->cancelled : &side->refused) += 1;
		} else {
			return;
		}
	}
}

static void settle(void)
{
	world_pass(world, SIM_SECOND);
	for (int i = 0; i < ALL; i++)
		read_queue(i);
}

static void talk(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int from = (int)rnd_below(&world->rnd, ALL), to = (int)rnd_below(&world->rnd, ALL);

		if (sides[to].receives < POSTS && rnd_percent(&world->rnd, 80))
			receive(to, GRH + MOST);
		if (sides[from].posted < POSTS)
			send_card(from, to);
		world_pass(world, rnd_below(&world->rnd, 30000));
		read_queue(to);
	}
	settle();
	for (int i = 0; i < ALL; i++)
		WORLD_CHECK(world, sides[i].done == sides[i].posted && !sides[i].refused, "%u of %u ops ended", sides[i].done,
			    sides[i].posted);
}

Test(sim_dgram_pairs, nothing_is_lost_without_cause)
{
	open_world(1);
	for (int i = 0; i < 100; i++) {
		receive(4, GRH + MOST);
		send_card(0, 4);
		world_pass(world, 1000);
	}
	settle();
	cr_assert_eq(sides[4].heard, 100);
	close_world();
}

Test(sim_dgram_pairs, bad_weather)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		open_world(seed);
		world->weather.delay_max_ns = 40000;
		world->weather.lose_percent = 10;
		world->weather.twice_percent = 10;
		world->weather.flip_percent = 10;
		world->weather.full_percent = 20;
		talk(800);
		close_world();
	}
}

/* None but the one that is meant, and it alone if the Q_Key is its own. */
Test(sim_dgram_pairs, numbers_and_keys)
{
	struct datagram_to path;

	open_world(2);
	for (int i = 0; i < ALL; i++)
		receive(i, GRH + MOST);
	path = path_to(0, 4);
	path.qkey++;
	send_along(0, &path, 100, REFUSAL_NONE);
	path = path_to(0, 4);
	path.qpn += 100;
	send_along(0, &path, 100, REFUSAL_NONE);
	settle();
	for (int i = 0; i < ALL; i++)
		cr_assert_eq(sides[i].heard, 0);
	cr_assert_eq(sides[4].qp.ep->dgram.ended[DGRAM_QKEY], 1);
	cr_assert_eq(listeners[1].ep->dgram.ended[DGRAM_NO_PAIR], 1);
	send_card(0, 4);
	settle();
	cr_assert_eq(sides[4].heard, 1);
	close_world();
}

/* The first failure stops ops, and nothing else; what is posted later ends as cancelled, until the program resumes. */
Test(sim_dgram_pairs, a_failure_stops_ops_alone)
{
	struct datagram_to path;

	open_world(3);
	world->weather.full_percent = 60; /* so that some wait */
	path = path_to(0, 4);
	for (int i = 0; i < 10; i++) {
		receive(4, GRH + MOST);
		send_card(0, 4);
	}
	send_along(0, &path, 0, REFUSAL_SOURCE_FAULT);
	send_card(0, 4);
	settle();
	cr_assert(sides[0].refused == 1 && sides[0].cancelled == 1 && sides[0].qp.told[CM_STOPPED] == 1);
	cr_assert_eq(sides[4].heard, 10);
	receive(0, GRH + MOST);
	send_card(4, 0);
	settle();
	cr_assert_eq(sides[0].heard, 1);
	node_enter(sides[0].qp.node);
	ep_go_on(sides[0].qp.ep);
	node_leave(sides[0].qp.node);
	receive(4, GRH + MOST);
	send_card(0, 4);
	settle();
	cr_assert(sides[0].done == sides[0].posted && sides[4].heard == 11 && sides[0].cancelled == 1);
	close_world();
}

/* Held, halted and reset while ops wait for the port. */
Test(sim_dgram_pairs, states)
{
	open_world(4);
	node_enter(sides[0].qp.node);
	ep_hold(sides[0].qp.ep, true);
	node_leave(sides[0].qp.node);
	cr_assert_eq(sides[0].qp.told[CM_DRAINED], 1);
	receive(4, GRH + MOST);
	send_card(0, 4);
	settle();
	cr_assert(sides[0].done == 0 && sides[4].heard == 0);
	node_enter(sides[0].qp.node);
	ep_hold(sides[0].qp.ep, false);
	node_leave(sides[0].qp.node);
	settle();
	cr_assert(sides[0].done == 1 && sides[4].heard == 1);
	node_enter(sides[0].qp.node);
	ep_hold(sides[0].qp.ep, true);
	node_leave(sides[0].qp.node);
	send_card(0, 4);
	receive(0, GRH + MOST);
	node_enter(sides[0].qp.node);
	ep_halt(sides[0].qp.ep);
	node_leave(sides[0].qp.node);
	send_card(0, 4);
	settle();
	cr_assert_eq(sides[0].cancelled, 3, "two ops and a receive");
	node_enter(sides[0].qp.node);
	ep_reset(sides[0].qp.ep);
	node_leave(sides[0].qp.node);
	close_world();
}

static void overran(void *arg)
{
	const struct end *end = arg;

	nic_overran(end->node->nic, end->cq);
}

/* A queue that has lost a completion ends its queue pair, and none beside it. */
Test(sim_dgram_pairs, queue_overruns)
{
	open_world(6);
	cq_overrun_at(sides[0].qp.cq, 1);
	cq_tell_overrun(sides[0].qp.cq, overran, &sides[0].qp);
	for (int i = 0; i < 3; i++)
		send_card(0, 4);
	end_await(world, &sides[0].qp, CM_HALTED);
	cr_assert_eq(sides[0].qp.cause, REFUSAL_RESOURCE);
	send_card(1, 4);
	settle();
	cr_assert(sides[1].done == 1 && !sides[1].refused && !sides[1].qp.told[CM_HALTED]);
	close_world();
}

/* WIRE-96, WIRE-152: whatever comes, nothing is sent, and the receive waits on; it is not taken without the Q_Key. */
Test(sim_dgram_pairs, strangers)
{
	struct wire_datagram_fields fields = { .from = { .family = 4, .port = 9, .addr = { 10, 0, 0, 9 } } };
	struct wire_pair_datagram_fields pair = { .src_qpn = 9 << 8 };
	uint8_t bytes[2000];
	uint16_t port;

	open_world(5);
	port = (uint16_t)(ep_qpn(sides[4].qp.ep) >> 8);
	receive(4, GRH + MOST);
	for (size_t i = 0; i < 3000; i++) {
		size_t length = i % sizeof(bytes);

		rnd_fill(&world->rnd, bytes, sizeof(bytes));
		if (i % 2) {
			pair.dest_qpn = (uint32_t)port << 8 | (uint32_t)(i & 0xff);
			pair.qkey = (uint32_t)i + 100000;
			fields.payload = (uint32_t)(i % WIRE_PAIR_MTU);
			length = wire_put_pair_datagram(bytes, &fields, &pair);
			if (i % 4 == 1)
				bytes[rnd_below(&world->rnd, WIRE_PAIR_HEAD)] ^= 1;
		}
		ports_inject(world, port, bytes, length);
		if (i % 50 == 49)
			settle();
	}
	settle();
	cr_assert(world->packets_sent == 0 && sides[4].heard == 0);
	send_card(0, 4);
	settle();
	cr_assert_eq(sides[4].heard, 1);
	close_world();
}
