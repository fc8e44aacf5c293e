/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram.c - unreliable datagrams over a link that loses, repeats, reorders and changes them: what is received was sent, every
 * op and receive completes once, and nothing that arrives is answered. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/memory/guard.h"
#include "tests/sim/harness/ports.h"
#include "wire/datagram.h"

enum { ENDS = 3, MANY = 600, CAPS = EP_SEND | EP_RECV | EP_SOURCE };

/* The head of one datagram; the bytes behind it follow from `number`. */
struct letter {
	uint32_t from, number, length;
};

struct slot {
	uint8_t bytes[LIMIT_DGRAM];
	unsigned done;
};

struct end {
	struct node *node;
	struct pd *pd;
	struct av *av;
	struct cq *cq;
	struct ep *ep;
	struct sockaddr_storage name;
	uint64_t index[ENDS]; /* of the others in its vector */
	uint32_t sent;
	unsigned send_done[MANY]; /* completions of each send */
	unsigned got[ENDS][MANY]; /* how often each datagram came */
	unsigned received, errors;
	int last_err, last_cause;
	struct slot slot[MANY];
	unsigned slots; /* receives posted so far */
};

static struct world *world;
static struct end ends[ENDS];
static struct nic_config config;  /* of all; all zero if a test says nothing */
static uint32_t caps;             /* 0: CAPS */
static const char *secrets[ENDS]; /* of 16 bytes each; NULL: none */

static void end_open(struct end *end, uint64_t auth)
{
	struct ep_attr attr = { .datagrams = true, .caps = caps ? caps : CAPS, .auth = auth, .owner = end };
	struct sockaddr_in *at = (struct sockaddr_in *)&attr.at;
	int rc;

	end->node = node_open(world, &config);
	rc = cq_open(&end->cq, 4096, NULL, NULL);
	rc = rc ? rc : av_open(&end->av, 0);
	rc = rc ? rc : pd_open(end->node->nic, &end->pd);
	cr_assert(!rc);
	attr.pd = end->pd;
	attr.av = end->av;
	attr.tx_cq = attr.rx_cq = end->cq;
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(0x0a000001u + (uint32_t)end->node->id);
	node_enter(end->node);
	rc = ep_open(end->node->nic, &attr, &end->ep);
	node_leave(end->node);
	cr_assert(!rc);
	ep_name(end->ep, &end->name);
}

static void open_all(uint64_t seed)
{
	cr_assert(!guard_install());
	memset(ends, 0, sizeof(ends));
	world = world_open(world_seed(seed));
	config.secret_length = 16;
	for (int i = 0; i < ENDS; i++) {
		config.secret = secrets[i];
		end_open(&ends[i], 0);
	}
	for (int i = 0; i < ENDS; i++)
		for (int j = 0; j < ENDS; j++)
			cr_assert(!av_insert(ends[i].av, &ends[j].name, 0, &ends[i].index[j]));
}

static void close_all(void)
{
	for (int i = 0; i < ENDS; i++) {
		struct end *end = &ends[i];

		node_enter(end->node);
		if (end->ep)
			ep_close(end->ep);
		cr_assert(!pd_close(end->pd));
		node_leave(end->node);
		cr_assert(!cq_close(end->cq));
		cr_assert(!av_close(end->av));
	}
	world_close(world);
}

static uint8_t byte_of(const struct letter *letter, size_t i)
{
	return (uint8_t)(letter->number * 31 + letter->from * 7 + i);
}

static size_t length_of(uint32_t number)
{
	return number % 5 == 0 ? LIMIT_DGRAM : sizeof(struct letter) + number * 37 % (LIMIT_DGRAM - sizeof(struct letter));
}

/* Datagram `number` of `from` to `to`; the buffer is the device's no longer than the call, and may be in pieces. */
static void send_one(int from, int to, uint32_t flags)
{
	struct end *end = &ends[from];
	struct letter letter = { (uint32_t)from, end->sent, (uint32_t)length_of(end->sent) };
	static uint8_t bytes[ENDS][MANY][LIMIT_DGRAM];
	uint8_t *at = bytes[from][end->sent];
	struct iovec iov[2] = { { at, sizeof(letter) }, { at + sizeof(letter), letter.length - sizeof(letter) } };
	struct post post = {
		.kind = OP_SEND,
		.flags = flags,
		.dest = end->index[to],
		.iov = iov,
		.iov_count = 2,
		.cq_data = letter.number,
		.context = (void *)(uintptr_t)end->sent,
		.cq_flags = CQ_F_SEND | CQ_F_MSG,
	};
	int rc;

	memcpy(at, &letter, sizeof(letter));
	for (size_t i = sizeof(letter); i < letter.length; i++)
		at[i] = byte_of(&letter, i);
	while ((rc = ep_post(end->ep, &post)) == -EAGAIN)
		world_step(world);
	cr_assert(!rc);
	end->sent++;
}

