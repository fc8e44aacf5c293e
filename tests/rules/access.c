/* SPDX-License-Identifier: BSD-2-Clause */
/* access.c - what the access bits allow a peer: S22, S27 to S31. The local bits: local.c. */
#include "tests/rules/harness/harness.h"

/* The bits of 0..63 in the order of the six access bits. */
static uint64_t access_of(unsigned int bits)
{
	static const uint64_t bit[] = { FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE };
	uint64_t access = 0;
	size_t i;

	for (i = 0; i < 6; i++)
		if (bits & (1u << i))
			access |= bit[i];
	return access;
}

/* S22: remote access is exactly what was given, for all 64 combinations. */
PAIR_TEST(rules, S22_remote_access_is_exactly_what_was_given)
{
	unsigned int bits;

	for (bits = 0; bits < 64; bits++) {
		uint64_t access = access_of(bits);
		struct remote *r = remote_reg(p, 96, access);

		if (access & FI_REMOTE_WRITE)
			ok_write(p, r, 5, 64);
		else
			deny(p, RMA_WRITE, r->base[0] + 5, r->key, 64, "S29|S31");
		if (access & FI_REMOTE_READ)
			ok_read(p, r, 5, 64);
		else
			deny(p, RMA_READ, r->base[0] + 5, r->key, 64, "S27|S31");
		remote_forget(p, r);
	}
}

/* S27: FI_REMOTE_READ is what a peer's read needs. */
PAIR_TEST(rules, S27_read_needs_remote_read)
{
	struct remote *rr = remote_reg(p, PAGE, FI_REMOTE_READ), *rw = remote_reg(p, PAGE, FI_REMOTE_WRITE);

	ok_read(p, rr, 0, PAGE);
	ok_read(p, rr, 1, 1);
	deny(p, RMA_READ, rw->base[0], rw->key, PAGE, "S27");
	deny(p, RMA_READ, rw->base[0] + 1, rw->key, 1, "S27");
}

/* S28: reads, good and refused ones, never change the region. */
PAIR_TEST(rules, S28_reads_never_change_the_region)
{
	struct remote *r = remote_reg(p, PAGE, FI_REMOTE_READ);
	uint64_t state = 28;
	int i;

	for (i = 0; i < 250; i++) { /* in all modes and levels together: two thousand */
		uint64_t off = pattern_next(&state) % PAGE, len = pattern_next(&state) % 512;
		struct outcome out = pair_try(p, RMA_READ, r->base[0] + off, r->key, len);
		bool inside = len <= PAGE - off;

		CHECK(!out.rc && !out.err == inside, "a read of %llu B at %llu: err %d, %s", (unsigned long long)len,
		      (unsigned long long)off, out.err, out.err ? out.text : "no error");
	}
	remote_verify(p, r);
	live(p);
}

/* S29: FI_REMOTE_WRITE is what a peer's write needs. */
PAIR_TEST(rules, S29_write_needs_remote_write)
{
	struct remote *rr = remote_reg(p, PAGE, FI_REMOTE_READ), *rw = remote_reg(p, PAGE, FI_REMOTE_WRITE);

	ok_write(p, rw, 0, PAGE);
	ok_write(p, rw, PAGE - 1, 1);
	deny(p, RMA_WRITE, rr->base[0], rr->key, PAGE, "S29");
	deny(p, RMA_WRITE, rr->base[0] + PAGE - 1, rr->key, 1, "S29");
}

/* S31: no combination of local rights gives a remote one. */
PAIR_TEST(rules, S31_local_rights_give_no_remote_right)
{
	struct remote *r = remote_reg(p, PAGE, ALL_LOCAL);

	deny(p, RMA_WRITE, r->base[0], r->key, 64, "S29|S31");
	deny(p, RMA_READ, r->base[0], r->key, 64, "S27|S31");
	deny(p, RMA_WRITE, r->base[0], r->key, 0, "S29|S31");
	deny(p, RMA_READ, r->base[0], r->key, 0, "S27|S31");
}
