/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mr_cache.c - what the cache of local buffers finds, and what goes when. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/regions/mr_cache.h"

enum { BASE = 0x10000 };

static struct mr_cache *cache;
static struct mr_cache_counts counts;

/* The calls of forgot(). */
static struct {
	uint64_t addr, length;
	bool held;
} gone[64];
static unsigned gone_count;

static void forgot(void *arg, uint64_t addr, uint64_t length)
{
	cr_assert_eq(arg, gone);
	gone[gone_count % 64].addr = addr;
	gone[gone_count % 64].length = length;
	gone[gone_count++ % 64].held = mr_cache_holds(cache, addr, length);
}

static void begin(uint64_t bytes_max, uint32_t count_max, bool merge)
{
	struct mr_cache_attr attr = { bytes_max, count_max, merge, forgot, gone };

	cr_assert_eq(mr_cache_open(&cache, &attr), 0);
}

static bool find(uint64_t from, uint64_t length)
{
	return mr_cache_find(cache, BASE + from, length, false);
}

static bool add(uint64_t from, uint64_t length)
{
	return mr_cache_add(cache, BASE + from, length, false);
}

static void drop(uint64_t from, uint64_t length)
{
	mr_cache_drop(cache, BASE + from, length);
}

static void expect(uint32_t regions, uint64_t bytes, uint64_t evicted, uint64_t merged, uint64_t changed)
{
	mr_cache_count(cache, &counts);
	cr_assert_eq(counts.regions, regions, "%u regions", counts.regions);
	cr_assert_eq(counts.bytes, bytes, "%llu bytes", (unsigned long long)counts.bytes);
	cr_assert_eq(counts.evicted, evicted, "%llu evicted", (unsigned long long)counts.evicted);
	cr_assert_eq(counts.merged, merged, "%llu merged", (unsigned long long)counts.merged);
	cr_assert_eq(counts.changed, changed, "%llu changed", (unsigned long long)counts.changed);
	cr_assert_eq(gone_count, evicted + merged + changed);
}

Test(mr_cache, finds_what_lies_within)
{
	begin(UINT64_MAX, 8, false);
	cr_assert_not(find(100, 1), "nothing is there yet");
	cr_assert(add(100, 50));
	cr_assert(find(100, 50) && find(100, 1) && find(149, 1) && find(110, 20));
	cr_assert_not(find(99, 1) || find(99, 2) || find(150, 1) || find(149, 2) || find(99, 52) || find(100, 51));
	mr_cache_count(cache, &counts);
	cr_assert(counts.hits == 4 && counts.misses == 7);
	mr_cache_close(cache);
}

Test(mr_cache, two_regions_are_not_one)
{
	begin(UINT64_MAX, 8, false);
	add(100, 50);
	add(150, 50);
	cr_assert_not(find(140, 20));
	expect(2, 100, 0, 0, 0);
}

/* Memory found readable has not been found writable; memory found writable is readable. */
Test(mr_cache, rights)
{
	begin(UINT64_MAX, 8, false);
	add(0, 10);
	cr_assert_not(mr_cache_find(cache, BASE, 10, true));
	cr_assert(mr_cache_add(cache, BASE, 10, true));
	cr_assert(mr_cache_find(cache, BASE, 10, true) && find(0, 10));
	expect(1, 10, 1, 0, 0);
}

Test(mr_cache, the_ends_of_the_address_space)
{
	begin(UINT64_MAX, 8, true);
	cr_assert(mr_cache_add(cache, 0, 16, true));
	cr_assert(mr_cache_add(cache, UINT64_MAX - 15, 16, true));
	cr_assert(mr_cache_find(cache, 0, 1, true) && mr_cache_find(cache, UINT64_MAX, 1, true));
	cr_assert_not(mr_cache_find(cache, UINT64_MAX - 16, 2, true));
	cr_assert(mr_cache_add(cache, UINT64_MAX - 31, 16, true));
	expect(2, 48, 0, 1, 0);
	cr_assert(mr_cache_add(cache, UINT64_MAX - 7, 8, true));
	expect(2, 48, 0, 2, 0);
	mr_cache_drop(cache, 0, UINT64_MAX);
	expect(0, 0, 0, 2, 2);
}

