/* SPDX-License-Identifier: BSD-2-Clause */
/* close_order.c - regions, and the endpoints and counters that they are bound to, closed in either order: S180, S181.
 * The pages contradict each other, so emu is told by FI_EMU_MR_CLOSE which of them to follow. */
#include "tests/rules/harness/bound.h"

#include <stdlib.h>

static const struct peer_want wants[] = {
	{ .caps = WITH_EVENTS, .mr_mode = FI_MR_RMA_EVENT },
	{ .caps = WITH_EVENTS, .mr_mode = FI_MR_ENDPOINT },
	{ .caps = WITH_EVENTS, .mr_mode = FI_MR_RMA_EVENT | FI_MR_ENDPOINT | FI_MR_BASIC_BITS },
};

static void each(const char *policy, void (*body)(struct pair *p))
{
	if (!peer_is_emu() && strcmp(policy, "mr-last"))
		NOT_APPLICABLE("%s has no policy to choose", peer_provider());
	setenv("FI_EMU_MR_CLOSE", policy, 1);
	pair_each_of(wants, sizeof(wants) / sizeof(*wants), body);
}

#define POLICY_TEST(policy, name)                \
	static void name##_body(struct pair *p); \
	static void name##_run(struct pair *p)   \
	{                                        \
		NEED_REGION_EVENTS(p);           \
		name##_body(p);                  \
	}                                        \
	LONE_TEST(rules, name)                   \
	{                                        \
		each(policy, name##_run);        \
	}                                        \
	static void name##_body(struct pair *p)

static bool by_endpoint(const struct pair *p)
{
	return peer_has(&p->peer, FI_MR_ENDPOINT);
}

/* Bound to the first counter and, where regions are, to the second endpoint; open to peers. */
static struct remote *reg_bound(struct pair *p)
{
	struct region_want want = { .len = { PAGE }, .access = ALL_REMOTE, .flags = FI_RMA_EVENT, .by_hand = true };
	struct remote *r = remote_reg_as(p, &want);

	if (by_endpoint(p))
		CHECK_RC(0, remote_bind(p, r, BIND_SECOND_ENDPOINT, 0));
	CHECK_RC(0, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE));
	if (by_endpoint(p) || peer_has(&p->peer, FI_MR_RMA_EVENT))
		CHECK_RC(0, remote_enable(p, r));
	return r;
}

static void write_through(struct pair *p, fi_addr_t to, struct remote *r)
{
	fi_addr_t first = p->to;

	p->to = to;
	ok_write(p, r, 0, 64);
	p->to = first;
}

static void step_close_ep(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	peer_close_ep(&target_peer);
}

/* S180, S181 as the pages up to 2.1 have it: a region does not close while what it is bound to is open. Closing that
 * dissolves the bond, or counters, which by their page stay while regions are bound to them, could never go. */
POLICY_TEST("mr-last", S180_S181_regions_close_last)
{
	fi_addr_t second = second_open(p, 0);
	struct remote *r, *free_one = remote_reg(p, 64, ALL_REMOTE);

	counters_open(p);
	r = reg_bound(p);
	CHECK_RC(-FI_EBUSY, remote_close(p, r));
	write_through(p, second, r); /* not hurt */
	counter_is(p, BIND_COUNTER, 1);
	CHECK_RC(0, counter_close(p, BIND_COUNTER));
	CHECK_RC(by_endpoint(p) ? -FI_EBUSY : 0, remote_close(p, r));
	if (by_endpoint(p))
		write_through(p, second, r);
	CHECK_RC(0, second_close(p));
	if (by_endpoint(p)) {
		deny(p, RMA_WRITE, r->base[0], r->key, 64, "S104");
		CHECK_RC(0, remote_close(p, r));
	}
	deny(p, RMA_WRITE, r->base[0], r->key, 64, "S178");
	CHECK_RC(0, counter_close(p, BIND_SECOND_COUNTER));
	CHECK_RC(by_endpoint(p) ? -FI_EBUSY : 0, remote_close(p, free_one)); /* the harness bound it to its endpoint */
	target_do(&p->target, step_close_ep, NULL, 0, NULL, 0);
	peer_close_ep(&p->peer);
}

/* S180, S181 as the page from 2.2 on has it: regions close first. */
POLICY_TEST("mr-first", S180_S181_regions_close_first)
{
	fi_addr_t second = second_open(p, 0);
	struct remote *r;

	counters_open(p);
	r = reg_bound(p);
	CHECK_RC(-FI_EBUSY, counter_close(p, BIND_COUNTER));
	CHECK_RC(by_endpoint(p) ? -FI_EBUSY : 0, second_close(p));
	if (by_endpoint(p))
		write_through(p, second, r); /* not hurt */
	CHECK_RC(0, remote_close(p, r));
	CHECK_RC(0, counter_close(p, BIND_COUNTER));
	CHECK_RC(0, counter_close(p, BIND_SECOND_COUNTER));
	if (by_endpoint(p))
		CHECK_RC(0, second_close(p));
}

/* S180, S181 choice: by default everything closes in any order. */
POLICY_TEST("any", S180_S181_any_order)
{
	fi_addr_t second = second_open(p, 0);
	struct remote *r;

	counters_open(p);
	r = reg_bound(p);
	write_through(p, second, r);
	counter_is(p, BIND_COUNTER, 1);
	CHECK_RC(0, remote_close(p, r)); /* before all */
	deny(p, RMA_WRITE, r->base[0], r->key, 64, "S178");
	r = reg_bound(p);
	CHECK_RC(0, counter_close(p, BIND_COUNTER));
	write_through(p, second, r); /* counted no more, and still open to peers */
	CHECK_RC(0, second_close(p));
	if (by_endpoint(p))
		deny(p, RMA_WRITE, r->base[0], r->key, 64, "S104");
	else
		ok_write(p, r, 64, 64);
	CHECK_RC(0, remote_close(p, r)); /* after all */
	CHECK_RC(0, counter_close(p, BIND_SECOND_COUNTER));
}
