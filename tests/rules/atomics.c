/* SPDX-License-Identifier: BSD-2-Clause */
/* atomics.c - remote atomics: they obey the regions' rules as reads and writes do. */
#include "tests/rules/harness/amo.h"
#include "tests/rules/harness/bound.h"

enum { LEN = 512 };

/* May the operation be done on a region with that access? The page is of two minds of those that return something (S30): of
 * another provider only what both readings say is asked. */
enum verdict { YES, NO, EITHER };

static enum verdict allowed(enum amo amo, uint64_t access)
{
	bool write = access & FI_REMOTE_WRITE, read = access & FI_REMOTE_READ;

	if (amo == AMO_SUM || peer_is_emu())
		return write ? YES : NO;
	if (write && read)
		return YES;
	return write || (read && amo == AMO_READ) ? EITHER : NO;
}

/* S22, S29, S30, S31: FI_REMOTE_WRITE is what atomics need; local rights give them nothing. */
AMO_TEST(S22_S29_S30_S31_atomics_need_remote_write)
{
	static const uint64_t bits[] = { FI_SEND | FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE };
	unsigned int set, bit;
	enum amo amo;

	for (set = 0; set < 32; set++) {
		uint64_t access = 0;
		struct remote *r;

		for (bit = 0; bit < 5; bit++)
			access |= set >> bit & 1 ? bits[bit] : 0;
		r = remote_reg(p, LEN, access);
		for (amo = 0; amo < AMOS; amo++) {
			if (allowed(amo, access) == YES)
				ok_amo(p, amo, r, 8, 3);
			else if (allowed(amo, access) == NO)
				deny_amo(p, amo, r->base[0] + 8, r->key, 3, "S29|S30|S31");
		}
		remote_forget(p, r);
	}
}

/* Memory that is registered for nothing. */
static void step_bare(const void *arg, void *reply)
{
	static uint64_t bare[64];

	(void)arg;
	*(uint64_t *)reply = (uintptr_t)bare;
}

/* S1: memory is reached by atomics once it is registered, and by its own key. */
AMO_TEST(S1_atomics_reach_registered_memory_alone)
{
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	uint64_t keys[] = { 0, 1, r->key };
	uint64_t bare;
	enum amo amo;
	size_t i;

	target_do(&p->target, step_bare, NULL, 0, &bare, sizeof(bare));
	for (amo = 0; amo < AMOS; amo++) {
		for (i = 0; i < 3; i++) {
			if (keys[i] == r->key && bare < LEN)
				continue;
			if (keys[i] != r->key && keys[i] == p->control->key)
				continue;
			deny_amo(p, amo, bare, keys[i], 1, "S1|S40|S65");
		}
		ok_amo(p, amo, r, 0, 1);
	}
}

/* S61, S65: the same bytes as RMA's, to the last one and no further. */
AMO_TEST(S61_S65_atomics_stay_inside_the_region)
{
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	enum amo amo;

	for (amo = 0; amo < AMOS; amo++) {
		uint64_t base = r->base[0];

		ok_amo(p, amo, r, 0, AMO_MOST);
		ok_amo(p, amo, r, LEN - AMO_SIZE, 1);
		deny_amo(p, amo, base + LEN, r->key, 1, "S65");
		deny_amo(p, amo, base + LEN - 4, r->key, 1, "S65");
		deny_amo(p, amo, base + AMO_SIZE, r->key, AMO_MOST, "S65");
		deny_amo(p, amo, base - 1, r->key, 1, "S65");
		deny_amo(p, amo, base - AMO_SIZE, r->key, 2, "S65");
		deny_amo(p, amo, UINT64_MAX - 3, r->key, 1, "S65");
		deny_amo(p, amo, UINT64_MAX - AMO_SIZE + 1, r->key, 1, "S65");
	}
}

