/* SPDX-License-Identifier: BSD-2-Clause */
/* backing.c - mappings that change under a region: S79 to S84. */
#include "tests/rules/harness/mapped.h"

#include <stdlib.h>
#include <sys/mman.h>

/* S79: under FI_MR_ALLOCATED what is registered is backed, to its last byte. */
PAIR_TEST(rules, S79_unbacked_memory_does_not_register)
{
	uint64_t key, addr;
	size_t there;

	if (!peer_has(&p->peer, FI_MR_ALLOCATED))
		NOT_IN_THIS_MODE("FI_MR_ALLOCATED is not asked for (S82)");
	for (there = 0; there < MAPPED_PAGES; there++) {
		CHECK_RC(-FI_EFAULT, mapped_open(p, there, &key, &addr));
		mapped_close(p);
	}
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	mapped_close(p);
	live(p);
}

/* S83: without FI_MR_ALLOCATED a region follows the mapping: new pages, no further call. */
PAIR_TEST(rules, S83_regions_follow_the_mapping)
{
	uint64_t key, addr;
	int round;

	if (peer_has(&p->peer, FI_MR_ALLOCATED) || peer_has(&p->peer, FI_MR_MMU_NOTIFY))
		NOT_IN_THIS_MODE("the program tells of changes, or makes none");
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	for (round = 0; round < 3; round++) {
		struct outcome out;

		mapped_renew(p, 0, MAPPED_PAGES);
		if (round & 1)
			mapped_fill(p, 0, MAPPED_PAGES, 9);
		pattern_fill(p->local.iov[0].iov_base, MAPPED_LEN, ++p->seed);
		out = pair_try(p, RMA_WRITE, addr, key, MAPPED_LEN);
		CHECK(!out.rc && !out.err, "a write into new pages failed: %s", out.text ? out.text : "");
		mapped_holds(p, 0, MAPPED_LEN);
	}
	mapped_close(p);
}

/* S80, S84: memory that goes away under a transfer fails that transfer at most; the target lives, and so does
 * everything else. */
PAIR_TEST(rules, S80_S84_memory_that_goes_away)
{
	uint64_t key, addr;
	int round;

	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	for (round = 0; round < 20; round++) {
		uint8_t *local = p->local.iov[0].iov_base;
		struct op op[8];
		size_t i;

		for (i = 0; i < 8; i++)
			CHECK_RC(0, pair_post(p, i & 1 ? RMA_READ : RMA_WRITE, local + i * 4096, PAGE + 100, addr + PAGE - 50, key,
					      &op[i]));
		mapped_drop(p, 1, 2);
		for (i = 0; i < 8; i++)
			peer_wait(&p->peer, &op[i]);
		mapped_renew(p, 1, 2);
		mapped_fill(p, 1, 2, 1);
	}
	live(p);
	mapped_close(p);
}

static void step_peek(const void *arg, void *reply)
{
	memcpy(reply, mapped_page(*(const size_t *)arg), PAGE);
}

/* S18, S65: a write that meets missing memory is refused; the bytes of its range that are there are the old ones or its own, and no
 * other byte has changed. */
PAIR_TEST(rules, S18_S65_a_write_across_a_hole)
{
	static const size_t in[] = { 1, 3, 8, 100, 1000, PAGE };
	uint64_t key, addr;
	size_t i, at, page = 0;

	if (peer_has(&p->peer, FI_MR_ALLOCATED) || peer_has(&p->peer, FI_MR_MMU_NOTIFY))
		NOT_IN_THIS_MODE("the program tells of changes, or makes none");
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	for (i = 0; i < sizeof(in) / sizeof(*in); i++) {
		uint8_t there[PAGE], written[2 * PAGE];
		struct outcome out;

		mapped_renew(p, 0, 2);
		mapped_fill(p, 0, 2, 0x55);
		mapped_drop(p, 1, 1);
		pattern_fill(p->local.iov[0].iov_base, sizeof(written), ++p->seed);
		memcpy(written, p->local.iov[0].iov_base, sizeof(written));
		out = pair_try(p, RMA_WRITE, addr + PAGE - in[i], key, in[i] + 200);
		CHECK(!out.rc && out.err, "a write into a hole succeeded");
		CHECK(!peer_is_emu() || (out.err == FI_EFAULT && strstr(out.text, "S18")), "%s", out.text);
		target_do(&p->target, step_peek, &page, sizeof(page), there, PAGE);
		for (at = 0; at < PAGE - in[i]; at++)
			CHECK(there[at] == 0x55, "byte %zu, before the range, has changed", at);
		for (; at < PAGE; at++)
			CHECK(there[at] == 0x55 || there[at] == written[at - (PAGE - in[i])], "byte %zu is neither", at);
	}
	mapped_renew(p, 0, MAPPED_PAGES);
	mapped_close(p);
	live(p);
}

static void step_protect(const void *arg, void *reply)
{
	(void)reply;
	CHECK(!mprotect(mapped_page(1), PAGE, *(const int *)arg), "mprotect failed");
}

static void protect(struct pair *p, int rights)
{
	target_do(&p->target, step_protect, &rights, sizeof(rights), NULL, 0);
}

/* S18, S80: what the program may not touch itself is refused to peers, as long as that lasts. S81: not where it is pinned. */
PAIR_TEST(rules, S18_S80_protected_memory)
{
	uint64_t key, addr;

	if (!peer_is_emu())
		NOT_IN_THIS_MODE("a provider may pass by the protection");
	if (getenv("FI_EMU_PINNED"))
		NOT_IN_THIS_MODE("pinned memory is reached whatever its protection is (S81)");
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	protect(p, PROT_READ);
	deny(p, RMA_WRITE, addr + PAGE, key, 64, "S18");
	CHECK(!pair_try(p, RMA_READ, addr + PAGE, key, 64).err, "a read of what may be read: %s", p->peer.text);
	protect(p, PROT_NONE);
	deny(p, RMA_WRITE, addr + PAGE, key, 64, "S18");
	deny(p, RMA_READ, addr + PAGE, key, 64, "S18");
	CHECK(!pair_try(p, RMA_WRITE, addr, key, PAGE).err, "a write beside it: %s", p->peer.text);
	protect(p, PROT_READ | PROT_WRITE);
	CHECK(!pair_try(p, RMA_WRITE, addr, key, MAPPED_LEN).err, "a write after it: %s", p->peer.text);
	mapped_holds(p, 0, MAPPED_LEN);
	mapped_close(p);
}
