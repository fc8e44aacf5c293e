/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mr_life.c - what decides over a region beside its bytes: gates, bindings, single use, regions within; and which cause
 * is named when several apply. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/queues/cntr.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/regions/auth_set.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/regions/mr_pages.h"
#include "emu/nic/regions/mr_rules.h"
#include "emu/nic/regions/mr_table.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/session.h"
#include "role.h"

static struct mr_place place;
static struct refusal why;
static struct binding_end here, there;
static uint8_t memory[4096];

/* By request `seq` of life `by`, through `ep`. */
static enum refusal_cause ask(const struct mr *mr, const struct binding_end *ep, uint64_t by, uint64_t seq, uint32_t right,
			      uint64_t addr, uint64_t length)
{
	struct mr_ask asked = { .addr = addr, .length = length, .right = right, .ep = ep, .by = by, .seq = seq };

	return mr_check(mr, &asked, &place, &why);
}

static enum refusal_cause ask_here(const struct mr *mr, uint64_t addr)
{
	return ask(mr, &here, 7, 1, MR_REMOTE_WRITE, addr, 8);
}

/* The first cause that applies is named: registration, enabling, endpoint, authorization, single use, right, range,
 * refresh, pages. */
Test(mr_life, causes_in_order)
{
	struct iovec range = { memory + 56, 1 };
	struct mr_refresh refresh = { .range = &range, .count = 1 };
	struct mr_pages pages = { .runs = 0 }; /* knows none */
	struct mr_single single = { .by = 9, .seq = 1, .length = 8, .right = MR_REMOTE_WRITE };
	struct mr mr = { .length = 64,
			 .access = MR_REMOTE_READ,
			 .iov_count = 1,
			 .one = { memory, 64 },
			 .registering = true,
			 .by_endpoint = true,
			 .gated = true,
			 .pages = &pages,
			 .single = &single,
			 .auth = 5,
			 .refreshes = &refresh };

	cr_assert_eq(ask_here(&mr, UINT64_MAX), REFUSAL_REGISTERING);
	mr.registering = false;
	cr_assert_eq(ask_here(&mr, UINT64_MAX), REFUSAL_DISABLED);
	mr.enabled = true;
	cr_assert_eq(ask_here(&mr, UINT64_MAX), REFUSAL_OTHER_ENDPOINT);
	cr_assert_eq(binding_add(&mr, &there), 0);
	cr_assert_eq(ask_here(&mr, UINT64_MAX), REFUSAL_OTHER_ENDPOINT);
	cr_assert_eq(ask(&mr, NULL, 7, 1, MR_REMOTE_WRITE, UINT64_MAX, 8), REFUSAL_OTHER_ENDPOINT);
	cr_assert_eq(binding_add(&mr, &here), 0);
	cr_assert_eq(ask_here(&mr, UINT64_MAX), REFUSAL_AUTH);
	mr.auth = 0;
	cr_assert_eq(ask_here(&mr, UINT64_MAX), REFUSAL_SPENT);
	single.by = 0;
	cr_assert_eq(ask_here(&mr, UINT64_MAX), REFUSAL_RIGHT);
	mr.access = MR_REMOTE_WRITE;
	cr_assert_eq(ask_here(&mr, UINT64_MAX), REFUSAL_WRAP);
	cr_assert_eq(ask_here(&mr, 57), REFUSAL_RANGE);
	cr_assert_eq(ask_here(&mr, 56), REFUSAL_REFRESHING);
	mr.pages = NULL;
	cr_assert_eq(ask_here(&mr, 56), REFUSAL_NONE, "S118: without a table nobody is shut out");
	mr.pages = &pages;
	mr.refreshes = NULL;
	cr_assert_eq(ask_here(&mr, 56), REFUSAL_PAGE_UNKNOWN);
	mr.pages = NULL;
	cr_assert_eq(ask_here(&mr, 56), REFUSAL_NONE);
	binding_drop_region(&mr);
	cr_assert_eq(ask_here(&mr, 56), REFUSAL_OTHER_ENDPOINT);
	cr_assert_null(here.first);
	cr_assert_null(there.first);
}

