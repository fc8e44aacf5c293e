/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mr.c - judging accesses. Regions here stand at made-up addresses: nothing touches their bytes. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/regions/mr.h"

#define BOTH (MR_REMOTE_READ | MR_REMOTE_WRITE)

static struct mr region(uintptr_t base, uint64_t length, bool virtual_addr)
{
	return (struct mr){ .length = length,
			    .access = BOTH,
			    .iov_count = 1,
			    .virtual_addr = virtual_addr,
			    .enabled = true,
			    .one = { (void *)base, length } };
}

static struct mr vector(struct iovec *segments, uint8_t count, bool virtual_addr)
{
	struct mr mr = { .access = BOTH, .iov_count = count, .virtual_addr = virtual_addr, .enabled = true, .more = segments };

	for (uint8_t i = 0; i < count; i++)
		mr.length += segments[i].iov_len;
	return mr;
}

static struct mr_place place;
static struct refusal why;

static enum refusal_cause check(const struct mr *mr, uint64_t addr, uint64_t length)
{
	memset(&place, 0xee, sizeof(place));
	memset(&why, 0xee, sizeof(why));
	return mr_check(mr, &(struct mr_ask){ .addr = addr, .length = length, .right = MR_REMOTE_WRITE }, &place, &why);
}

static void expect_runs(const struct iovec *runs, uint8_t count)
{
	cr_assert_eq(place.count, count);
	for (uint8_t i = 0; i < count; i++) {
		cr_assert_eq(place.run[i].iov_base, runs[i].iov_base, "run %d", i);
		cr_assert_eq(place.run[i].iov_len, runs[i].iov_len, "run %d", i);
	}
}

/* Granted, in one run. */
static void expect_one(const struct mr *mr, uint64_t addr, uint64_t length, uintptr_t at)
{
	cr_assert_eq(check(mr, addr, length), REFUSAL_NONE, "at 0x%lx, %lu B", (long)addr, (long)length);
	expect_runs(&(struct iovec){ (void *)at, length }, 1);
}

static void expect_none(const struct mr *mr, uint64_t addr)
{
	cr_assert_eq(check(mr, addr, 0), REFUSAL_NONE, "at 0x%lx", (long)addr);
	cr_assert_eq(place.count, 0);
}

static void expect_range(const struct mr *mr, uint64_t addr, uint64_t length, uint64_t excess, uint32_t form)
{
	cr_assert_eq(check(mr, addr, length), REFUSAL_RANGE, "at 0x%lx, %lu B", (long)addr, (long)length);
	cr_assert_eq(place.count, 0);
	cr_assert_eq(why.excess, excess, "excess %lu at 0x%lx", (long)why.excess, (long)addr);
	cr_assert_eq(why.access, mr->access | form);
	cr_assert_eq(why.region, mr->length);
}

/* S42: before all else, since nothing about the region holds yet. */
Test(mr, not_while_it_is_registered)
{
	struct mr mr = region(0x10000, 4096, false);

	mr.registering = true;
	mr.enabled = false;
	cr_assert_eq(check(&mr, 0, 8), REFUSAL_REGISTERING);
	mr.access = 0;
	cr_assert_eq(check(&mr, 5000, 8), REFUSAL_REGISTERING);
	mr = region(0x10000, 4096, false);
	expect_one(&mr, 0, 8, 0x10000);
}

/* S62: judged by what peers call the bytes, placed where they lie, on either side. */
Test(mr, bytes_that_lie_elsewhere)
{
	struct mr mr = region(0x10040, 4096, true);

	mr.shift = 0x700000 - 0x10040;
	expect_one(&mr, 0x10040, 64, 0x700000);
	expect_one(&mr, 0x10040 + 4000, 96, 0x700000 + 4000);
	expect_range(&mr, 0x1003f, 64, 1, REFUSAL_VIRTUAL | REFUSAL_BEFORE);
	expect_range(&mr, 0x700000, 64, 0x700000 + 64 - 0x10040 - 4096, REFUSAL_VIRTUAL);
	mr.shift = (uint64_t)0x8000 - 0x10040;
	expect_one(&mr, 0x10040, 64, 0x8000);
	mr.virtual_addr = false;
	expect_one(&mr, 0, 64, 0x8000);
	expect_one(&mr, 4032, 64, 0x8000 + 4032);
	expect_range(&mr, 4033, 64, 1, 0);
	cr_assert(mr_covers(&mr, 0x10040, 4096), "locally by its own name");
	cr_assert_not(mr_covers(&mr, 0x8000, 64));
}

