/* SPDX-License-Identifier: BSD-2-Clause */
/* close.c - what fi_close of a region ends, and what it leaves alone: S175 to S179, S182, S183. */
#include "tests/rules/harness/harness.h"

#include <stdlib.h>

enum { BIG = 16 << 20, QUEUED = 9 };

/* S175: fi_close releases the region. S178: access afterwards is an error at the peer, never silence or success. */
PAIR_TEST(rules, S175_S178_access_after_close_is_refused)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);

	ok_write(p, r, 0, PAGE);
	ok_read(p, r, 0, PAGE);
	CHECK_RC(0, remote_close(p, r));
	deny(p, RMA_WRITE, r->base[0], r->key, 64, "S178");
	deny(p, RMA_READ, r->base[0], r->key, 64, "S178");
	deny(p, RMA_WRITE, r->base[0] + PAGE, r->key, 64, "S178");
	deny(p, RMA_READ, r->base[0], r->key, 0, "S178");
}

/* ---- closing in the middle of a transfer ---- */

static struct region big;
static uint8_t *snapshot;

struct big_told {
	uint64_t key; /* once it is learned */
	struct key_card card;
	uint64_t addr;
};

static void step_big_open(const void *arg, void *reply)
{
	struct region_want want = { .len = { BIG }, .access = ALL_REMOTE };
	struct big_told *told = reply;

	(void)arg;
	region_open(&big, &target_peer, &want, 0);
	memset(big.iov[0].iov_base, 0x11, BIG);
	snapshot = malloc(BIG);
	CHECK(snapshot, "no memory");
	key_show(&target_peer, big.mr, &told->card);
	told->addr = region_base(&big, &target_peer, 0);
}

/* Waits for the first byte, closes, and keeps what the memory then holds. Answers how much of it had been written. */
static void step_big_close(const void *arg, void *reply)
{
	volatile uint8_t *bytes = big.iov[0].iov_base;
	struct deadline guard = deadline_start();
	size_t i, written = 0;

	(void)arg;
	while (bytes[0] == 0x11) {
		peer_idle();
		deadline_check(&guard, "the first byte of a large write");
	}
	CHECK_RC(0, fi_close(&big.mr->fid));
	big.mr = NULL;
	memcpy(snapshot, big.iov[0].iov_base, BIG);
	for (i = 0; i < BIG; i += PAGE)
		written += snapshot[i] != 0x11;
	*(uint64_t *)reply = written * PAGE;
}

static void step_big_compare(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	CHECK(!memcmp(snapshot, big.iov[0].iov_base, BIG), "bytes were written after fi_close had returned");
	free(snapshot);
	region_close(&big);
}

/* S176: an operation under way when its region closes succeeds or fails, and no byte is written once fi_close has
 * returned. */
PAIR_TEST(rules, S176_no_byte_is_written_after_close)
{
	struct region_want want = { .len = { BIG }, .access = ALL_LOCAL };
	void *old_desc = p->desc;
	struct region source;
	struct big_told told;
	uint64_t written;
	struct op op;

	target_do(&p->target, step_big_open, NULL, 0, &told, sizeof(told));
	told.key = key_learn(p, &told.card);
	region_open(&source, &p->peer, &want, 0);
	memset(source.iov[0].iov_base, 0x22, BIG);
	p->desc = old_desc ? fi_mr_desc(source.mr) : NULL;
	CHECK_RC(0, pair_post(p, RMA_WRITE, source.iov[0].iov_base, BIG, told.addr, told.key, &op));
	p->desc = old_desc;
	target_begin(&p->target, step_big_close, NULL, 0, sizeof(written));
	peer_wait(&p->peer, &op);
	target_end(&p->target, &written, sizeof(written));
	CHECK(!op.err || !peer_is_emu() || cites(p->peer.text, "S176|S178"), "the refusal cites neither S176 nor S178: %s",
	      p->peer.text);
	CHECK(op.err || written == BIG, "a write was called good of which %llu of %d B had been written when the region closed",
	      (unsigned long long)written, BIG);
	live(p);
	target_do(&p->target, step_big_compare, NULL, 0, NULL, 0);
	region_close(&source);
}

/* S179: a refused operation among good ones fails alone. */
PAIR_TEST(rules, S179_a_refusal_disturbs_nothing_else)
{
	struct remote *good = remote_reg(p, PAGE, ALL_REMOTE), *closed = remote_reg(p, PAGE, ALL_REMOTE);
	uint8_t *local = p->local.iov[0].iov_base;
	struct op ops[QUEUED];
	size_t i;

	CHECK_RC(0, remote_close(p, closed));
	pattern_fill(local, QUEUED * 64, 179);
	for (i = 0; i < QUEUED; i++) {
		struct remote *r = i == QUEUED / 2 ? closed : good;

		CHECK_RC(0, pair_post(p, RMA_WRITE, local + i * 64, 64, r->base[0] + i * 64, r->key, &ops[i]));
	}
	for (i = 0; i < QUEUED; i++) {
		peer_wait(&p->peer, &ops[i]);
		if (i == QUEUED / 2) {
			CHECK(ops[i].err, "the write to the closed region succeeded");
			continue;
		}
		CHECK(!ops[i].err, "good write %zu of %d failed: err %d, %s", i, QUEUED, ops[i].err, p->peer.text);
		memcpy(good->image + REGION_GUARD + i * 64, local + i * 64, 64);
	}
	remote_verify(p, good);
	remote_verify(p, closed);
	live(p);
}

/* S182: a domain does not close while it has regions. */
PEER_TEST(rules, S182_domain_with_regions_does_not_close)
{
	struct region_want want = { .len = { 64 }, .access = ALL_REMOTE, .by_hand = true };
	struct fid_domain *domain;
	struct peer second = *p;
	struct region region;

	CHECK_RC(0, fi_domain(p->fabric, p->info, &domain, NULL));
	second.domain = domain;
	region_open(&region, &second, &want, 1);
	CHECK_RC(-FI_EBUSY, fi_close(&domain->fid));
	region_close(&region);
	CHECK_RC(0, fi_close(&domain->fid));
}

/* S183: a closed region's key is free, and then reaches the new memory alone. */
PAIR_TEST(rules, S183_a_reused_key_reaches_the_new_memory_only)
{
	static const uint64_t keys[] = { 0, 42, UINT64_MAX - 1 };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct region_want want = { .len = { 256 }, .access = ALL_REMOTE, .key = keys[i], .exact_key = true };
		struct remote *old, *new;

		if (!peer_has(&p->peer, FI_MR_PROV_KEY) && p->peer.info->domain_attr->mr_key_size < 8 && i == 2)
			continue; /* no such key there (S36) */
		old = remote_reg_as(p, &want);
		CHECK_RC(0, remote_close(p, old));
		new = remote_reg_as(p, &want);
		ok_write(p, new, 0, 256);
		ok_read(p, new, 10, 100);
		remote_verify(p, old);
		if (old->key != new->key)
			deny(p, RMA_WRITE, old->base[0], old->key, 8, "S40|S178");
		else if (old->base[0] != new->base[0])
			deny(p, RMA_WRITE, old->base[0], old->key, 8, "S65|S60");
		CHECK_RC(0, remote_close(p, new));
		deny(p, RMA_WRITE, new->base[0], new->key, 8, "S40|S178");
	}
}