static void recv_one(int at, size_t length)
{
	struct end *end = &ends[at];
	struct slot *slot = &end->slot[end->slots++];
	struct iovec iov = { slot->bytes, length };
	struct recv_post post = {
		.iov = &iov,
		.iov_count = 1,
		.flags = POST_COMPLETE,
		.source = AV_NONE,
		.context = slot,
		.cq_flags = CQ_F_RECV | CQ_F_MSG,
	};

	cr_assert(!ep_recv(end->ep, &post));
}

static void judge_received(struct end *end, const struct completion *c)
{
	struct slot *slot = c->context;
	struct letter letter;

	memcpy(&letter, slot->bytes, sizeof(letter));
	WORLD_CHECK(world, slot->done++ == 0, "a receive completed twice");
	WORLD_CHECK(world, letter.from < ENDS && letter.number < ends[letter.from].sent, "received what nobody sent");
	WORLD_CHECK(world, c->length == letter.length && letter.length == length_of(letter.number), "%zu B of %u", c->length,
		    letter.length);
	for (size_t i = sizeof(letter); i < letter.length; i++)
		WORLD_CHECK(world, slot->bytes[i] == byte_of(&letter, i), "byte %zu of another datagram", i);
	WORLD_CHECK(world, c->source == end->index[letter.from], "not the sender");
	WORLD_CHECK(world, !(c->flags & CQ_F_REMOTE_CQ_DATA) || c->data == letter.number, "other CQ data than was sent");
	end->got[letter.from][letter.number]++;
	end->received++;
}

static void read_queue(struct end *end)
{
	struct completion c;
	struct cq_error error;
	ssize_t got;

	while ((got = cq_take(end->cq, &c, 1)) != -EAGAIN) {
		if (got == 1 && c.flags & CQ_F_RECV)
			judge_received(end, &c);
		else if (got == 1)
			end->send_done[(uintptr_t)c.context]++;
		if (got == 1)
			continue;
		cr_assert_eq(cq_take_error(end->cq, &error), 1);
		end->errors++;
		end->last_err = error.err;
		end->last_cause = error.prov_errno;
		if (error.c.flags & CQ_F_RECV)
			((struct slot *)error.c.context)->done++;
		else
			end->send_done[(uintptr_t)error.c.context]++;
	}
}

/* Until nothing is on its way any more. */
static void settle(void)
{
	for (int i = 0; i < 3; i++) {
		world_pass(world, SIM_SECOND);
		for (int j = 0; j < ENDS; j++)
			read_queue(&ends[j]);
	}
}

static void check_sends(const struct end *end)
{
	for (uint32_t i = 0; i < end->sent; i++)
		WORLD_CHECK(world, end->send_done[i] == 1, "send %u completed %u times", i, end->send_done[i]);
}

/* The receives that are left are given back, each once; none completes that was not posted. */
static void check_receives(struct end *end)
{
	unsigned before = end->errors, left = 0;

	for (unsigned i = 0; i < end->slots; i++) {
		if (end->slot[i].done)
			continue;
		left++;
		node_enter(end->node);
		cr_assert(!ep_cancel(end->ep, &end->slot[i]));
		node_leave(end->node);
	}
	read_queue(end);
	cr_assert_eq(end->errors - before, left);
	for (unsigned i = 0; i < end->slots; i++)
		WORLD_CHECK(world, end->slot[i].done == 1, "receive %u completed %u times", i, end->slot[i].done);
}

static void talk(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int from = (int)rnd_below(&world->rnd, ENDS), to = (int)rnd_below(&world->rnd, ENDS);

		if (ends[to].slots < MANY && rnd_percent(&world->rnd, 80))
			recv_one(to, LIMIT_DGRAM);
		if (ends[from].sent < MANY)
			send_one(from, to, POST_COMPLETE | (i % 3 ? 0 : POST_CQ_DATA));
		world_pass(world, rnd_below(&world->rnd, 30000));
		read_queue(&ends[to]);
	}
	settle();
}

