/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_keys.c - keys that travel as bytes and are mapped by the initiator: S43, S46 to S51, S53 to S58. */
#include "tests/rules/harness/harness.h"

enum { LEN = 256 };

static void need_raw(const struct pair *p, bool *skip)
{
	*skip = !peer_has(&p->peer, FI_MR_RAW);
}

#define RAW_ONLY(p)                                                     \
	do {                                                            \
		bool skip_;                                             \
		need_raw(p, &skip_);                                    \
		if (skip_)                                              \
			NOT_IN_THIS_MODE("FI_MR_RAW is not asked for"); \
	} while (0)

/* The raw key of a region of this process, whatever the mode. */
static void raw_of(struct peer *peer, struct fid_mr *mr, struct key_card *card, uint64_t *base)
{
	(void)peer;
	card->key = fi_mr_key(mr);
	card->raw_len = sizeof(card->raw);
	CHECK_RC(0, fi_mr_raw_attr(mr, base, card->raw, &card->raw_len, 0));
}

static struct region theirs;

static void step_show(const void *arg, void *reply)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE };
	struct key_card *card = reply;
	uint64_t base;

	(void)arg;
	region_open(&theirs, &target_peer, &want, 1);
	raw_of(&target_peer, theirs.mr, card, &base);
	card->key = region_base(&theirs, &target_peer, 0); /* the address, in the place of a key that is not one */
}

static void step_hide(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	region_close(&theirs);
}

/* S43: under FI_MR_RAW there is no key of 64 bits. */
PEER_TEST(rules, S43_fi_mr_key_gives_none)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE };
	struct region region;

	if (!peer_has(p, FI_MR_RAW))
		NOT_IN_THIS_MODE("FI_MR_RAW is not asked for");
	region_open(&region, p, &want, 1);
	CHECK(fi_mr_key(region.mr) == FI_KEY_NOTAVAIL, "fi_mr_key is 0x%llx", (unsigned long long)fi_mr_key(region.mr));
	region_close(&region);
}

/* S46: raw key and base address. S47: also where FI_MR_RAW is not set. S51: of mr_key_size bytes at most. */
PEER_TEST(rules, S46_S47_S51_raw_key_and_base)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE };
	struct key_card card, again;
	struct region region;
	uint64_t base = 1;

	region_open(&region, p, &want, 1);
	raw_of(p, region.mr, &card, &base);
	CHECK(card.raw_len >= 1 && card.raw_len <= p->info->domain_attr->mr_key_size, "a raw key of %zu B, mr_key_size is %zu",
	      card.raw_len, p->info->domain_attr->mr_key_size);
	CHECK(base == region_base(&region, p, 0), "the base is 0x%llx, expected 0x%llx", (unsigned long long)base,
	      (unsigned long long)region_base(&region, p, 0));
	raw_of(p, region.mr, &again, &base);
	CHECK(again.raw_len == card.raw_len && !memcmp(again.raw, card.raw, card.raw_len), "another raw key each time");
	region_close(&region);
}

/* S49, S50: a buffer that is too small is not written, and the size needed comes back. */
PEER_TEST(rules, S49_S50_short_buffers)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE };
	struct region region;
	struct key_card card;
	uint64_t base;
	size_t room, i;

	region_open(&region, p, &want, 1);
	raw_of(p, region.mr, &card, &base);
	for (room = 0; room < card.raw_len; room++) {
		uint8_t bytes[RAW_KEY_MAX];
		size_t size = room;

		memset(bytes, 0xA5, sizeof(bytes));
		CHECK_RC(-FI_ETOOSMALL, fi_mr_raw_attr(region.mr, &base, bytes, &size, 0));
		CHECK(size == card.raw_len, "%zu B are said to be needed, not %zu", size, card.raw_len);
		for (i = 0; i < sizeof(bytes); i++)
			CHECK(bytes[i] == 0xA5, "byte %zu of a buffer that is too small was written", i);
	}
	region_close(&region);
}

static void expect_there(struct pair *p, uint64_t addr, uint64_t key, bool reachable)
{
	struct outcome out = pair_try(p, RMA_WRITE, addr, key, LEN);

	CHECK(reachable == (!out.rc && !out.err), "a write by a mapped key: post %zd, err %d: %s", out.rc, out.err,
	      out.text ? out.text : "");
}