/* S190: what was used longest ago goes. Finding is using. */
Test(mr_cache, count_limit)
{
	begin(UINT64_MAX, 3, false);
	add(0, 10);
	add(20, 10);
	add(40, 10);
	cr_assert(find(0, 10));
	add(60, 10);
	expect(3, 30, 1, 0, 0);
	cr_assert_eq(gone[0].addr, BASE + 20);
	cr_assert(find(0, 10) && !find(20, 10) && find(40, 10) && find(60, 10));
	for (uint64_t i = 0; i < 20; i++) {
		add(100 + 20 * i, 10);
		expect(3, 30, 2 + i, 0, 0);
	}
}

Test(mr_cache, one_region_at_most)
{
	begin(UINT64_MAX, 1, true);
	add(0, 10);
	add(20, 10);
	expect(1, 10, 1, 0, 0);
	add(30, 10);
	expect(1, 20, 1, 1, 0);
	cr_assert(find(20, 20) && !find(0, 10));
}

/* S189 */
Test(mr_cache, byte_limit)
{
	begin(100, 8, false);
	cr_assert_not(add(0, 101), "never fits");
	expect(0, 0, 0, 0, 0);
	cr_assert(add(0, 60) && add(60, 40));
	expect(2, 100, 0, 0, 0);
	cr_assert(add(100, 1));
	expect(2, 41, 1, 0, 0);
	cr_assert(add(200, 100));
	expect(1, 100, 3, 0, 0);
}

Test(mr_cache, no_byte_at_all)
{
	begin(0, 8, true);
	cr_assert_not(add(0, 1));
	cr_assert_not(find(0, 1));
	expect(0, 0, 0, 0, 0);
}

/* Without merging the newcomer takes the place of all that it overlaps, and of no neighbour. */
Test(mr_cache, overlapping_regions_are_replaced)
{
	begin(UINT64_MAX, 8, false);
	add(0, 10);
	add(10, 10);
	add(20, 10);
	add(30, 10);
	add(15, 10);
	expect(3, 30, 2, 0, 0);
	cr_assert(find(0, 10) && find(15, 10) && find(30, 10));
	cr_assert_not(find(10, 5) || find(25, 5));
}

/* S192 */
Test(mr_cache, neighbours_merge)
{
	begin(UINT64_MAX, 8, true);
	add(0, 10);
	add(20, 10);
	expect(2, 20, 0, 0, 0);
	add(10, 10);
	expect(1, 30, 0, 2, 0);
	cr_assert(find(0, 30));
	add(25, 10);
	expect(1, 35, 0, 3, 0);
	add(36, 4);
	expect(2, 39, 0, 3, 0);
}

Test(mr_cache, other_rights_do_not_merge)
{
	begin(UINT64_MAX, 8, true);
	add(0, 10);
	cr_assert(mr_cache_add(cache, BASE + 10, 10, true));
	expect(2, 20, 0, 0, 0);
	cr_assert(mr_cache_add(cache, BASE + 5, 10, true));
	expect(1, 15, 1, 1, 0);
	cr_assert(mr_cache_find(cache, BASE + 5, 15, true));
}

/* Two would be more than fits: neighbours stay apart, and what overlaps is replaced. */
Test(mr_cache, too_long_to_merge)
{
	begin(100, 8, true);
	add(0, 60);
	add(60, 40);
	expect(1, 100, 0, 1, 0);
	add(100, 10);
	expect(1, 10, 1, 1, 0);
	cr_assert(find(100, 10));
	add(105, 96);
	expect(1, 96, 2, 1, 0);
	cr_assert(find(105, 96) && !find(100, 10));
}

