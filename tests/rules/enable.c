/* SPDX-License-Identifier: BSD-2-Clause */
/* enable.c - regions with counters: created disabled, bound, enabled, counted: S91 to S100. */
#include "tests/rules/harness/bound.h"

/* Every test here runs with the capability, under the mode bit and without it, and with regions that are bound to
 * endpoints besides. */
static const struct peer_want wants[] = {
	{ .caps = WITH_EVENTS },
	{ .caps = WITH_EVENTS, .mr_mode = FI_MR_RMA_EVENT },
	{ .caps = WITH_EVENTS, .mr_mode = FI_MR_ENDPOINT },
	{ .caps = WITH_EVENTS, .mr_mode = FI_MR_RMA_EVENT | FI_MR_ENDPOINT | FI_MR_BASIC_BITS | FI_MR_LOCAL },
};

#define EVENT_TEST(name)                                                         \
	static void name##_body(struct pair *p);                                 \
	static void name##_run(struct pair *p)                                   \
	{                                                                        \
		NEED_REGION_EVENTS(p);                                           \
		name##_body(p);                                                  \
	}                                                                        \
	LONE_TEST(rules, name)                                                   \
	{                                                                        \
		pair_each_of(wants, sizeof(wants) / sizeof(*wants), name##_run); \
	}                                                                        \
	static void name##_body(struct pair *p)

/* A region that is bound to nothing yet but, where it must be, its endpoint. */
static struct remote *reg_unbound(struct pair *p, uint64_t flags)
{
	struct region_want want = { .len = { PAGE }, .access = ALL_REMOTE, .flags = flags, .by_hand = true };
	struct remote *r = remote_reg_as(p, &want);

	if (peer_has(&p->peer, FI_MR_ENDPOINT))
		CHECK_RC(0, remote_bind(p, r, BIND_ENDPOINT, 0));
	return r;
}

static bool gated(const struct pair *p)
{
	return peer_has(&p->peer, FI_MR_RMA_EVENT) || peer_has(&p->peer, FI_MR_ENDPOINT);
}

/* Bound to the first counter, and open to peers. */
static struct remote *reg_counted(struct pair *p)
{
	struct remote *r = reg_unbound(p, FI_RMA_EVENT);

	CHECK_RC(0, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE));
	if (gated(p))
		CHECK_RC(0, remote_enable(p, r));
	return r;
}

static void close_counters(struct pair *p)
{
	CHECK_RC(0, counter_close(p, BIND_COUNTER));
	CHECK_RC(0, counter_close(p, BIND_SECOND_COUNTER));
}

/* S91: under FI_MR_RMA_EVENT a region that is to be bound to a counter says so when it is registered. */
EVENT_TEST(S91_counters_need_the_flag_at_registration)
{
	struct remote *r = reg_unbound(p, 0);
	bool needed = peer_has(&p->peer, FI_MR_RMA_EVENT);

	counters_open(p);
	if (needed)
		CHECK_REFUSED_AS(-FI_EINVAL, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE));
	else
		CHECK_RC(0, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE));
	if (peer_has(&p->peer, FI_MR_ENDPOINT))
		CHECK_RC(0, remote_enable(p, r));
	ok_write(p, r, 0, 64);
	counter_is(p, BIND_COUNTER, needed ? 0 : 1);
	remote_forget(p, r);
	close_counters(p);
}

/* S92, S94: such a region is closed to peers until fi_mr_enable, which works once. */
EVENT_TEST(S92_S94_disabled_until_enabled)
{
	struct remote *r = reg_unbound(p, FI_RMA_EVENT);

	if (!gated(p)) {
		ok_write(p, r, 0, 64);
		CHECK_REFUSED(remote_enable(p, r));
		return;
	}
	deny(p, RMA_WRITE, r->base[0], r->key, 64, "S92");
	deny(p, RMA_READ, r->base[0], r->key, 64, "S92");
	deny(p, RMA_WRITE, r->base[0] + PAGE, r->key, 64, "S92");
	deny(p, RMA_WRITE, r->base[0], r->key, 0, "S92");
	CHECK_RC(0, remote_enable(p, r));
	ok_write(p, r, 0, 64);
	ok_read(p, r, 0, PAGE);
	CHECK_REFUSED_AS(-FI_EOPBADSTATE, remote_enable(p, r));
	ok_write(p, r, 100, 64);
}

/* S93: all counters that were bound before count. */
EVENT_TEST(S93_all_counters_bound_before_enabling_count)
{
	struct remote *r = reg_unbound(p, FI_RMA_EVENT);

	counters_open(p);
	CHECK_RC(0, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE));
	CHECK_RC(0, remote_bind(p, r, BIND_SECOND_COUNTER, FI_REMOTE_WRITE));
	if (peer_is_emu())
		CHECK_RC(-FI_EINVAL, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE)); /* once */
	if (gated(p))
		CHECK_RC(0, remote_enable(p, r));
	ok_write(p, r, 0, 64);
	ok_write(p, r, 0, 64);
	counter_is(p, BIND_COUNTER, 2);
	counter_is(p, BIND_SECOND_COUNTER, 2);
	remote_forget(p, r);
	close_counters(p);
}

