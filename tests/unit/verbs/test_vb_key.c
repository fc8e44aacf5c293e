/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vb_key.c - which buffer of a post an lkey allows, and where its bytes are. */
#include <criterion/criterion.h>
#include <stdint.h>

#include "emu/nic/regions/mr.h"
#include "emu/verbs/regions/vb_key.h"
#include "emu/verbs/regions/vb_pd.h"

enum { BASE = 0x10000, LENGTH = 100, LOCAL = MR_SEND | MR_WRITE | MR_RECV | MR_READ };

static struct vb_pd pd = { .root = &pd }, other = { .root = &other };
static const int region;

static uint32_t opened(uint64_t addr, uint64_t length, uint64_t shift, uint32_t access)
{
	const struct vb_key key = {
		.root = &pd, .addr = addr, .length = length, .shift = shift, .access = access, .desc = &region
	};
	uint32_t lkey;

	cr_assert_eq(vb_key_open(&key, 0, &lkey), 0);
	return lkey;
}

static enum vb_key_flaw found(uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access, uint64_t *at)
{
	struct vb_buffer buffer = { NULL, NULL };
	enum vb_key_flaw flaw = vb_key_find(&pd, lkey, addr, length, access, &buffer);

	*at = (uintptr_t)buffer.at;
	if (!flaw)
		cr_assert_eq(buffer.desc, &region);
	return flaw;
}

Test(vb_key, bounds_of_a_region)
{
	uint32_t lkey = opened(BASE, LENGTH, 0, LOCAL);
	uint64_t at;

	cr_assert_eq(found(lkey, BASE, LENGTH, MR_RECV, &at), VB_KEY_OK);
	cr_assert_eq(at, BASE);
	cr_assert_eq(found(lkey, BASE + LENGTH - 1, 1, MR_SEND, &at), VB_KEY_OK);
	cr_assert_eq(found(lkey, BASE, LENGTH + 1, MR_SEND, &at), VB_KEY_OUTSIDE);
	cr_assert_eq(found(lkey, BASE + LENGTH, 1, MR_SEND, &at), VB_KEY_OUTSIDE);
	cr_assert_eq(found(lkey, BASE - 1, 1, MR_SEND, &at), VB_KEY_OUTSIDE);
	cr_assert_eq(found(lkey, BASE + 1, UINT64_MAX, MR_SEND, &at), VB_KEY_OUTSIDE);
	cr_assert_eq(found(lkey, 0, 0, MR_SEND, &at), VB_KEY_OK, "a zero length is inside anywhere");
}

Test(vb_key, bytes_elsewhere_than_their_addresses)
{
	uint32_t lkey = opened(0, LENGTH, BASE, LOCAL), before = opened(BASE, LENGTH, (uint64_t)0 - 0x1000, LOCAL);
	uint64_t at;

	cr_assert_eq(found(lkey, 7, 10, MR_SEND, &at), VB_KEY_OK);
	cr_assert_eq(at, BASE + 7);
	cr_assert_eq(found(lkey, BASE, 10, MR_SEND, &at), VB_KEY_OUTSIDE);
	cr_assert_eq(found(before, BASE + 1, 1, MR_SEND, &at), VB_KEY_OK);
	cr_assert_eq(at, BASE + 1 - 0x1000);
}

Test(vb_key, all_memory)
{
	uint32_t lkey = opened(0, SIZE_MAX, 0, LOCAL);
	uint64_t at;

	cr_assert_eq(found(lkey, UINTPTR_MAX - 7, 7, MR_SEND, &at), VB_KEY_OK);
	cr_assert_eq(found(lkey, 1, SIZE_MAX, MR_SEND, &at), VB_KEY_OUTSIDE);
}