/* S61, S63: segments are one behind the other for atomics, too, an element that lies in two of them included. */
AMO_TEST(S61_S63_elements_may_lie_in_two_segments)
{
	struct region_want want = { .len = { 100, 60, 96 }, .segs = 3, .access = ALL_REMOTE, .call = REG_VEC };
	struct remote *r;
	enum amo amo;

	if (peer_has(&p->peer, FI_MR_VIRT_ADDR) || p->peer.info->domain_attr->mr_iov_limit < 3)
		NOT_IN_THIS_MODE("segments are addressed each by itself, or there is but one");
	r = remote_reg_as(p, &want);
	for (amo = 0; amo < AMOS; amo++) {
		ok_amo(p, amo, r, 96, 1);
		ok_amo(p, amo, r, 0, 32);
		deny_amo(p, amo, r->base[0] + 252, r->key, 1, "S65");
	}
}

/* S25, S26: what local buffers must allow: operands and comparisons FI_WRITE, results FI_READ. */
AMO_TEST(S25_S26_local_buffers_of_atomics)
{
	struct region_want write_only = { .len = { LEN }, .access = FI_WRITE };
	struct region_want read_only = { .len = { LEN }, .access = FI_READ };
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	struct region from, to;
	bool needed = peer_has(&p->peer, FI_MR_LOCAL);
	struct amo_local local = { 0 }, wrong;
	struct outcome out;
	int part;

	region_open(&from, &p->peer, &write_only, 1);
	region_open(&to, &p->peer, &read_only, 2);
	local.operand = from.iov[0].iov_base;
	local.compare = local.operand + 8;
	local.result = to.iov[0].iov_base;
	if (needed) {
		local.operand_desc = local.compare_desc = fi_mr_desc(from.mr);
		local.result_desc = fi_mr_desc(to.mr);
	}
	out = amo_call(p, AMO_SWAP, &local, r->base[0], r->key, 1, 0);
	CHECK(!out.rc && !out.err, "buffers with the rights they need: %zd, err %d, %s", out.rc, out.err, out.text);
	remote_image(r, 0, &local.operand[16], AMO_SIZE);
	CHECK(*local.result == local.operand[16], "what was there was not returned");
	for (part = 0; part < 3 && needed && peer_is_emu(); part++) {
		wrong = local;
		if (part == 0)
			wrong.operand = local.result, wrong.operand_desc = local.result_desc;
		else if (part == 1)
			wrong.compare = local.result, wrong.compare_desc = local.result_desc;
		else
			wrong.result = local.operand, wrong.result_desc = local.operand_desc;
		out = amo_call(p, AMO_SWAP, &wrong, r->base[0], r->key, 1, 0);
		CHECK(out.rc == -FI_EINVAL, "a buffer without the right it needs, part %d: %zd", part, out.rc);
		wrong.operand_desc = part == 0 ? NULL : local.operand_desc;
		wrong.compare_desc = part == 1 ? NULL : local.compare_desc;
		wrong.result_desc = part == 2 ? NULL : local.result_desc;
		out = amo_call(p, AMO_SWAP, &wrong, r->base[0], r->key, 1, 0);
		CHECK(out.rc == -FI_EINVAL, "a buffer without a descriptor, part %d: %zd", part, out.rc);
	}
	remote_verify(p, r);
	region_close(&from);
	region_close(&to);
}

static const struct peer_want counted_wants[] = {
	{ .caps = WITH_ATOMICS | FI_RMA_EVENT },
	{ .caps = WITH_ATOMICS | FI_RMA_EVENT, .mr_mode = FI_MR_RMA_EVENT },
};

/* One compare-and-swap of two elements, of which `met` find what they compare with. */
static void swap_some(struct pair *p, struct remote *r, unsigned met)
{
	uint64_t old[2], compare[2], new[2];
	struct amo_local local;
	struct outcome out;

	remote_image(r, 0, old, sizeof(old));
	for (unsigned i = 0; i < 2; i++)
		compare[i] = i < met ? old[i] : ~old[i];
	amo_local(p, compare, 2, &local);
	for (unsigned i = 0; i < 2; i++)
		new[i] = i < met ? local.operand[i] : old[i];
	out = amo_call(p, AMO_SWAP, &local, r->base[0], r->key, 2, 0);
	CHECK(!out.rc && !out.err, "a good compare and swap failed: %zd, err %d, %s", out.rc, out.err, out.text);
	remote_image_set(r, 0, new, sizeof(new));
	remote_verify(p, r);
}