/* S59, S65 */
Test(mr, edges_by_offset)
{
	struct mr mr = region(0x10000, 4096, false);

	expect_one(&mr, 0, 1, 0x10000);
	expect_one(&mr, 0, 4096, 0x10000);
	expect_one(&mr, 4095, 1, 0x10fff);
	expect_none(&mr, 0);
	expect_none(&mr, 4096);
	expect_range(&mr, 4096, 1, 1, 0);
	expect_range(&mr, 4095, 2, 1, 0);
	expect_range(&mr, 4064, 64, 32, 0);
	expect_range(&mr, 0, 4097, 1, 0);
	expect_range(&mr, 4097, 0, 1, 0);
	expect_range(&mr, 5000, 100, 1004, 0);
	expect_range(&mr, 0, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 4096, 0);
	expect_range(&mr, 0, UINT64_MAX, UINT64_MAX - 4096, 0);
	expect_range(&mr, UINT64_MAX, 1, UINT64_MAX - 4095, 0);
}

/* S60, S65 */
Test(mr, edges_by_address)
{
	struct mr mr = region(0x10000, 4096, true);

	expect_one(&mr, 0x10000, 4096, 0x10000);
	expect_one(&mr, 0x10fff, 1, 0x10fff);
	expect_none(&mr, 0x10000);
	expect_none(&mr, 0x11000);
	expect_range(&mr, 0x11000, 1, 1, REFUSAL_VIRTUAL);
	expect_range(&mr, 0x10fe0, 64, 32, REFUSAL_VIRTUAL);
	expect_range(&mr, 0x11001, 0, 1, REFUSAL_VIRTUAL);
	expect_range(&mr, 0xffff, 1, 1, REFUSAL_VIRTUAL | REFUSAL_BEFORE);
	expect_range(&mr, 0xffff, 0, 1, REFUSAL_VIRTUAL | REFUSAL_BEFORE);
	expect_range(&mr, 0xffff, 2, 1, REFUSAL_VIRTUAL | REFUSAL_BEFORE);
	expect_range(&mr, 0, 8, 0x10000, REFUSAL_VIRTUAL | REFUSAL_BEFORE);
}

/* S65: a range that ends at 2^64 does not wrap, one byte more does. */
Test(mr, wrap)
{
	struct mr offset = region(0x10000, 4096, false), top = region(-8, 8, true), low = region(0x10000, 4096, true);
	static const struct {
		uint64_t addr, length;
	} wraps[] = {
		{ UINT64_MAX, 2 },
		{ -UINT64_C(8), 9 },
		{ -UINT64_C(8), UINT64_MAX },
		{ 1, UINT64_MAX + UINT64_C(0) },
		{ UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1 },
		{ -UINT64_C(0x1000), 0x20000 },
	};

	for (size_t i = 0; i < sizeof(wraps) / sizeof(*wraps); i++) {
		enum refusal_cause wanted = wraps[i].addr == 1 ? REFUSAL_RANGE : REFUSAL_WRAP;

		cr_assert_eq(check(&offset, wraps[i].addr, wraps[i].length), wanted, "%zu", i);
		cr_assert_eq(check(&low, wraps[i].addr, wraps[i].length), wanted, "%zu", i);
		cr_assert_eq(check(&top, wraps[i].addr, wraps[i].length), wanted, "%zu", i);
		cr_assert_eq(place.count, 0);
		cr_assert(wanted == REFUSAL_RANGE || !why.excess);
	}
	expect_one(&top, -UINT64_C(8), 8, -8);
	expect_one(&top, UINT64_MAX, 1, UINTPTR_MAX);
	expect_range(&top, -UINT64_C(9), 9, 1, REFUSAL_VIRTUAL | REFUSAL_BEFORE);
	expect_range(&offset, -UINT64_C(8), 8, -UINT64_C(4096), 0);
}