Test(vb_key, rights)
{
	uint32_t lkey = opened(BASE, LENGTH, 0, MR_SEND | MR_WRITE);
	uint64_t at;

	cr_assert_eq(found(lkey, BASE, 1, MR_SEND, &at), VB_KEY_OK);
	cr_assert_eq(found(lkey, BASE, 1, MR_WRITE, &at), VB_KEY_OK);
	cr_assert_eq(found(lkey, BASE, 1, MR_RECV, &at), VB_KEY_RIGHT);
	cr_assert_eq(found(lkey, BASE, 1, MR_READ, &at), VB_KEY_RIGHT);
}

Test(vb_key, another_pd)
{
	uint32_t lkey = opened(BASE, LENGTH, 0, LOCAL);
	struct vb_pd parent = { .root = &pd };
	struct vb_buffer buffer;

	cr_assert_eq(vb_key_find(&other, lkey, BASE, 1, MR_SEND, &buffer), VB_KEY_OTHER_PD);
	cr_assert_eq(vb_key_find(&parent, lkey, BASE, 1, MR_SEND, &buffer), VB_KEY_OK, "a parent domain is its PD");
}

Test(vb_key, ends)
{
	uint32_t lkey = opened(BASE, LENGTH, 0, LOCAL);
	uint64_t at;

	vb_key_close(lkey);
	cr_assert_eq(found(lkey, BASE, 1, MR_SEND, &at), VB_KEY_CLOSED);
	cr_assert_eq(found(lkey - 1, BASE, 1, MR_SEND, &at), VB_KEY_UNKNOWN);
	cr_assert_eq(found(0, BASE, 1, MR_SEND, &at), VB_KEY_UNKNOWN);
	cr_assert_eq(found(UINT32_MAX, BASE, 1, MR_SEND, &at), VB_KEY_UNKNOWN);
}

Test(vb_key, a_place_is_taken_again_under_other_keys)
{
	uint32_t lkey = opened(BASE, LENGTH, 0, LOCAL), again = lkey;
	uint64_t at;

	for (int i = 0; i < 200; i++) {
		vb_key_close(again);
		again = opened(BASE, LENGTH, 0, LOCAL);
		cr_assert_neq(again, lkey);
		cr_assert_eq(found(lkey, BASE, 1, MR_SEND, &at), VB_KEY_CLOSED);
	}
}

Test(vb_key, is_no_remote_key)
{
	const struct vb_key key = { .root = &pd, .length = 1 };
	uint32_t lkey, next = opened(BASE, LENGTH, 0, LOCAL) + (1 << 8);

	cr_assert_eq(vb_key_open(&key, next, &lkey), 0);
	cr_assert_neq(lkey, next);
}

Test(vb_key, more_than_one_part_of_the_table)
{
	enum { MANY = 10000 };
	static uint32_t lkey[MANY];
	uint64_t at;

	for (int i = 0; i < MANY; i++)
		lkey[i] = opened(BASE + (uint64_t)i, LENGTH, 0, LOCAL);
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(found(lkey[i], BASE + (uint64_t)i, LENGTH, MR_SEND, &at), VB_KEY_OK);
		vb_key_close(lkey[i]);
	}
}

Test(vb_key, a_null_region_has_no_addresses)
{
	const struct vb_key key = {
		.root = &pd, .length = SIZE_MAX, .shift = BASE, .sink = 2 * BASE, .access = LOCAL, .discards = true
	};
	struct vb_buffer buffer;
	uint32_t lkey;

	cr_assert_eq(vb_key_open(&key, 0, &lkey), 0);
	cr_assert_eq(vb_key_find(&pd, lkey, 12345, 10, MR_SEND, &buffer), VB_KEY_OK);
	cr_assert_eq((uintptr_t)buffer.at, BASE);
	cr_assert_eq(vb_key_find(&pd, lkey, 12345, 10, MR_RECV, &buffer), VB_KEY_OK);
	cr_assert_eq((uintptr_t)buffer.at, 2 * BASE);
	cr_assert_null(buffer.desc);
}
