/* SPDX-License-Identifier: BSD-2-Clause */
/* crowd.c - a thousand NICs: what a peer costs does not depend on how many there are. docker/SCALE.md computes with that. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/queues/cq.h"
#include "tests/sim/harness/lines.h"
#include "tests/sim/harness/scarce.h"

enum { CROWD = 1000, REACH = 2, CROWD_S = 120 };
#define MOST 1.25 /* what takes turns with more others waits longer, and so holds a little more */

/* A process with one endpoint, which has a message from each of its peers. */
struct member {
	struct node *node;
	struct pd *pd;
	struct av *av;
	struct cq *cq;
	struct ep *ep;
	uint32_t *heard; /* numbers, as they come */
	int taken;       /* of its receives */
};

struct crowd {
	struct world *world;
	int size, open; /* open: completions that have not come */
	struct member member[CROWD];
};

static uint32_t numbers[CROWD]; /* what each sends */

static void member_open(struct crowd *crowd, struct member *member)
{
	struct ep_attr attr = { .caps = EP_SEND | EP_RECV };
	struct sockaddr_in *at = (struct sockaddr_in *)&attr.at;

	member->node = node_open(crowd->world, NULL);
	cr_assert(!av_open(&member->av, 0) && !cq_open(&member->cq, 0, NULL, NULL) && !pd_open(member->node->nic, &member->pd));
	attr.pd = member->pd;
	attr.av = member->av;
	attr.tx_cq = attr.rx_cq = member->cq;
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(0x0a000001u + (uint32_t)member->node->id);
	node_enter(member->node);
	cr_assert(!ep_open(member->node->nic, &attr, &member->ep));
	node_leave(member->node);
}

static struct crowd *crowd_open(uint64_t seed, int size)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	cr_assert(crowd && !guard_install());
	crowd->world = world_open(world_seed(seed));
	crowd->size = size;
	for (int i = 0; i < size; i++) {
		numbers[i] = (uint32_t)i;
		member_open(crowd, &crowd->member[i]);
	}
	return crowd;
}

static void member_close(struct member *member)
{
	node_enter(member->node);
	ep_close(member->ep);
	cr_assert(!pd_close(member->pd));
	node_leave(member->node);
	cr_assert(!cq_close(member->cq) && !av_close(member->av));
	free(member->heard);
}

static void crowd_close(struct crowd *crowd)
{
	for (int i = 0; i < crowd->size; i++)
		member_close(&crowd->member[i]);
	world_close(crowd->world);
	free(crowd);
}

/* One receive for any, and a message to `peer`. */
static void exchange_one_way(struct crowd *crowd, int from, int to)
{
	struct member *sender = &crowd->member[from], *receiver = &crowd->member[to];
	struct iovec out = { &numbers[from], sizeof(numbers[from]) };
	struct iovec in = { &receiver->heard[receiver->taken++], sizeof(*receiver->heard) };
	struct post post = { .kind = OP_SEND, .flags = POST_COMPLETE, .iov = &out, .iov_count = 1, .cq_flags = CQ_F_SEND };
	struct recv_post recv = { .iov = &in, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE, .cq_flags = CQ_F_RECV };
	struct sockaddr_storage name;

	ep_name(receiver->ep, &name);
	cr_assert(!av_insert(sender->av, &name, 0, &post.dest));
	cr_assert(!ep_recv(receiver->ep, &recv) && !ep_post(sender->ep, &post));
	crowd->open += 2;
}

static bool has_all(void *arg)
{
	struct crowd *crowd = arg;
	struct completion done[16];

	for (int i = 0; i < crowd->size; i++) {
		ssize_t got;

		while ((got = cq_take(crowd->member[i].cq, done, 16)) > 0)
			crowd->open -= (int)got;
		WORLD_CHECK(crowd->world, got == -EAGAIN, "an op of member %d has failed", i);
	}
	return !crowd->open;
}

/* Each has heard so many, and from each of them once. */
static void hears_each_once(const struct crowd *crowd)
{
	bool *heard = malloc((size_t)crowd->size);

	cr_assert_not_null(heard);
	for (int i = 0; i < crowd->size; i++) {
		const struct member *member = &crowd->member[i];

		memset(heard, 0, (size_t)crowd->size);
		for (int k = 0; k < member->taken; k++) {
			cr_assert_lt(member->heard[k], (uint32_t)crowd->size);
			cr_assert(!heard[member->heard[k]], "member %d heard %u twice", i, member->heard[k]);
			heard[member->heard[k]] = true;
		}
	}
	free(heard);
}

static void expect(struct member *member, int peers)
{
	member->heard = calloc((size_t)peers, sizeof(*member->heard));
	cr_assert_not_null(member->heard);
}

static void run(struct crowd *crowd)
{
	WORLD_CHECK(crowd->world, world_run(crowd->world, has_all, crowd, CROWD_S * SIM_SECOND), "%d are left", crowd->open);
	world_pass(crowd->world, SIM_SECOND); /* acknowledgements are through, and connections that crossed are down to one */
	hears_each_once(crowd);
}

struct cost {
	double bytes; /* of memory that devices hold, for each connection */
	double calls; /* sends and receives of the one in the middle, for each */
};

/* One in the middle, which speaks with each of the others. */
static struct cost star(int size)
{
	struct crowd *crowd = crowd_open(7, size);
	struct member *middle = &crowd->member[0];
	struct cost cost;

	expect(middle, size - 1);
	for (int i = 1; i < size; i++)
		expect(&crowd->member[i], 1);
	cost.bytes = -(double)scarce_held();
	for (int i = 1; i < size; i++) {
		exchange_one_way(crowd, 0, i);
		exchange_one_way(crowd, i, 0);
	}
	run(crowd);
	cost.bytes = (cost.bytes + (double)scarce_held()) / (size - 1);
	cost.calls = (double)(middle->node->sends + middle->node->receives) / (size - 1);
	cr_assert_eq(lines_open(middle->node), size - 1, "a connection each");
	crowd_close(crowd);
	return cost;
}

Test(sim_crowd, one_of_a_thousand_peers_costs_what_one_of_a_hundred_does)
{
	struct cost hundred = star(100), thousand = star(CROWD);

	cr_expect_lt(thousand.bytes, MOST * hundred.bytes, "%.0f B and %.0f B", thousand.bytes, hundred.bytes);
	cr_expect_lt(thousand.calls, MOST * hundred.calls, "%.1f and %.1f calls", thousand.calls, hundred.calls);
}

/* Each with its neighbours in a ring, in both directions and all at once. The bytes that a device holds then, on average. */
static double ring(int size)
{
	struct crowd *crowd = crowd_open(8, size);
	double bytes;

	for (int i = 0; i < size; i++)
		expect(&crowd->member[i], 2 * REACH);
	bytes = -(double)scarce_held();
	for (int i = 0; i < size; i++)
		for (int step = 1; step <= REACH; step++) {
			exchange_one_way(crowd, i, (i + step) % size);
			exchange_one_way(crowd, (i + step) % size, i);
		}
	run(crowd);
	bytes = (bytes + (double)scarce_held()) / size;
	for (int i = 0; i < size; i++)
		cr_assert_eq(lines_open(crowd->member[i].node), 2 * REACH, "a connection each");
	crowd_close(crowd);
	return bytes;
}

Test(sim_crowd, those_that_do_not_speak_cost_nothing)
{
	double hundred = ring(100), thousand = ring(CROWD);

	cr_expect_lt(thousand, MOST * hundred, "%.0f B and %.0f B", thousand, hundred);
}