/* Everything is registered by (NULL, SIZE_MAX), the last byte included; only wraps are refused. */
Test(mr, whole_address_space)
{
	for (int virtual_addr = 0; virtual_addr < 2; virtual_addr++) {
		struct mr mr = region(0, SIZE_MAX, virtual_addr);

		expect_one(&mr, 0, 1, 0);
		expect_one(&mr, 0x12345678, 64, 0x12345678);
		expect_one(&mr, 0, UINT64_MAX, 0);
		expect_one(&mr, 1, UINT64_MAX, 1);
		expect_one(&mr, UINT64_MAX, 1, UINTPTR_MAX);
		expect_one(&mr, -UINT64_C(8), 8, -8);
		expect_none(&mr, UINT64_MAX);
		cr_assert_eq(check(&mr, UINT64_MAX, 2), REFUSAL_WRAP);
		cr_assert_eq(check(&mr, 2, UINT64_MAX), REFUSAL_WRAP);
	}
}

/* A region that begins at NULL, or is as long as the address space, is not everything for that. */
Test(mr, nearly_the_whole_address_space)
{
	for (int virtual_addr = 0; virtual_addr < 2; virtual_addr++) {
		struct mr low = region(0, 4096, virtual_addr), high = region(1, SIZE_MAX, virtual_addr);

		expect_one(&low, 0, 4096, 0);
		cr_assert_eq(check(&low, 4095, 2), REFUSAL_RANGE);
		cr_assert_eq(check(&low, 0, UINT64_MAX), REFUSAL_RANGE);
		expect_one(&high, virtual_addr, 8, 1);
		cr_assert_eq(check(&high, virtual_addr ? 0 : UINT64_MAX, 1), REFUSAL_RANGE);
	}
}

/* S22, S27, S29, S31: all 64 sets of rights against both remote accesses. */
Test(mr, rights)
{
	for (uint32_t bits = 0; bits < 64; bits++) {
		struct mr mr = region(0x10000, 4096, false);

		mr.access = bits;
		for (uint32_t right = MR_REMOTE_READ; right <= MR_REMOTE_WRITE; right <<= 1) {
			enum refusal_cause cause = mr_check(&mr, &(struct mr_ask){ .length = 8, .right = right }, &place, &why);

			cr_assert_eq(cause, mr.access & right ? REFUSAL_NONE : REFUSAL_RIGHT, "access 0x%x", mr.access);
			cr_assert(cause == REFUSAL_NONE || why.access == mr.access);
			cr_assert_eq(place.count, mr.access & right ? 1 : 0);
		}
	}
}

/* S40, S92: key before enabled before right before wrap before range. */
Test(mr, ladder)
{
	struct mr mr = region(0x10000, 4096, false);

	mr.enabled = false;
	mr.access = MR_REMOTE_READ;
	cr_assert_eq(check(NULL, UINT64_MAX, 2), REFUSAL_UNKNOWN_KEY);
	cr_assert_eq(check(&mr, UINT64_MAX, 2), REFUSAL_DISABLED);
	mr.enabled = true;
	cr_assert_eq(check(&mr, UINT64_MAX, 2), REFUSAL_RIGHT);
	mr.access = MR_REMOTE_WRITE;
	cr_assert_eq(check(&mr, UINT64_MAX, 2), REFUSAL_WRAP);
	cr_assert_eq(check(&mr, 4096, 1), REFUSAL_RANGE);
	cr_assert_eq(check(&mr, 4095, 1), REFUSAL_NONE);
}