/* S95: once it is enabled nothing more is bound. */
EVENT_TEST(S95_nothing_is_bound_after_enabling)
{
	struct remote *r;

	counters_open(p);
	r = reg_counted(p);
	if (gated(p)) {
		CHECK_REFUSED_AS(-FI_EOPBADSTATE, remote_bind(p, r, BIND_SECOND_COUNTER, FI_REMOTE_WRITE));
		ok_write(p, r, 0, 64);
		counter_is(p, BIND_COUNTER, 1);
		counter_is(p, BIND_SECOND_COUNTER, 0);
	}
	remote_forget(p, r);
	close_counters(p);
}

/* S96, S98: one event for each remote write that changed the region, and for nothing else. */
EVENT_TEST(S96_S98_remote_writes_are_counted_exactly)
{
	struct remote *r, *read_only, *other = remote_reg(p, PAGE, ALL_REMOTE);
	int i;

	counters_open(p);
	r = reg_counted(p);
	for (i = 0; i < 100; i++)
		ok_write(p, r, (uint64_t)i * 8, 8);
	counter_is(p, BIND_COUNTER, 100);
	for (i = 0; i < 20; i++)
		ok_read(p, r, (uint64_t)i, 64);
	ok_write(p, other, 0, 64);
	deny(p, RMA_WRITE, r->base[0] + PAGE, r->key, 8, "S65");
	deny(p, RMA_WRITE, r->base[0] + PAGE - 4, r->key, 8, "S65");
	if (peer_is_emu())
		ok_write(p, r, 0, 0); /* changes nothing */
	counter_is(p, BIND_COUNTER, 100);
	ok_write(p, r, 0, PAGE);
	counter_is(p, BIND_COUNTER, 101);
	counter_is(p, BIND_SECOND_COUNTER, 0);
	read_only = reg_counted(p);
	ok_write(p, read_only, 0, 8); /* a counter of two regions adds them up */
	counter_is(p, BIND_COUNTER, 102);
	CHECK_RC(0, remote_close(p, r));
	deny(p, RMA_WRITE, r->base[0], r->key, 8, "S178");
	counter_is(p, BIND_COUNTER, 102);
	remote_forget(p, r);
	remote_forget(p, read_only);
	close_counters(p);
}

/* S99: FI_REMOTE_WRITE is what can be counted; flags that are none of it, or missing, are refused. */
EVENT_TEST(S99_flags_of_a_binding_are_checked)
{
	struct remote *r = reg_unbound(p, FI_RMA_EVENT);
	int bit;

	counters_open(p);
	CHECK_REFUSED_AS(-FI_EBADFLAGS, remote_bind(p, r, BIND_COUNTER, 0));
	for (bit = 0; bit < 64; bit++) {
		if (1ULL << bit == FI_REMOTE_WRITE)
			continue;
		CHECK_REFUSED_AS(-FI_EBADFLAGS, remote_bind(p, r, BIND_COUNTER, 1ULL << bit));
		CHECK_REFUSED_AS(-FI_EBADFLAGS, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE | 1ULL << bit));
	}
	if (gated(p))
		CHECK_RC(0, remote_enable(p, r));
	ok_write(p, r, 0, 64);
	counter_is(p, BIND_COUNTER, 0);
	remote_forget(p, r);
	close_counters(p);
}

/* S100: an endpoint that was opened without FI_RMA_EVENT gives no events. */
EVENT_TEST(S100_events_need_the_capability_of_the_endpoint)
{
	fi_addr_t first = p->to, deaf = second_open(p, FI_RMA_EVENT);
	struct remote *r = reg_unbound(p, FI_RMA_EVENT);

	counters_open(p);
	if (peer_has(&p->peer, FI_MR_ENDPOINT))
		CHECK_RC(0, remote_bind(p, r, BIND_SECOND_ENDPOINT, 0));
	CHECK_RC(0, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE));
	if (gated(p))
		CHECK_RC(0, remote_enable(p, r));
	p->to = deaf;
	ok_write(p, r, 0, 64);
	counter_is(p, BIND_COUNTER, 0);
	p->to = first;
	ok_write(p, r, 0, 64);
	counter_is(p, BIND_COUNTER, 1);
	remote_forget(p, r);
	CHECK_RC(0, second_close(p));
	close_counters(p);
}

/* S97: without region events a counter cannot be bound. */
PAIR_TEST(rules, S97_without_events_there_is_no_binding)
{
	struct remote *r = remote_reg(p, 64, ALL_REMOTE);

	if (p->peer.info->caps & FI_RMA_EVENT)
		return;
	counters_open(p);
	CHECK_RC(-FI_ENOSYS, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE));
	ok_write(p, r, 0, 64);
	counter_is(p, BIND_COUNTER, 0);
	close_counters(p);
}