Test(sim_dgram, nothing_is_lost_without_cause)
{
	open_all(1);
	for (int i = 0; i < 200; i++) {
		recv_one(1, LIMIT_DGRAM);
		recv_one(0, LIMIT_DGRAM);
	}
	for (int i = 0; i < 200; i++) {
		send_one(0, 1, POST_COMPLETE);
		send_one(1, 0, POST_COMPLETE | POST_CQ_DATA);
	}
	settle();
	for (int i = 0; i < 2; i++) {
		check_sends(&ends[i]);
		cr_assert(ends[i].received == 200 && !ends[i].errors);
		for (int n = 0; n < 200; n++)
			cr_assert_eq(ends[i].got[!i][n], 1);
	}
	close_all();
}

/* A waiting datagram is not overtaken: so a fence (FI_FENCE) has nothing to do. */
Test(sim_dgram, they_leave_in_the_order_of_posts)
{
	struct completion c;
	uintptr_t next = 0;

	open_all(2);
	world->weather.full_percent = 70;
	for (int i = 0; i < 100; i++)
		send_one(0, 1, POST_COMPLETE);
	while (next < 100) {
		WORLD_CHECK(world, world_step(world), "nothing happens any more");
		while (cq_take(ends[0].cq, &c, 1) == 1)
			WORLD_CHECK(world, (uintptr_t)c.context == next++, "send %zu has left out of order", (size_t)c.context);
	}
	close_all();
}

Test(sim_dgram, every_weather)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		config.digest = NIC_DIGEST_FULL;
		open_all(seed);
		world->weather.delay_max_ns = 1 + rnd_below(&world->rnd, 200000);
		world->weather.full_percent = (uint8_t)rnd_below(&world->rnd, 60);
		world->weather.lose_percent = (uint8_t)rnd_below(&world->rnd, 40);
		world->weather.twice_percent = (uint8_t)rnd_below(&world->rnd, 40);
		world->weather.flip_percent = (uint8_t)rnd_below(&world->rnd, 40);
		talk(500);
		for (int i = 0; i < ENDS; i++) {
			check_sends(&ends[i]);
			check_receives(&ends[i]);
			for (int from = 0; from < ENDS; from++)
				for (int n = 0; n < MANY; n++)
					WORLD_CHECK(world, ends[i].got[from][n] <= 2, "came more often than it was repeated");
		}
		close_all();
	}
}

/* WIRE-94: every bit is covered under `full`; under `head` those of the payload are not, and the others are. */
Test(sim_dgram, changed_ones_are_dropped)
{
	config.digest = NIC_DIGEST_FULL;
	open_all(3);
	world->weather.flip_percent = 100;
	for (int i = 0; i < 300; i++) {
		recv_one(1, LIMIT_DGRAM);
		send_one(0, 1, POST_COMPLETE);
	}
	settle();
	check_sends(&ends[0]);
	cr_assert_eq(ends[1].received, 0);
	cr_assert_eq(ends[1].ep->dgram.ended[DGRAM_MALFORMED], 300);
	cr_assert(node_logged(ends[1].node, "WIRE-94"));
	check_receives(&ends[1]);
	close_all();
}

/* A receive that comes late does not get what was dropped before it. */
Test(sim_dgram, without_a_receive_it_is_dropped)
{
	open_all(4);
	for (int i = 0; i < 10; i++)
		send_one(0, 1, POST_COMPLETE);
	settle();
	recv_one(1, LIMIT_DGRAM);
	settle();
	cr_assert(ends[1].received == 0 && ends[1].ep->dgram.ended[DGRAM_UNEXPECTED] == 10);
	send_one(0, 1, POST_COMPLETE);
	settle();
	cr_assert(ends[1].received == 1 && ends[1].got[0][10] == 1);
	check_sends(&ends[0]);
	close_all();
}

static void *post_receive(void *arg)
{
	(void)arg;
	recv_one(1, LIMIT_DGRAM);
	return NULL;
}

/* Another thread of the program's posts while this one has the role: then the post is for this one to take. */
static void post_elsewhere(void)
{
	pthread_t thread;

	cr_assert(!pthread_create(&thread, NULL, post_receive, NULL) && !pthread_join(thread, NULL));
}

/* fi_recv() has returned, whereupon the program may tell its peer, by other ways, to send. */
Test(sim_dgram, a_receive_posted_within_the_slice_is_there)
{
	open_all(12);
	world->arriving = post_elsewhere;
	for (int i = 0; i < 20; i++)
		send_one(0, 1, POST_COMPLETE);
	settle();
	cr_assert(ends[1].received == 20 && ends[1].ep->dgram.ended[DGRAM_UNEXPECTED] == 0);
	check_sends(&ends[0]);
	close_all();
}