/* A zero-length access needs key and right all the same. */
Test(mr, zero_length_is_judged)
{
	struct mr mr = region(0x10000, 4096, false);

	mr.access = MR_REMOTE_READ;
	cr_assert_eq(check(&mr, 0, 0), REFUSAL_RIGHT);
	cr_assert_eq(check(NULL, 0, 0), REFUSAL_UNKNOWN_KEY);
}

/* Registered by an API version whose page allows it (S3). */
Test(mr, empty_region)
{
	for (int virtual_addr = 0; virtual_addr < 2; virtual_addr++) {
		struct mr mr = region(0x10000, 0, virtual_addr);

		expect_none(&mr, virtual_addr ? 0x10000 : 0);
		cr_assert_eq(check(&mr, virtual_addr ? 0x10000 : 0, 1), REFUSAL_RANGE);
	}
}

/* S63 */
Test(mr, vector_by_offset)
{
	struct iovec seg[3] = { { (void *)0x10000, 5 }, { (void *)0x30000, 7 }, { (void *)0x20000, 9 } };
	struct mr mr = vector(seg, 3, false);

	expect_one(&mr, 0, 5, 0x10000);
	expect_one(&mr, 5, 7, 0x30000);
	expect_one(&mr, 12, 9, 0x20000);
	expect_one(&mr, 20, 1, 0x20008);
	cr_assert_eq(check(&mr, 2, 13), REFUSAL_NONE);
	expect_runs((struct iovec[]){ { (void *)0x10002, 3 }, { (void *)0x30000, 7 }, { (void *)0x20000, 3 } }, 3);
	cr_assert_eq(check(&mr, 4, 2), REFUSAL_NONE);
	expect_runs((struct iovec[]){ { (void *)0x10004, 1 }, { (void *)0x30000, 1 } }, 2);
	expect_none(&mr, 5);
	expect_none(&mr, 21);
	expect_range(&mr, 21, 1, 1, 0);
	expect_range(&mr, 0, 22, 1, 0);
	expect_range(&mr, 22, 0, 1, 0);
}

/* S64 */
Test(mr, vector_by_address)
{
	struct iovec seg[3] = { { (void *)0x30000, 16 }, { (void *)0x10000, 16 }, { (void *)0x10010, 16 } };
	struct mr mr = vector(seg, 3, true);

	expect_one(&mr, 0x10000, 16, 0x10000);
	expect_one(&mr, 0x30008, 8, 0x30008);
	cr_assert_eq(check(&mr, 0x10008, 16), REFUSAL_NONE, "touching segments");
	expect_runs((struct iovec[]){ { (void *)0x10008, 8 }, { (void *)0x10010, 8 } }, 2);
	expect_none(&mr, 0x10020);
	expect_none(&mr, 0x30000);
	expect_range(&mr, 0x10020, 1, 0, REFUSAL_VIRTUAL | REFUSAL_GAP);
	expect_range(&mr, 0x20000, 8, 0, REFUSAL_VIRTUAL | REFUSAL_GAP);
	expect_range(&mr, 0x20000, 0, 0, REFUSAL_VIRTUAL | REFUSAL_GAP);
	expect_range(&mr, 0x1001f, 2, 0, REFUSAL_VIRTUAL | REFUSAL_GAP);
	expect_range(&mr, 0x10000, 0x20010, 0, REFUSAL_VIRTUAL | REFUSAL_GAP);
	expect_range(&mr, 0x10000, 0x20011, 1, REFUSAL_VIRTUAL);
	expect_range(&mr, 0xfff8, 16, 8, REFUSAL_VIRTUAL | REFUSAL_BEFORE);
	expect_range(&mr, 0x3000f, 2, 1, REFUSAL_VIRTUAL);
	expect_range(&mr, 0, 1, 0x10000, REFUSAL_VIRTUAL | REFUSAL_BEFORE);
}