static void count_exactly(struct pair *p)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE, .flags = FI_RMA_EVENT, .by_hand = true };
	struct remote *r;
	uint64_t changes = 0;
	int i;

	NEED_REGION_EVENTS(p);
	counters_open(p);
	r = remote_reg_as(p, &want);
	CHECK_RC(0, remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE));
	if (peer_has(&p->peer, FI_MR_RMA_EVENT)) {
		deny_amo(p, AMO_SUM, r->base[0], r->key, 1, "S92");
		CHECK_RC(0, remote_enable(p, r));
	}
	for (i = 0; i < 100; i++) {
		enum amo amo = (enum amo)(i % AMOS);

		ok_amo(p, amo, r, (uint64_t)(i % 8) * AMO_SIZE, 1 + (size_t)i % 4);
		changes += amo_changes(amo);
	}
	counter_is(p, BIND_COUNTER, changes);
	for (unsigned met = 0; met <= 2; met++) {
		swap_some(p, r, met);
		changes += met > 0;
		counter_is(p, BIND_COUNTER, changes);
	}
	deny_amo(p, AMO_SUM, r->base[0] + LEN, r->key, 1, "S65");
	counter_is(p, BIND_COUNTER, changes);
	remote_forget(p, r);
	CHECK_RC(0, counter_close(p, BIND_COUNTER));
	CHECK_RC(0, counter_close(p, BIND_SECOND_COUNTER));
}

/* S98: an atomic that changes the region is one event; one that reads, finds nothing to swap, or is refused, is none. */
LONE_TEST(rules, S92_S98_atomics_that_change_the_region_are_counted)
{
	pair_each_of(counted_wants, sizeof(counted_wants) / sizeof(*counted_wants), count_exactly);
}

/* S104: an endpoint-bound region opens to atomics through its endpoint alone. */
AMO_TEST(S104_atomics_come_through_the_bound_endpoint)
{
	fi_addr_t first = p->to, other;
	struct remote *r;
	enum amo amo;

	if (!peer_has(&p->peer, FI_MR_ENDPOINT))
		NOT_IN_THIS_MODE("regions are not bound to endpoints");
	other = second_open(p, 0);
	r = remote_reg(p, LEN, ALL_REMOTE);
	for (amo = 0; amo < AMOS; amo++) {
		struct amo_local local;
		struct outcome out;

		ok_amo(p, amo, r, 0, 2);
		amo_local(p, NULL, 2, &local);
		p->to = other;
		out = amo_call(p, amo, &local, r->base[0], r->key, 2, 0);
		p->to = first;
		check_denied(p, &out, amo_name(amo), "S104");
		all_verify(p);
		live(p);
	}
	remote_forget(p, r);
	CHECK_RC(0, second_close(p));
}

/* S130: an atomic uses a region of single use up; a refused one does not. */
AMO_TEST(S130_an_atomic_uses_a_single_use_key_up)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE, .flags = REGION_SINGLE_USE };
	enum amo amo;

	if (peer_api() < FI_VERSION(2, 0))
		NOT_APPLICABLE("FI_MR_SINGLE_USE came with API 2.0");
	for (amo = 0; amo < AMOS; amo++) {
		struct remote *r = remote_reg_as(p, &want);

		deny_amo(p, amo, r->base[0] + LEN, r->key, 1, "S65");
		ok_amo(p, amo, r, 8, 2);
		deny_amo(p, amo, r->base[0] + 8, r->key, 2, "S130");
		deny(p, RMA_READ, r->base[0], r->key, 8, "S130");
		remote_forget(p, r);
	}
}

/* S178: a closed region is closed to atomics. */
AMO_TEST(S178_a_closed_region_refuses_atomics)
{
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	enum amo amo;

	ok_amo(p, AMO_SUM, r, 0, 4);
	CHECK_RC(0, remote_close(p, r));
	for (amo = 0; amo < AMOS; amo++)
		deny_amo(p, amo, r->base[0], r->key, 4, "S178");
}