static void lose(uint32_t loss, uint64_t seed, bool came[MANY])
{
	config = (struct nic_config){ .dgram_loss = loss, .dgram_seed = seed };
	open_all(seed + loss); /* another weather each time: it has no part in this */
	world->weather.full_percent = (uint8_t)(loss % 50);
	for (int i = 0; i < MANY; i++) {
		recv_one(1, LIMIT_DGRAM);
		send_one(0, 1, POST_COMPLETE);
		if (i % 100 == 99)
			settle();
	}
	settle();
	check_sends(&ends[0]);
	for (int i = 0; i < MANY; i++)
		came[i] = ends[1].got[0][i];
	cr_assert_eq(ends[1].received + ends[0].ep->dgram.ended[DGRAM_LOST], MANY);
	close_all();
}

static int differ(const bool a[MANY], const bool b[MANY])
{
	int count = 0;

	for (int i = 0; i < MANY; i++)
		count += a[i] != b[i];
	return count;
}

/* FI_EMU_DGRAM_LOSS, FI_EMU_DGRAM_SEED: a higher rate loses more of the same, another seed others. */
Test(sim_dgram, losses_follow_the_seed)
{
	static bool none[MANY], some[MANY], again[MANY], other[MANY], all[MANY];
	int count = 0;

	lose(0, 7, none);
	lose(200000000, 7, some);
	lose(200000001, 7, again);
	lose(200000000, 8, other);
	lose(1000000000, 7, all);
	for (int i = 0; i < MANY; i++) {
		cr_assert(none[i] && !all[i]);
		count += !some[i];
	}
	cr_assert_eq(differ(some, again), 0);
	cr_assert_gt(differ(some, other), 0);
	cr_assert(count > MANY / 10 && count < MANY * 3 / 10, "%d lost of %d", count, MANY);
}

/* Nothing is sent and nothing changes, whatever comes to the port; the receive waits on (WIRE-96). */
Test(sim_dgram, strangers_are_not_answered)
{
	uint8_t bytes[2000];
	uint16_t port;

	open_all(5);
	port = ntohs(((struct sockaddr_in *)&ends[1].name)->sin_port);
	recv_one(1, LIMIT_DGRAM);
	for (size_t i = 0; i < 3000; i++) {
		rnd_fill(&world->rnd, bytes, sizeof(bytes));
		if (i % 2)
			memcpy(bytes, WIRE_DATAGRAM_MAGIC "\0\1\0\0\0\4", 14);
		ports_inject(world, port, bytes, i % sizeof(bytes));
		if (i % 50 == 49)
			settle();
	}
	settle();
	cr_assert_eq(world->packets_sent, 0);
	cr_assert(ends[1].received == 0 && ends[1].errors == 0);
	cr_assert_eq(ends[1].ep->dgram.ended[DGRAM_MALFORMED], 3000);
	cr_assert_leq(ends[1].node->warns, 12, "a flood floods the log");
	send_one(0, 1, POST_COMPLETE);
	settle();
	cr_assert_eq(ends[1].received, 1);
	close_all();
}

/* FI_ETRUNC at the receiver alone; what fits is there. */
Test(sim_dgram, longer_than_the_receive)
{
	open_all(6);
	recv_one(1, 100);
	send_one(0, 1, POST_COMPLETE); /* of LIMIT_DGRAM bytes */
	settle();
	cr_assert(ends[1].errors == 1 && ends[1].last_err == NIC_ETRUNC && ends[1].last_cause == REFUSAL_TRUNCATED);
	cr_assert_eq(ends[1].slot[0].bytes[100], 0, "a byte behind the buffer");
	cr_assert(ends[0].errors == 0 && ends[0].send_done[0] == 1);
	check_receives(&ends[1]);
	close_all();
}

