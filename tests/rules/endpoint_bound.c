/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint_bound.c - regions that belong to endpoints (FI_MR_ENDPOINT): S101 to S105. */
#include "tests/rules/harness/bound.h"

static const struct peer_want wants[] = {
	{ .mr_mode = FI_MR_ENDPOINT },
	{ .mr_mode = FI_MR_ENDPOINT | FI_MR_BASIC_BITS | FI_MR_LOCAL },
	{ .mr_mode = FI_MR_ENDPOINT | FI_MR_RMA_EVENT, .caps = WITH_EVENTS },
};

#define BOUND_TEST(name)                                                          \
	static void name##_body(struct pair *p);                                  \
	LONE_TEST(rules, name)                                                    \
	{                                                                         \
		pair_each_of(wants, sizeof(wants) / sizeof(*wants), name##_body); \
	}                                                                         \
	static void name##_body(struct pair *p)

static struct remote *reg_unbound(struct pair *p)
{
	struct region_want want = { .len = { PAGE }, .access = ALL_REMOTE, .by_hand = true };

	return remote_reg_as(p, &want);
}

/* S101: a region is closed to peers until it is bound and enabled. S102: enabling needs the binding. S103: then it
 * works. */
BOUND_TEST(S101_S102_S103_bound_then_enabled)
{
	struct remote *r = reg_unbound(p);

	if (!peer_has(&p->peer, FI_MR_ENDPOINT)) {
		ok_write(p, r, 0, 64); /* regions belong to the domain */
		CHECK_REFUSED(remote_bind(p, r, BIND_ENDPOINT, 0));
		return;
	}
	deny(p, RMA_WRITE, r->base[0], r->key, 64, "S101");
	deny(p, RMA_READ, r->base[0], r->key, 64, "S101");
	CHECK_REFUSED_AS(-FI_EINVAL, remote_enable(p, r));
	CHECK_RC(0, remote_bind(p, r, BIND_ENDPOINT, 0));
	CHECK_REFUSED_AS(-FI_EINVAL, remote_bind(p, r, BIND_ENDPOINT, 0));
	deny(p, RMA_WRITE, r->base[0], r->key, 64, "S101");
	CHECK_RC(0, remote_enable(p, r));
	ok_write(p, r, 0, 64);
	ok_read(p, r, 0, PAGE);
	CHECK_REFUSED_AS(-FI_EOPBADSTATE, remote_enable(p, r));
	CHECK_REFUSED_AS(-FI_EOPBADSTATE, remote_bind(p, r, BIND_ENDPOINT, 0));
}

/* S103 choice: binding and enabling are about peers; the descriptor works locally from the start. */
BOUND_TEST(S103_the_descriptor_works_before)
{
	struct region_want want = { .len = { 128 }, .access = ALL_LOCAL, .by_hand = true };
	struct remote *r = remote_reg(p, 128, ALL_REMOTE);
	struct region mine, old = p->local;
	void *old_desc = p->desc;

	region_open(&mine, &p->peer, &want, 103);
	p->local = mine;
	p->desc = fi_mr_desc(mine.mr);
	ok_write(p, r, 0, 128);
	ok_read(p, r, 3, 77);
	p->local = old;
	p->desc = old_desc;
	region_close(&mine);
}

/* S104: reached through its endpoints only. */
BOUND_TEST(S104_reached_through_its_endpoint_only)
{
	fi_addr_t first = p->to, second = second_open(p, 0);
	struct remote *one = reg_unbound(p), *two = reg_unbound(p), *both = reg_unbound(p);
	bool enforced = peer_has(&p->peer, FI_MR_ENDPOINT);

	if (enforced) {
		CHECK_RC(0, remote_bind(p, one, BIND_ENDPOINT, 0));
		CHECK_RC(0, remote_bind(p, two, BIND_SECOND_ENDPOINT, 0));
		CHECK_RC(0, remote_bind(p, both, BIND_ENDPOINT, 0));
		CHECK_RC(0, remote_bind(p, both, BIND_SECOND_ENDPOINT, 0));
		CHECK_RC(0, remote_enable(p, one));
		CHECK_RC(0, remote_enable(p, two));
		CHECK_RC(0, remote_enable(p, both));
		deny(p, RMA_WRITE, two->base[0], two->key, 64, "S104");
		deny(p, RMA_READ, two->base[0], two->key, 64, "S104");
		deny(p, RMA_WRITE, two->base[0] + PAGE, two->key, 64, "S104");
		p->to = second;
		deny_quick(p, RMA_WRITE, one->base[0], one->key, 64, "S104");
		deny_quick(p, RMA_READ, one->base[0], one->key, 64, "S104");
		remote_verify(p, one);
	}
	p->to = second;
	ok_write(p, two, 0, 64);
	ok_write(p, both, 0, 64);
	p->to = first;
	ok_write(p, one, 0, 64);
	ok_read(p, both, 0, 64);
	/* The region stays, bound to what is left. */
	CHECK_RC(0, second_close(p));
	ok_write(p, both, 64, 64);
	if (enforced)
		deny(p, RMA_WRITE, two->base[0], two->key, 64, "S104");
}

/* S105: flags are 0 for an endpoint. */
BOUND_TEST(S105_no_flags_for_an_endpoint)
{
	struct remote *r = reg_unbound(p);
	int bit;

	for (bit = 0; bit < 64; bit++)
		CHECK_REFUSED_AS(-FI_EBADFLAGS, remote_bind(p, r, BIND_ENDPOINT, 1ULL << bit));
	if (!peer_has(&p->peer, FI_MR_ENDPOINT))
		return;
	CHECK_REFUSED_AS(-FI_EINVAL, remote_enable(p, r));
	CHECK_RC(0, remote_bind(p, r, BIND_ENDPOINT, 0));
}