/* S158: the whole word, and none at all fits none alone. */
Test(mr_life, authorization)
{
	static const uint64_t taken[] = { 0, 1, UINT64_MAX, 0x0123456789abcdef };
	struct mr mr = { .length = 8, .access = MR_REMOTE_READ, .iov_count = 1, .enabled = true, .one = { memory, 8 } };

	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		struct mr_ask asked = { .length = 8, .right = MR_REMOTE_READ, .auth = taken[i] };

		mr.auth = taken[i];
		cr_expect_eq(mr_check(&mr, &asked, &place, &why), REFUSAL_NONE);
		for (int bit = 0; bit < 64; bit++) {
			asked.auth = taken[i] ^ UINT64_C(1) << bit;
			cr_expect_eq(mr_check(&mr, &asked, &place, &why), REFUSAL_AUTH, "%zu, bit %d", i, bit);
		}
	}
	cr_expect_eq(auth_proof("a", 0), 0);
	cr_expect_neq(auth_proof("a", 1), 0);
	cr_expect_neq(auth_proof("a", 1), auth_proof("b", 1));
	cr_expect_neq(auth_proof("\0", 1), auth_proof("\0", 2));
}

/* S164, S165: any of the set, none alone is none, and of one peer if it says so. */
Test(mr_life, authorization_by_a_set)
{
	static const uint64_t proofs[] = { 3, 5, 7 };
	struct mr mr = { .length = 8, .access = MR_REMOTE_READ, .iov_count = 1, .enabled = true, .one = { memory, 8 } };
	struct sockaddr_storage us = { .ss_family = AF_INET }, them = { .ss_family = AF_INET6 };

	for (uint32_t count = 0; count <= 3; count++) {
		for (int limited = 0; limited < 2; limited++) {
			mr.auths = auth_set_make(proofs, count, limited ? &us : NULL);
			mr.by_set = true;
			cr_assert_not_null(mr.auths);
			for (uint64_t shown = 0; shown < 9; shown++) {
				struct mr_ask asked = { .length = 8, .right = MR_REMOTE_READ, .auth = shown, .peer = &us };
				bool in = shown % 2 && shown >= 3 && shown < 3 + 2 * count;

				cr_expect_eq(mr_check(&mr, &asked, &place, &why), in ? REFUSAL_NONE : REFUSAL_AUTH);
				asked.peer = &them;
				cr_expect_eq(mr_check(&mr, &asked, &place, &why), in && !limited ? REFUSAL_NONE : REFUSAL_AUTH);
			}
			free(mr.auths);
		}
	}
}

/* S130: only the request that has the region comes back, for its own bytes and with its own right. */
Test(mr_life, single_use_comes_back)
{
	struct mr_single single = { .by = 7, .seq = 3, .addr = 100, .length = 50, .right = MR_REMOTE_READ };
	struct mr mr = { .length = 4096,
			 .access = MR_REMOTE_WRITE | MR_REMOTE_READ,
			 .iov_count = 1,
			 .enabled = true,
			 .one = { memory, 4096 },
			 .single = &single };
	static const struct {
		uint64_t by, seq;
		uint32_t right;
		uint64_t addr, length;
		bool spent;
	} asks[] = {
		{ 7, 3, MR_REMOTE_READ, 100, 50, false }, { 7, 3, MR_REMOTE_READ, 149, 1, false },
		{ 7, 3, MR_REMOTE_READ, 150, 0, false },  { 7, 3, MR_REMOTE_READ, 99, 1, true },
		{ 7, 3, MR_REMOTE_READ, 149, 2, true },   { 7, 3, MR_REMOTE_READ, 151, 0, true },
		{ 7, 3, MR_REMOTE_READ, 100, 51, true },  { 7, 3, MR_REMOTE_WRITE, 100, 50, true },
		{ 7, 4, MR_REMOTE_READ, 100, 50, true },  { 8, 3, MR_REMOTE_READ, 100, 50, true },
		{ 0, 3, MR_REMOTE_READ, 100, 50, true },
	};

	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		cr_expect_eq(ask(&mr, NULL, asks[i].by, asks[i].seq, asks[i].right, asks[i].addr, asks[i].length),
			     asks[i].spent ? REFUSAL_SPENT : REFUSAL_NONE, "ask %zu", i);
	single.right = MR_REMOTE_WRITE; /* the segments of a message, after the first was not here to be judged */
	cr_expect_eq(ask(&mr, NULL, 7, 3, MR_REMOTE_WRITE, 150, 50), REFUSAL_NONE);
	cr_expect_eq(ask(&mr, NULL, 7, 4, MR_REMOTE_WRITE, 150, 50), REFUSAL_SPENT);
}