Test(sim_dgram, memory_that_is_not_there)
{
	uint8_t *page = aligned_alloc(4096, 4096);
	struct iovec iov = { page, 100 };
	struct post post = { .kind = OP_SEND, .flags = POST_COMPLETE, .iov = &iov, .iov_count = 1, .cq_flags = CQ_F_SEND };
	struct slot lost = { .done = 0 };
	struct recv_post recv = {
		.iov = &iov, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE, .context = &lost, .cq_flags = CQ_F_RECV
	};

	open_all(7);
	post.dest = ends[0].index[1];
	world_poison(world, page, 4096);
	cr_assert(!ep_post(ends[0].ep, &post));
	settle();
	cr_assert(ends[0].errors == 1 && ends[0].last_cause == REFUSAL_SOURCE_FAULT && world->packets_sent == 0);
	ends[0].send_done[0] = 0;
	cr_assert(!ep_recv(ends[1].ep, &recv));
	send_one(0, 1, POST_COMPLETE);
	settle();
	cr_assert(ends[1].errors == 1 && ends[1].last_cause == REFUSAL_RECEIVE_BUFFER && lost.done == 1);
	check_sends(&ends[0]);
	world_heal(world, page);
	close_all();
	free(page);
}

/* S158 of datagrams: one with another key is dropped, and its sender is not told (WIRE-95). */
Test(sim_dgram, another_authorization_key)
{
	struct iovec iov = { (char[]){ "hello" }, 5 };
	struct post post = { .kind = OP_SEND, .iov = &iov, .iov_count = 1, .cq_flags = CQ_F_SEND };
	struct end strange = { .sent = 0 };

	open_all(8);
	end_open(&strange, 77);
	recv_one(0, LIMIT_DGRAM);
	cr_assert(!av_insert(strange.av, &ends[0].name, 0, &post.dest));
	cr_assert(!ep_post(strange.ep, &post));
	settle();
	cr_assert(ends[0].received == 0 && ends[0].errors == 0 && ends[0].ep->dgram.ended[DGRAM_AUTH] == 1);
	node_enter(strange.node);
	ep_close(strange.ep);
	cr_assert(!pd_close(strange.pd));
	node_leave(strange.node);
	cr_assert(!cq_close(strange.cq) && !av_close(strange.av));
	close_all();
}

/* WIRE-97: each bit is covered, and the address; without the secret, or with another, nothing is heard. */
Test(sim_dgram, tagged_by_a_secret)
{
	static const char same[] = "a secret of 16 B", another[] = "another of 16 B.";

	secrets[0] = secrets[1] = secrets[2] = same;
	open_all(9);
	world->weather.flip_percent = 50;
	talk(300);
	for (int i = 0; i < ENDS; i++)
		cr_assert(ends[i].ep->dgram.ended[DGRAM_SECRET] > 20 && ends[i].received > 20);
	close_all();

	secrets[1] = another;
	secrets[2] = NULL;
	open_all(10);
	for (int from = 0; from < ENDS; from++)
		for (int to = 0; to < ENDS; to++) {
			recv_one(to, LIMIT_DGRAM);
			send_one(from, to, POST_COMPLETE);
		}
	settle();
	for (int i = 0; i < ENDS; i++) {
		check_sends(&ends[i]);
		cr_assert(ends[i].received == 1 && ends[i].ep->dgram.ended[DGRAM_SECRET] == 2, "end %d: %u received", i,
			  ends[i].received);
		cr_assert(node_logged(ends[i].node, "(the secret)"));
	}
	close_all();
}

/* The port takes nothing more: ops wait in their order, and end as cancelled if the endpoint closes before. */
Test(sim_dgram, closing_while_ops_wait)
{
	open_all(9);
	world->weather.full_percent = 100;
	for (int i = 0; i < 20; i++)
		send_one(0, 1, POST_COMPLETE);
	world_pass(world, 1000000);
	node_enter(ends[0].node);
	cr_assert(!ep_quiet(ends[0].ep));
	ep_close(ends[0].ep);
	ends[0].ep = NULL;
	node_leave(ends[0].node);
	read_queue(&ends[0]);
	check_sends(&ends[0]);
	cr_assert(ends[0].errors == 20 && ends[0].last_err == ECANCELED && world->packets_sent == 0);
	close_all();
}

/* An endpoint that only sends. */
Test(sim_dgram, without_the_capability_to_receive)
{
	caps = EP_SEND;
	open_all(10);
	send_one(0, 1, POST_COMPLETE);
	settle();
	check_sends(&ends[0]);
	cr_assert_eq(ends[1].ep->dgram.ended[DGRAM_NO_RECEIVE], 1);
	close_all();
}

/* The peer's process is gone: no completion tells of that. */
Test(sim_dgram, nobody_there)
{
	open_all(11);
	node_kill(ends[1].node);
	for (int i = 0; i < 50; i++)
		send_one(0, 1, POST_COMPLETE);
	settle();
	check_sends(&ends[0]);
	cr_assert_eq(ends[0].errors, 0);
	close_all();
}