/* Overlapping segments: every byte in one run, never more runs than segments. */
Test(mr, overlapping_segments)
{
	struct iovec seg[LIMIT_IOV];
	struct mr mr;

	for (int i = 0; i < LIMIT_IOV; i++)
		seg[i] = (struct iovec){ (void *)(uintptr_t)(0x10000 + i), 32 };
	mr = vector(seg, LIMIT_IOV, true);
	cr_assert_eq(check(&mr, 0x10000, 32 + LIMIT_IOV - 1), REFUSAL_NONE);
	cr_assert_eq(place.count, LIMIT_IOV);
	expect_range(&mr, 0x10000, 32 + LIMIT_IOV, 1, REFUSAL_VIRTUAL);
}

static uint64_t dice(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % below;
}

/* What the region's byte number k is, by the rules' own words; false if there is none. */
static bool model_byte(const struct mr *mr, const struct iovec *seg, uint64_t k, uintptr_t *byte)
{
	for (int i = 0; i < mr->iov_count; i++) {
		uintptr_t base = (uintptr_t)seg[i].iov_base;

		if (mr->virtual_addr && k >= base && k < base + seg[i].iov_len) {
			*byte = k;
			return true;
		}
		if (!mr->virtual_addr && k < seg[i].iov_len) {
			*byte = base + k;
			return true;
		}
		if (!mr->virtual_addr)
			k -= seg[i].iov_len;
	}
	return false;
}

/* Byte by byte against a model that only counts. */
Test(mr, agrees_with_a_model)
{
	uint64_t state = 42;

	for (int round = 0; round < 200000; round++) {
		struct iovec seg[4];
		uint8_t count = (uint8_t)(1 + dice(&state, 4));
		uint64_t addr = dice(&state, 90), length = 1 + dice(&state, 20), run = 0, done = 0;
		bool inside = true;
		struct mr mr;

		for (int i = 0; i < count; i++)
			seg[i] = (struct iovec){ (void *)(uintptr_t)(8 + dice(&state, 64)), dice(&state, 16) };
		mr = vector(seg, count, dice(&state, 2));
		if (count == 1)
			mr.one = seg[0];
		enum refusal_cause cause = check(&mr, addr, length);

		for (uint64_t k = 0; k < length; k++) {
			uintptr_t byte;

			if (!model_byte(&mr, seg, addr + k, &byte)) {
				inside = false;
				break;
			}
			if (cause != REFUSAL_NONE)
				continue;
			cr_assert_lt(run, place.count);
			cr_assert_eq((uintptr_t)place.run[run].iov_base + done, byte, "round %d", round);
			if (++done == place.run[run].iov_len) {
				run++;
				done = 0;
			}
		}
		cr_assert_eq(cause, inside ? REFUSAL_NONE : REFUSAL_RANGE, "round %d", round);
		cr_assert(!inside || (run == place.count && !done), "round %d", round);
		if (mr.virtual_addr)
			cr_assert_eq(mr_covers(&mr, addr, length), inside);
	}
}

/* S74, S75: local use is by address, whatever the region's way of addressing. */
Test(mr, covers_local_ranges)
{
	for (int virtual_addr = 0; virtual_addr < 2; virtual_addr++) {
		struct mr mr = region(0x10000, 4096, virtual_addr), all = region(0, SIZE_MAX, virtual_addr);

		cr_assert(mr_covers(&mr, 0x10000, 4096));
		cr_assert(mr_covers(&mr, 0x10fff, 1));
		cr_assert(mr_covers(&mr, 0, 0));
		cr_assert_not(mr_covers(&mr, 0x10000, 4097));
		cr_assert_not(mr_covers(&mr, 0xffff, 2));
		cr_assert_not(mr_covers(&mr, 0, 8));
		cr_assert_not(mr_covers(&mr, 0x10000, UINT64_MAX));
		cr_assert(mr_covers(&all, UINT64_MAX, 1));
		cr_assert_not(mr_covers(&all, UINT64_MAX, 2));
	}
}