/* Bonds go from either side, in any order, and the others stay. */
Test(mr_life, bonds_are_dissolved_from_either_side)
{
	enum { REGIONS = 3 * SLICE_BINDINGS };
	static struct mr mr[REGIONS];
	struct binding_end end = { .cntr = NULL };

	for (int i = 0; i < REGIONS; i++) {
		cr_assert_eq(binding_add(&mr[i], &end), 0);
		cr_assert_eq(binding_add(&mr[i], &here), 0);
		cr_assert_eq(binding_add(&mr[i], &end), -EINVAL);
	}
	for (int i = 0; i < REGIONS; i += 3)
		binding_drop_region(&mr[i]);
	cr_assert(binding_drop_slice(&end), "more than a slice is left");
	cr_assert(!binding_drop_slice(&end));
	for (int i = 0; i < REGIONS; i++) {
		cr_assert(!binding_exists(&mr[i], &end));
		cr_assert_eq(binding_exists(&mr[i], &here), i % 3 != 0);
		binding_drop_region(&mr[i]);
	}
	cr_assert_null(here.first);
}

Test(mr_life, bonds_have_a_limit)
{
	struct binding_end end[LIMIT_BINDINGS + 1] = { { .cntr = NULL } };
	struct mr mr = { .iov_count = 1 };

	for (int i = 0; i < LIMIT_BINDINGS; i++)
		cr_assert_eq(binding_add(&mr, &end[i]), 0);
	cr_assert_eq(binding_add(&mr, &end[LIMIT_BINDINGS]), -ENOMEM);
	binding_drop_region(&mr);
	for (int i = 0; i <= LIMIT_BINDINGS; i++)
		cr_assert_null(end[i].first);
}