/* S54: a mapped raw key works. S55: so does any valid key, also where FI_MR_RAW is not set. S56: also a short one. S57:
 * an unmapped one works no more, and is unmapped once only. */
PAIR_TEST(rules, S54_S55_S56_S57_map_use_unmap)
{
	struct key_card card;
	uint64_t key = 0;
	struct outcome out;

	target_do(&p->target, step_show, NULL, 0, &card, sizeof(card));
	CHECK_RC(0, fi_mr_map_raw(p->peer.domain, card.key, card.raw, card.raw_len, &key, 0));
	expect_there(p, card.key, key, true);
	CHECK_RC(0, fi_mr_unmap_key(p->peer.domain, key));
	CHECK_REFUSED(fi_mr_unmap_key(p->peer.domain, key));
	out = pair_try(p, RMA_WRITE, card.key, key, LEN);
	if (peer_has(&p->peer, FI_MR_RAW)) {
		CHECK(out.rc || out.err, "a write by an unmapped key succeeded (S57)");
		CHECK(!peer_is_emu() || out.rc == -FI_ENOKEY, "post %zd, err %d", out.rc, out.err);
	}
	live(p);
	target_do(&p->target, step_hide, NULL, 0, NULL, 0);
}

/* S48, S53: bytes of a raw key that was not mapped open nothing. */
PAIR_TEST(rules, S48_S53_unmapped_keys_are_refused)
{
	uint64_t words[RAW_KEY_MAX / 8];
	struct key_card card;
	size_t i;

	RAW_ONLY(p);
	target_do(&p->target, step_show, NULL, 0, &card, sizeof(card));
	memcpy(words, card.raw, sizeof(words));
	for (i = 0; i < card.raw_len / 8; i++) {
		expect_there(p, card.key, words[i], false);
		expect_there(p, card.key, __builtin_bswap64(words[i]), false);
	}
	expect_there(p, card.key, FI_KEY_NOTAVAIL, false);
	live(p);
	target_do(&p->target, step_hide, NULL, 0, NULL, 0);
}

/* S54: a raw key with a bit changed, or cut short, maps to nothing that works. */
PAIR_TEST(rules, S54_forged_raw_keys_open_nothing)
{
	struct key_card card;
	size_t bit, size;
	uint64_t key;

	RAW_ONLY(p);
	target_do(&p->target, step_show, NULL, 0, &card, sizeof(card));
	for (bit = 0; bit < 8 * card.raw_len; bit += 7) {
		uint8_t forged[RAW_KEY_MAX];

		memcpy(forged, card.raw, sizeof(forged));
		forged[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (fi_mr_map_raw(p->peer.domain, card.key, forged, card.raw_len, &key, 0))
			continue;
		expect_there(p, card.key, key, false);
		CHECK_RC(0, fi_mr_unmap_key(p->peer.domain, key));
	}
	for (size = 0; size < card.raw_len; size++) {
		if (fi_mr_map_raw(p->peer.domain, card.key, card.raw, size, &key, 0))
			continue;
		expect_there(p, card.key, key, false);
		CHECK_RC(0, fi_mr_unmap_key(p->peer.domain, key));
	}
	live(p);
	target_do(&p->target, step_hide, NULL, 0, NULL, 0);
}

/* S58: a domain with a live mapping does not close; unmapping the key frees it. */
PAIR_TEST(rules, S58_mappings_end_before_the_domain)
{
	struct fid_domain *domain;
	struct key_card card;
	uint64_t key;

	target_do(&p->target, step_show, NULL, 0, &card, sizeof(card));
	CHECK_RC(0, fi_domain(p->peer.fabric, p->peer.info, &domain, NULL));
	CHECK_RC(0, fi_mr_map_raw(domain, card.key, card.raw, card.raw_len, &key, 0));
	CHECK_RC(-FI_EBUSY, fi_close(&domain->fid));
	CHECK_RC(0, fi_mr_unmap_key(domain, key));
	CHECK_RC(0, fi_close(&domain->fid));
	target_do(&p->target, step_hide, NULL, 0, NULL, 0);
}
