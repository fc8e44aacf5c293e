/* SPDX-License-Identifier: BSD-2-Clause */
/* addressing.c - which byte an address names, and that nothing outside is reached: S59 to S61, S63 to S65. */
#include "tests/rules/harness/harness.h"

static bool virtual_addresses(struct pair *p)
{
	return peer_has(&p->peer, FI_MR_VIRT_ADDR);
}

/* S59, S60, S61: an address is the region's base (0, or its virtual address) plus an offset, for reads and writes
 * alike. */
PAIR_TEST(rules, S59_S60_S61_base_plus_offset)
{
	static const uint64_t offsets[] = { 0, 1, 7, 2048, 4090, 4095 };
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	size_t i;

	CHECK(r->base[0] == (virtual_addresses(p) ? r->va[0] : 0), "the harness took the wrong base");
	for (i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		ok_write_at(p, r, r->base[0] + offsets[i], offsets[i], 1);
		ok_read_at(p, r, r->base[0] + offsets[i], offsets[i], PAGE - offsets[i]);
		ok_write_at(p, r, r->base[0] + offsets[i], offsets[i], PAGE - offsets[i]);
	}
}

/* S59, S60: the other way of addressing is refused. */
PAIR_TEST(rules, S59_S60_the_other_addressing_is_refused)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	uint64_t other = virtual_addresses(p) ? 0 : r->va[0];

	deny(p, RMA_WRITE, other, r->key, 64, "S59|S60|S65");
	deny(p, RMA_READ, other + 1, r->key, 64, "S59|S60|S65");
	deny(p, RMA_WRITE, other + PAGE - 1, r->key, 1, "S59|S60|S65");
}

/* Three segments of odd lengths, or as many as the provider has. */
static struct remote *odd_segments(struct pair *p)
{
	struct region_want want = { .len = { 101, 203, 307 }, .segs = 3, .access = ALL_REMOTE };

	CHECK(p->peer.info->domain_attr->mr_iov_limit >= 3, "mr_iov_limit is %zu", p->peer.info->domain_attr->mr_iov_limit);
	return remote_reg_as(p, &want);
}

/* S63: addressed from 0, a vectored region is one linear space, and an access may run across its seams. */
PAIR_TEST(rules, S63_vectored_region_is_linear_from_zero)
{
	struct remote *r = odd_segments(p);

	if (virtual_addresses(p))
		NOT_IN_THIS_MODE("addresses are virtual (S64)");
	ok_write_at(p, r, 0, 0, 101);
	ok_write_at(p, r, 98, 98, 209);
	ok_read_at(p, r, 98, 98, 209);
	ok_write_at(p, r, 100, 100, 2);
	ok_read_at(p, r, 303, 303, 2);
	ok_write_at(p, r, 0, 0, 611);
	ok_read_at(p, r, 0, 0, 611);
	deny(p, RMA_WRITE, 610, r->key, 2, "S65|S63");
	deny(p, RMA_READ, 611, r->key, 1, "S65|S63");
}

/* S64: under FI_MR_VIRT_ADDR each segment is addressed by its own virtual address, and the gaps between them by
 * nothing. */
PAIR_TEST(rules, S64_vectored_region_by_virtual_address)
{
	struct remote *r = odd_segments(p);
	uint64_t before = 0;
	size_t seg;

	if (!virtual_addresses(p))
		NOT_IN_THIS_MODE("addresses are offsets (S63)");
	for (seg = 0; seg < r->segs; seg++) {
		ok_write_at(p, r, r->va[seg], before, r->len[seg]);
		ok_read_at(p, r, r->va[seg] + 50, before + 50, r->len[seg] - 50);
		deny(p, RMA_WRITE, r->va[seg] + r->len[seg], r->key, 1, "S64|S65");
		deny(p, RMA_READ, r->va[seg] + r->len[seg] - 1, r->key, 2, "S64|S65");
		deny(p, RMA_WRITE, r->va[seg] - 1, r->key, 2, "S64|S65");
		before += r->len[seg];
	}
	deny(p, RMA_WRITE, r->va[0], r->key, r->va[1] - r->va[0] + 8, "S64|S65");
	deny(p, RMA_READ, r->va[0], r->key, r->va[2] + 8 - r->va[0], "S64|S65");
}

/* S65: nothing outside the registered bytes is reached, however the sum is made to come out. */
PAIR_TEST(rules, S65_past_the_end_is_refused)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	uint64_t base = r->base[0];
	enum rma_dir dir;

	for (dir = RMA_WRITE; dir <= RMA_READ; dir++) {
		deny(p, dir, base + PAGE, r->key, 1, "S65");
		deny(p, dir, base + PAGE - 1, r->key, 2, "S65");
		deny(p, dir, base + PAGE - 32, r->key, 64, "S65");
		deny(p, dir, base + 1, r->key, PAGE, "S65");
		deny(p, dir, base, r->key, PAGE + 1, "S65");
		deny(p, dir, base + (1ULL << 32), r->key, 8, "S65");
		deny(p, dir, base + (1ULL << 63), r->key, 8, "S65");
	}
}

PAIR_TEST(rules, S65_below_the_base_and_wrapping_is_refused)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	uint64_t base = r->base[0];
	enum rma_dir dir;

	for (dir = RMA_WRITE; dir <= RMA_READ; dir++) {
		deny(p, dir, base - 1, r->key, 1, "S65");
		deny(p, dir, base - 1, r->key, 2, "S65");
		deny(p, dir, base - 16, r->key, 64, "S65");
		deny(p, dir, UINT64_MAX - 7, r->key, 8, "S65");
		deny(p, dir, UINT64_MAX - 7, r->key, 64, "S65");
		deny(p, dir, UINT64_MAX, r->key, PAGE, "S65");
	}
}

/* S65: zero bytes at the end are inside; zero bytes past it, or under a wrong key, are not. */
PAIR_TEST(rules, S65_zero_length_access)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	enum rma_dir dir;

	ok_write_at(p, r, r->base[0], 0, 0);
	ok_read_at(p, r, r->base[0] + 100, 100, 0);
	ok_write_at(p, r, r->base[0] + PAGE, PAGE, 0);
	ok_read_at(p, r, r->base[0] + PAGE, PAGE, 0);
	for (dir = RMA_WRITE; dir <= RMA_READ; dir++) {
		deny(p, dir, r->base[0] + PAGE + 1, r->key, 0, "S65");
		deny(p, dir, r->base[0] - 1, r->key, 0, "S65");
		deny(p, dir, r->base[0], r->key ^ 1, 0, "S1|S40");
	}
}

/* S65: a length that no memory has is refused, at the post or by completion, and harms no one. */
PAIR_TEST(rules, S65_absurd_lengths_are_refused)
{
	static const size_t lengths[] = { 1ULL << 63, SIZE_MAX, SIZE_MAX - 63 };
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	enum rma_dir dir;
	size_t i;

	for (dir = RMA_WRITE; dir <= RMA_READ; dir++) {
		for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			struct outcome out = pair_try(p, dir, r->base[0], r->key, lengths[i]);

			CHECK(out.rc < 0 || out.err, "an access of 0x%zx B succeeded", lengths[i]);
		}
	}
	remote_verify(p, r);
	live(p);
}