Test(mr_life, what_may_be_registered)
{
	static const struct {
		struct iovec iov[2];
		size_t count;
		bool may_be_empty;
		enum mr_rule rule;
	} cases[] = {
		{ { { memory, 1 } }, 1, false, MR_RULE_NONE },
		{ { { memory, 1 } }, 0, false, MR_RULE_NO_SEGMENT },
		{ { { memory, 1 }, { memory, 1 } }, 3, false, MR_RULE_MANY_SEGMENTS },
		{ { { memory, 1 }, { memory, 0 } }, 2, false, MR_RULE_EMPTY },
		{ { { memory, 1 }, { memory, 0 } }, 2, true, MR_RULE_NONE },
		{ { { NULL, SIZE_MAX } }, 1, false, MR_RULE_NONE },
		{ { { (void *)UINTPTR_MAX, 1 } }, 1, false, MR_RULE_NONE },
		{ { { (void *)UINTPTR_MAX, 2 } }, 1, false, MR_RULE_WRAPS },
		{ { { NULL, SIZE_MAX }, { memory, 1 } }, 2, false, MR_RULE_TOO_LONG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(mr_may_hold(cases[i].iov, cases[i].count, 2, cases[i].may_be_empty), cases[i].rule, "case %zu", i);
	cr_assert_eq(mr_may_hold(NULL, 1, 2, false), MR_RULE_NO_SEGMENT);
	cr_assert_eq(mr_may_grant(MR_COLLECTIVE | MR_REMOTE_READ), MR_RULE_COLLECTIVE_ALONE);
	cr_assert_eq(mr_may_grant(MR_COLLECTIVE | MR_RECV), MR_RULE_NONE);
	cr_assert_eq(mr_may_grant(0), MR_RULE_NONE);
	for (uint32_t right = 1; right <= MR_COLLECTIVE; right <<= 1)
		cr_assert_eq(mr_rights_write(right), right == MR_RECV || right == MR_READ || right == MR_REMOTE_WRITE);
}

/* S91, S94, S95, S102; S126, S180: the first one that applies. */
Test(mr_life, what_may_be_bound_enabled_and_closed)
{
	struct binding_end counter = { .cntr = NULL };
	struct mr_refresh refresh = { .count = 0 };
	struct mr mr = { .iov_count = 1 };

	cr_assert_eq(cntr_open(&counter.cntr, NULL, NULL), 0);
	cr_assert_eq(mr_may_bind(&mr, &counter, false), MR_RULE_NONE);
	cr_assert_eq(mr_may_bind(&mr, &counter, true), MR_RULE_NO_EVENTS);
	cr_assert_eq(mr_may_bind(&mr, &here, true), MR_RULE_NOT_BY_ENDPOINT);
	cr_assert_eq(mr_may_enable(&mr), MR_RULE_NONE);
	mr.by_endpoint = mr.gated = mr.events = true;
	cr_assert_eq(mr_may_bind(&mr, &counter, true), MR_RULE_NONE);
	cr_assert(!binding_add(&mr, &counter));
	cr_assert_eq(mr_may_bind(&mr, &counter, true), MR_RULE_BOUND);
	cr_assert_eq(mr_may_enable(&mr), MR_RULE_UNBOUND);
	cr_assert_eq(mr_may_bind(&mr, &here, true), MR_RULE_NONE);
	cr_assert(!binding_add(&mr, &here));
	cr_assert_eq(mr_may_enable(&mr), MR_RULE_NONE);
	mr.enabled = true;
	cr_assert_eq(mr_may_enable(&mr), MR_RULE_ENABLED);
	cr_assert_eq(mr_may_bind(&mr, &there, true), MR_RULE_ENABLED);
	cr_assert_eq(mr_may_close(&mr, false), MR_RULE_NONE);
	cr_assert_eq(mr_may_close(&mr, true), MR_RULE_HAS_BINDINGS);
	mr.refreshes = &refresh;
	cr_assert_eq(mr_may_close(&mr, true), MR_RULE_REFRESHES);
	mr.subs = 1;
	cr_assert_eq(mr_may_close(&mr, true), MR_RULE_HAS_REGIONS);
	binding_drop_region(&mr);
	cr_assert_eq(cntr_close(counter.cntr), 0);
}

/* S98: every counter of the region. */
Test(mr_life, counters_of_a_region)
{
	struct binding_end first = { .cntr = NULL }, second = { .cntr = NULL };
	struct mr mr = { .iov_count = 1 };

	cr_assert_eq(cntr_open(&first.cntr, NULL, NULL), 0);
	cr_assert_eq(cntr_open(&second.cntr, NULL, NULL), 0);
	cr_assert(!binding_add(&mr, &first) && !binding_add(&mr, &second));
	cr_assert(!binding_to_endpoint(&mr) && binding_to_counter(&mr));
	cr_assert(!binding_add(&mr, &here) && binding_to_endpoint(&mr));
	binding_count_change(&mr, 1);
	binding_drop_slice(&first);
	binding_count_change(&mr, 1);
	cr_assert_eq(cntr_read(first.cntr), 1);
	cr_assert_eq(cntr_read(second.cntr), 2);
	binding_drop_slice(&second);
	cr_assert(!binding_to_counter(&mr));
	binding_drop_region(&mr);
	cr_assert_eq(cntr_close(first.cntr), 0);
	cr_assert_eq(cntr_close(second.cntr), 0);
}

static void fill(void *arg, void *bytes, size_t length)
{
	static uint64_t state;

	(void)arg;
	for (size_t i = 0; i < length; i++)
		((uint8_t *)bytes)[i] = (uint8_t)((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
}

/* The table makes them as asked for, and takes with a region what hangs off it. */
Test(mr_life, table_makes_and_ends_them)
{
	struct iovec iov = { memory, 64 };
	struct mr_attr attr = { .iov = &iov,
				.iov_count = 1,
				.access = MR_REMOTE_WRITE,
				.key = 1,
				.key_bytes = 8,
				.gated = true,
				.by_endpoint = true,
				.single_use = true };
	struct mr_table *table;
	struct mr *base, *sub;

	cr_assert_eq(mr_table_open(&table, fill, NULL), 0);
	cr_assert_eq(mr_add(table, &attr, &base), 0);
	cr_assert(!base->enabled && base->gated && base->by_endpoint && base->single && !base->events);
	cr_assert_eq(binding_add(base, &here), 0);
	attr = (struct mr_attr){
		.iov = &iov, .iov_count = 1, .access = MR_REMOTE_READ, .key = 2, .key_bytes = 8, .base = base, .events = true
	};
	cr_assert_eq(mr_add(table, &attr, &sub), 0);
	cr_assert(sub->enabled && !sub->single && sub->events && sub->base == base && base->subs == 1);
	attr.key = 2;
	cr_assert_neq(mr_add(table, &attr, &sub), 0); /* in use: the base has no more regions than before */
	cr_assert_eq(base->subs, 1);
	mr_remove(table, mr_find(table, 2), 0);
	cr_assert_eq(base->subs, 0);
	mr_remove(table, base, 0);
	cr_assert_null(here.first);
	mr_table_close(table);
}

/* S183: the rest of a request that met a region which was closed does not go to the next one under its key. */
Test(mr_life, another_region_under_the_key)
{
	struct iovec iov = { memory, 64 };
	struct mr_attr attr = { .iov = &iov, .iov_count = 1, .access = MR_REMOTE_WRITE, .key = 1, .key_bytes = 8 };
	struct access asked = { .to.key = 1, .length = 8, .right = MR_REMOTE_WRITE, .seq = 1 };
	struct nic *nic = calloc(1, sizeof(*nic));
	struct pd pd = { .nic = nic };
	struct ep ep = { .nic = nic, .attr.pd = &pd };
	struct session session = { .ep = &ep };
	struct mr *mr;

	role_give_back();
	cr_assert(nic && driver_enter(&nic->driver));
	cr_assert(!mr_table_open(&pd.regions, fill, NULL) && !mr_add(pd.regions, &attr, &mr));
	nic->pace.slicing = nic->pace.clocked = true; /* a device without a clock: it is 0 */
	cr_assert(access_check(&session, &asked, &place, &why) == mr && why.cause == REFUSAL_NONE);
	asked.mr_id = mr->id;
	mr_remove(pd.regions, mr, 0);
	cr_assert(!access_check(&session, &asked, &place, &why) && why.cause == REFUSAL_CLOSED);
	cr_assert_eq(mr_add(pd.regions, &attr, &mr), 0);
	cr_assert(!access_check(&session, &asked, &place, &why) && why.cause == REFUSAL_CLOSED);
	asked.mr_id = 0;
	cr_assert(access_check(&session, &asked, &place, &why) == mr && why.cause == REFUSAL_NONE);
	mr_table_close(pd.regions);
	driver_fini(&nic->driver);
	free(nic);
}