/* A merged region stands between used and unused ones: the ring is whole after the merge. */
Test(mr_cache, merged_regions_are_fresh)
{
	begin(UINT64_MAX, 2, true);
	add(0, 10);
	add(100, 10);
	add(10, 10);
	add(200, 10);
	expect(2, 30, 1, 1, 0);
	cr_assert(find(0, 20) && find(200, 10) && !find(100, 10));
}

Test(mr_cache, changed_memory_goes)
{
	begin(UINT64_MAX, 8, false);
	for (uint64_t i = 0; i < 5; i++)
		add(10 * i, 10);
	drop(50, 1000);
	expect(5, 50, 0, 0, 0);
	drop(19, 2);
	expect(3, 30, 0, 0, 2);
	cr_assert(find(0, 10) && !find(10, 1) && !find(20, 1) && find(30, 10));
	drop(0, 1);
	expect(2, 20, 0, 0, 3);
	cr_assert_not(find(5, 1), "a region goes whole");
}

/* A client that does not report changed memory has a stale region. */
Test(mr_cache, is_stale_if_nobody_tells)
{
	begin(UINT64_MAX, 8, false);
	add(0, 10);
	/* Here the memory would be unmapped, and mapped anew. */
	cr_assert(find(0, 10));
	drop(0, 10);
	cr_assert_not(find(0, 10));
}

/* forgot() comes when the table is whole: it sees what still needs the bytes. */
Test(mr_cache, tells_what_it_forgot)
{
	begin(UINT64_MAX, 8, false);
	add(0, 10);
	add(20, 10);
	add(5, 10);
	cr_assert(gone_count == 1 && gone[0].addr == BASE && gone[0].length == 10);
	cr_assert(gone[0].held, "the new one has bytes of it");
	drop(5, 1);
	cr_assert(gone_count == 2 && gone[1].addr == BASE + 5 && !gone[1].held);
	cr_assert(mr_cache_holds(cache, BASE + 29, 100) && !mr_cache_holds(cache, BASE + 30, 100));
}

/* A plain list of bytes beside it: what is found was added, and not dropped since. */
Test(mr_cache, as_a_list_would_have_it)
{
	enum { SPACE = 256, STEPS = 40000 };
	uint64_t state = 7;
	unsigned hits = 0;
	bool merge = false;

	for (int round = 0; round < 2; round++, merge = true) {
		bool known[SPACE] = { false };

		gone_count = 0;
		begin(64, 5, merge);
		for (int step = 0; step < STEPS; step++) {
			uint64_t from, length;

			state = state * 6364136223846793005u + 1442695040888963407u;
			from = (state >> 40) % SPACE;
			length = 1 + (state >> 33) % (from < SPACE - 16 ? 16 : SPACE - from);
			if ((state >> 60) < 2) {
				drop(from, length);
				memset(&known[from], 0, length);
				cr_assert_not(mr_cache_holds(cache, BASE + from, length));
			} else if (find(from, length)) {
				hits++;
				for (uint64_t i = from; i < from + length; i++)
					cr_assert(known[i], "round %d, step %d: byte %llu", round, step, (unsigned long long)i);
			} else {
				cr_assert(add(from, length) && find(from, length));
				memset(&known[from], 1, length);
			}
			mr_cache_count(cache, &counts);
			cr_assert(counts.regions <= 5 && counts.bytes <= 64);
			cr_assert_eq(gone_count, counts.evicted + counts.merged + counts.changed);
		}
		mr_cache_close(cache);
	}
	cr_assert(hits > 1000, "%u hits", hits);
}

Test(mr_cache, as_many_as_there_may_be)
{
	begin(UINT64_MAX, LIMIT_CACHED, false);
	for (uint64_t i = 0; i < LIMIT_CACHED + 10; i++)
		add(i % 2 ? 32 * i : 32 * (2 * (uint64_t)LIMIT_CACHED - i), 16);
	expect(LIMIT_CACHED, 16 * (uint64_t)LIMIT_CACHED, 10, 0, 0);
	mr_cache_close(cache);
}
