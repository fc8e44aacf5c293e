/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mr_table.c - regions by key, by descriptor, and after their end. */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/base/huge_pages.h"
#include "emu/nic/base/slab.h"
#include "emu/nic/regions/mr_pages.h"
#include "emu/nic/regions/mr_table.h"

/* splitmix64: as good as unguessable for a test, and the same each time. */
static uint64_t seed;

static void fill(void *arg, void *bytes, size_t length)
{
	uint64_t *state = arg ? arg : &seed;

	for (size_t i = 0; i < length; i += 8) {
		uint64_t x = *state += 0x9e3779b97f4a7c15u;

		x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
		x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
		x ^= x >> 31;
		memcpy((char *)bytes + i, &x, length - i < 8 ? length - i : 8);
	}
}

static struct mr_table *table;
static bool window;

static void setup(void)
{
	cr_assert_eq(mr_table_open(&table, fill, NULL), 0);
}

static void teardown(void)
{
	mr_table_close(table);
}

TestSuite(mr_table, .init = setup, .fini = teardown);

static char memory[4096];
static const struct iovec whole = { memory, sizeof(memory) };

static int add_key(uint64_t key, struct mr **mr)
{
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .access = MR_REMOTE_WRITE, .key = key, .key_bytes = 8 };

	return mr_add(table, &attr, mr);
}

static struct mr *must_add(uint64_t key)
{
	struct mr *mr = NULL;

	cr_assert_eq(add_key(key, &mr), 0, "key 0x%lx", (long)key);
	return mr;
}

static bool local_sure(uint64_t desc, const void *addr, size_t length, uint32_t access)
{
	return mr_table_local_sure(table, (const void *)(uintptr_t)desc, addr, length, access);
}

static int local_ok(uint64_t desc, const void *addr, size_t length, uint32_t access)
{
	int err = mr_table_local_ok(table, (const void *)(uintptr_t)desc, addr, length, access);

	cr_assert(!err || !local_sure(desc, addr, length, access));
	return err;
}

/* S33, S41 */
Test(mr_table, finds_what_was_added)
{
	struct mr_attr attr = {
		.iov = &whole, .iov_count = 1, .access = MR_READ | MR_REMOTE_READ, .key = 7, .key_bytes = 8, .virtual_addr = true
	};
	struct mr *mr;

	cr_assert_eq(mr_add(table, &attr, &mr), 0);
	cr_assert_eq(mr_find(table, 7), mr);
	cr_assert_null(mr_find(table, 8));
	cr_assert_eq(mr->key, 7);
	cr_assert_eq(mr->length, sizeof(memory));
	cr_assert_eq(mr->access, MR_READ | MR_REMOTE_READ);
	cr_assert(mr->virtual_addr && mr->enabled);
	cr_assert_eq(mr_segments(mr)->iov_base, memory);
	cr_assert_eq(mr_count(table), 1);
}

/* S9: the segments are copied. */
Test(mr_table, vectors_are_copied)
{
	struct iovec iov[LIMIT_IOV];
	struct mr_attr attr = { .iov = iov, .iov_count = LIMIT_IOV, .key = 1, .key_bytes = 8 };
	struct mr *mr;

	for (int i = 0; i < LIMIT_IOV; i++)
		iov[i] = (struct iovec){ memory + 16 * i, 8 };
	cr_assert_eq(mr_add(table, &attr, &mr), 0);
	memset(iov, 0, sizeof(iov));
	cr_assert_eq(mr->iov_count, LIMIT_IOV);
	cr_assert_eq(mr->length, 8 * LIMIT_IOV);
	for (int i = 0; i < LIMIT_IOV; i++)
		cr_assert_eq(mr_segments(mr)[i].iov_base, memory + 16 * i);
}

/* S35, S36 */
Test(mr_table, keys_refused)
{
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .access = MR_REMOTE_READ, .key = 0x10000, .key_bytes = 2 };
	struct mr *mr = NULL, *first = must_add(5);

	cr_assert_eq(add_key(5, &mr), -NIC_ENOKEY);
	cr_assert_eq(add_key(UINT64_MAX, &mr), -EKEYREJECTED);
	cr_assert_eq(mr_add(table, &attr, &mr), -EKEYREJECTED);
	cr_assert_null(mr);
	cr_assert_eq(mr_find(table, 5), first);
	cr_assert_eq(mr_count(table), 1);
	attr.key = 0xffff;
	cr_assert_eq(mr_add(table, &attr, &mr), 0);
	must_add(0);
	must_add(UINT64_MAX - 1);
}

/* S35, S36: a key is in use, or cannot be, whatever the rights. */
Test(mr_table, keys_of_local_regions)
{
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .access = MR_SEND | MR_RECV, .key = 5, .key_bytes = 8 };
	struct mr *first, *mr = NULL;

	cr_assert_eq(mr_add(table, &attr, &first), 0);
	cr_assert_eq(mr_add(table, &attr, &mr), -NIC_ENOKEY);
	cr_assert_eq(add_key(5, &mr), -NIC_ENOKEY);
	cr_assert_eq(mr_find(table, 5), first);
	attr.key = UINT64_MAX;
	cr_assert_eq(mr_add(table, &attr, &mr), -EKEYREJECTED);
	attr.key = 0x10000;
	attr.key_bytes = 2;
	cr_assert_eq(mr_add(table, &attr, &mr), -EKEYREJECTED);
	cr_assert_null(mr);
	cr_assert_eq(mr_count(table), 1);
	mr_remove(table, first, 0);
	cr_assert_eq(add_key(5, &mr), 0);
}

/* S17: any range registers, but not one that wraps. */
Test(mr_table, segments_that_wrap_are_refused)
{
	struct iovec iov[2] = { { (void *)-8, 9 }, { memory, 8 } };
	struct mr_attr attr = { .iov = iov, .iov_count = 1, .key = 1, .key_bytes = 8 };
	struct mr *mr;

	cr_assert_eq(mr_add(table, &attr, &mr), -EINVAL);
	iov[0] = (struct iovec){ NULL, SIZE_MAX };
	attr.iov_count = 2;
	cr_assert_eq(mr_add(table, &attr, &mr), -EINVAL, "the sum wraps");
	cr_assert_eq(mr_count(table), 0);
	attr.iov_count = 1;
	cr_assert_eq(mr_add(table, &attr, &mr), 0);
	iov[0] = (struct iovec){ (void *)-8, 8 };
	attr.key = 2;
	cr_assert_eq(mr_add(table, &attr, &mr), 0);
}

/* S122: a region within another lies inside it; and a table has no more regions than it may. */
Test(mr_table, what_does_not_fit_is_refused)
{
	struct iovec inside = { memory + 8, 8 }, outside = { memory + sizeof(memory) - 4, 8 };
	struct mr_attr attr = { .iov = &inside, .iov_count = 1, .key = 2, .key_bytes = 8, .regions_max = 2 };
	struct mr *base = must_add(1), *mr = NULL;

	attr.base = base;
	attr.iov = &outside;
	cr_assert_eq(mr_add(table, &attr, &mr), -EINVAL);
	attr.iov = &inside;
	cr_assert_eq(mr_add(table, &attr, &mr), 0);
	cr_assert_eq(base->subs, 1);
	attr.key = 3;
	cr_assert_eq(mr_add(table, &attr, &mr), -ENOMEM);
	cr_assert_eq(mr_count(table), 2);
	mr_remove(table, mr, 0);
	cr_assert_eq(mr_add(table, &attr, &mr), 0);
	mr_remove(table, mr, 0);
}

/* S183: the key is free at once and names the new region; ids are never reused. */
Test(mr_table, key_is_free_after_close)
{
	static const uint64_t keys[] = { 0, 1, UINT64_MAX - 1 };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct mr *mr = must_add(keys[i]);
		uint64_t id = mr->id, desc = mr->desc;

		mr_remove(table, mr, 0);
		cr_assert_null(mr_find(table, keys[i]));
		mr = must_add(keys[i]);
		cr_assert_eq(mr_find(table, keys[i]), mr);
		cr_assert_gt(mr->id, id);
		cr_assert_neq(mr->desc, desc);
		mr_remove(table, mr, 0);
	}
	cr_assert_eq(mr_count(table), 0);
}

/* S38: unequal to each other, to zero, to descriptors, addresses, tombstones. */
Test(mr_table, provider_keys)
{
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .provider_key = true, .key_bytes = 8, .key = 1 };
	struct mr *mr[1000];

	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(mr_add(table, &attr, &mr[i]), 0);
		cr_assert(mr[i]->key && mr[i]->key != UINT64_MAX && mr[i]->key != 1);
		cr_assert_neq(mr[i]->key, mr[i]->desc);
		cr_assert_neq(mr[i]->key, (uintptr_t)memory);
		cr_assert_eq(mr_find(table, mr[i]->key), mr[i]);
		cr_assert_null(mr_find(table, mr[i]->key + 1), "neighbours do not exist");
		cr_assert_neq(local_ok(mr[i]->key, memory, 1, 0), 0, "a key is no descriptor");
	}
	cr_assert_eq(mr_count(table), 1000);
}

static void fill_alike(void *arg, void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i += sizeof(uint64_t))
		memcpy((char *)bytes + i, arg, sizeof(uint64_t));
}

/* S38, when chance has it: a draw that is a live descriptor's value, or an address of the region's, is not taken. */
Test(mr_table, provider_keys_are_drawn_again)
{
	uint64_t word = UINT64_C(1) << 63 | UINT64_C(5) << 40;
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .key = 1, .key_bytes = 8 };
	struct mr_table *own;
	struct mr *first, *second;

	cr_assert_eq(mr_table_open(&own, fill_alike, &word), 0);
	cr_assert_eq(mr_add(own, &attr, &first), 0);
	cr_assert_eq(first->desc, word);
	word = 77; /* what follows when the words drawn so far are used up */
	attr.provider_key = true;
	cr_assert_eq(mr_add(own, &attr, &second), 0);
	cr_assert_eq(second->key, 77);
	mr_table_close(own);
	word = (uintptr_t)memory;
	cr_assert_eq(mr_table_open(&own, fill_alike, &word), 0);
	attr.provider_key = false;
	cr_assert_eq(mr_add(own, &attr, &first), 0);
	word = 77;
	attr.provider_key = true;
	cr_assert_eq(mr_add(own, &attr, &second), 0);
	cr_assert_eq(second->key, 77);
	mr_table_close(own);
}

/* A narrow key space: tombstones are avoided while there is choice, live keys always. */
Test(mr_table, provider_keys_of_one_byte)
{
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .provider_key = true, .key_bytes = 1 };
	struct mr *mr;
	int added = 0;

	for (int i = 0; i < 200; i++) {
		uint64_t age;

		cr_assert_eq(mr_add(table, &attr, &mr), 0);
		cr_assert_leq(mr->key, 255);
		if (i < 128)
			cr_assert_not(mr_tombstone(table, mr->key, 0, 0, &age, &window), "key %d reused at once", (int)mr->key);
		mr_remove(table, mr, 0);
	}
	while (added <= 255 && mr_add(table, &attr, &mr) == 0)
		added++;
	cr_assert_leq(added, 255);
	cr_assert_gt(added, 200);
	cr_assert_eq(mr_add(table, &attr, &mr) == 0 ? 0 : -NIC_ENOKEY, -NIC_ENOKEY);
}

/* S178 */
Test(mr_table, tombstones_tell_the_age)
{
	uint64_t age = 1;

	cr_assert_not(mr_tombstone(table, 5, 0, 0, &age, &window));
	mr_remove(table, must_add(5), 1000);
	cr_assert(mr_tombstone(table, 5, 0, 4100, &age, &window));
	cr_assert_eq(age, 3100);
	mr_remove(table, must_add(5), 9000);
	cr_assert(mr_tombstone(table, 5, 0, 9001, &age, &window));
	cr_assert_eq(age, 1, "the last close counts");
	cr_assert_not(mr_tombstone(table, 6, 0, 0, &age, &window));
}

Test(mr_table, tombstones_are_forgotten_in_order)
{
	enum { N = 3 * LIMIT_TOMBSTONES + 7 };
	uint64_t age;

	for (uint64_t key = 0; key < N; key++) {
		mr_remove(table, must_add(key), key);
		if (key >= LIMIT_TOMBSTONES)
			cr_assert_not(mr_tombstone(table, key - LIMIT_TOMBSTONES, 0, key, &age, &window));
	}
	for (uint64_t key = N - LIMIT_TOMBSTONES; key < N; key++) {
		cr_assert(mr_tombstone(table, key, 0, N, &age, &window), "key %lu", (long)key);
		cr_assert_eq(age, N - key);
	}
}

/* One key closed over and over keeps one tombstone, and its old places in the ring do not hide it. */
Test(mr_table, one_key_closed_many_times)
{
	uint64_t age;

	mr_remove(table, must_add(1), 0);
	for (uint64_t i = 0; i < 3 * LIMIT_TOMBSTONES; i++) {
		mr_remove(table, must_add(2), i);
		cr_assert(mr_tombstone(table, 2, 0, i + 5, &age, &window));
		cr_assert_eq(age, 5);
	}
	cr_assert_not(mr_tombstone(table, 1, 0, 0, &age, &window));
}

/* S15, S23-S26, S75: all rights asked must be there; the range inside. */
Test(mr_table, local_descriptors)
{
	volatile size_t one = 1; /* or the compiler sees the stray pointer */

	for (uint32_t bits = 0; bits < 64; bits++) {
		struct mr_attr attr = { .iov = &whole, .iov_count = 1, .access = bits << 8, .key = bits, .key_bytes = 8 };
		struct mr *mr;

		cr_assert_eq(mr_add(table, &attr, &mr), 0);
		for (uint32_t asked = 0; asked < 64; asked++) {
			cr_assert_eq(local_ok(mr->desc, memory, 8, asked << 8), (bits & asked) == asked ? 0 : -EACCES);
			cr_assert_eq(local_sure(mr->desc, memory, 8, asked << 8), (bits & asked) == asked, "without the lock");
		}
		cr_assert_eq(local_ok(mr->desc, memory, sizeof(memory), 0), 0);
		cr_assert(local_sure(mr->desc, memory, sizeof(memory), 0));
		cr_assert_eq(local_ok(mr->desc, memory + 1, sizeof(memory), 0), -EINVAL);
		cr_assert_eq(local_ok(mr->desc, memory - one, 1, 0), -EINVAL);
		cr_assert_eq(local_ok(mr->desc, memory + 8, SIZE_MAX, 0), -EINVAL);
		cr_assert_eq(local_ok(mr->desc, NULL, 0, 0), 0);
	}
}

/* More than are told of without the lock. */
Test(mr_table, descriptors_of_many_regions)
{
	enum { MANY = 5000 };
	static struct mr *mr[MANY];
	static uint64_t desc[MANY];

	for (int i = 0; i < MANY; i++) {
		mr[i] = must_add((uint64_t)i);
		desc[i] = mr[i]->desc;
	}
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(local_ok(desc[i], memory, 1, 0), 0);
		mr_remove(table, mr[i], 0);
		cr_assert_eq(local_ok(desc[i], memory, 1, 0), -EINVAL);
	}
}

/* S92: a region that is not enabled works locally. */
Test(mr_table, disabled_regions_work_locally)
{
	struct mr *mr = must_add(1);

	mr->enabled = false;
	cr_assert_eq(local_ok(mr->desc, memory, 8, MR_REMOTE_WRITE), 0);
}

/* S75: looked up, never followed. */
Test(mr_table, wild_descriptors)
{
	struct mr *mr = must_add(1), *other = must_add(2);
	uint64_t desc = mr->desc, wild = 1;

	cr_assert_eq(local_ok(0, memory, 1, 0), -EINVAL);
	cr_assert_eq(local_ok(1, memory, 1, 0), -EINVAL);
	cr_assert_eq(local_ok(UINT64_MAX, memory, 1, 0), -EINVAL);
	cr_assert_eq(local_ok((uintptr_t)mr, memory, 1, 0), -EINVAL, "the object's address");
	cr_assert_eq(local_ok((uintptr_t)memory, memory, 1, 0), -EINVAL);
	for (int bit = 0; bit < 64; bit++)
		cr_assert_eq(local_ok(desc ^ UINT64_C(1) << bit, memory, 1, 0), -EINVAL, "bit %d", bit);
	for (int i = 0; i < 100000; i++) {
		fill(&wild, &wild, sizeof(wild));
		cr_assert_eq(local_ok(wild, memory, 1, 0), -EINVAL);
	}
	cr_assert_neq(desc, other->desc);
	mr_remove(table, mr, 0);
	cr_assert_eq(local_ok(desc, memory, 1, 0), -EINVAL, "closed");
	mr = must_add(1);
	cr_assert_eq(local_ok(desc, memory, 1, 0), -EINVAL, "closed, and its slot in use again");
	cr_assert_eq(local_ok(mr->desc, memory, 1, 0), 0);
	for (uint64_t i = 0; i < 5000; i++)
		cr_assert_eq(local_ok(i, memory, 1, 0), -EINVAL, "what a free slot holds names nothing");
}

/* S9, S64 */
Test(mr_table, local_ranges_of_a_vector)
{
	struct iovec iov[3] = { { memory, 8 }, { memory + 8, 8 }, { memory + 32, 8 } };
	struct mr_attr attr = { .iov = iov, .iov_count = 3, .key = 1, .key_bytes = 8 };
	struct mr *mr;

	cr_assert_eq(mr_add(table, &attr, &mr), 0);
	cr_assert_eq(local_ok(mr->desc, memory, 16, 0), 0, "touching segments");
	cr_assert_eq(local_ok(mr->desc, memory + 32, 8, 0), 0);
	cr_assert_eq(local_ok(mr->desc, memory, 17, 0), -EINVAL);
	cr_assert_eq(local_ok(mr->desc, memory + 16, 1, 0), -EINVAL, "the gap");
	cr_assert_eq(local_ok(mr->desc, memory, 40, 0), -EINVAL, "across the gap");
}

/* A number that no slot has yet, at the edge of the slots that memory was taken for. */
Test(mr_table, descriptor_behind_the_last_slot)
{
	struct mr *mr = NULL;

	for (uint64_t key = 0; key < SLAB_CHUNK; key++)
		mr = must_add(key);
	cr_assert_eq(local_ok(mr->desc, memory, 1, 0), 0);
	cr_assert_eq(local_ok(UINT64_C(1) << 63 | SLAB_CHUNK, memory, 1, 0), -EINVAL);
}

/* Closed one by one, or with the table: nothing is left. */
Test(mr_table, regions_leave_nothing)
{
	enum { WARM = 100, TIMES = 2000, BYTES_EACH = 16 };
	struct iovec iov[2] = { { memory, 8 }, { memory + 16, 8 } };
	struct mr_attr attr = { .iov = iov, .iov_count = 2, .key = 1, .key_bytes = 8, .single_use = true };
	size_t before = 0, after;
	struct mr_table *own;
	struct mr *mr;

	for (int i = 0; i < WARM + TIMES; i++) {
		if (i == WARM)
			before = mallinfo2().uordblks;
		cr_assert_eq(mr_add(table, &attr, &mr), 0);
		mr_remove(table, mr, 0);
	}
	cr_assert_eq(mr_table_open(&own, fill, NULL), 0);
	for (attr.key = 0; attr.key < TIMES; attr.key++)
		cr_assert_eq(mr_add(own, &attr, &mr), 0);
	mr_table_close(own);
	after = mallinfo2().uordblks;
	cr_expect(after < before + TIMES * BYTES_EACH, "%zu B more", after - before);
}

/* S121: a region within another looks into its table of pages, which ends with the base. */
static int pages_ended;

static void no_lock(void) {}

static void pages_end(struct mr_pages *pages)
{
	(void)pages;
	pages_ended++;
}

Test(mr_table, pages_end_with_the_base)
{
	static const struct mr_pages_watch watch = { no_lock, no_lock, pages_end };
	struct mr_pages *pages = huge_pages_alloc(sizeof(*pages));
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .key = 1, .key_bytes = 8, .pages = pages };
	struct mr *base, *within;

	cr_assert_not_null(pages);
	*pages = (struct mr_pages){ .watch = &watch, .bytes = sizeof(*pages) };
	cr_assert_eq(mr_add(table, &attr, &base), 0);
	attr = (struct mr_attr){ .iov = &whole, .iov_count = 1, .key = 2, .key_bytes = 8, .base = base };
	cr_assert_eq(mr_add(table, &attr, &within), 0);
	cr_assert_eq(within->pages, pages);
	mr_remove(table, within, 0);
	cr_assert_eq(pages_ended, 0);
	mr_remove(table, base, 0);
	cr_assert_eq(pages_ended, 1);
}

/* S121. Limit: as many regions within one as are counted; one more is refused. */
Test(mr_table, regions_within_are_bounded)
{
	struct mr *base = must_add(1), *within = NULL;
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .key = 2, .key_bytes = 8, .base = base };

	base->subs = MR_SUBS_MAX - 1;
	cr_assert_eq(mr_add(table, &attr, &within), 0);
	cr_assert_eq(base->subs, MR_SUBS_MAX);
	attr.key = 3;
	within = NULL;
	cr_assert_eq(mr_add(table, &attr, &within), -ENOMEM);
	cr_assert_null(within);
	cr_assert_eq(base->subs, MR_SUBS_MAX);
}

static const void *living; /* the descriptor of a region that stays */

/* As a post would; on this thread, so that it never comes back where the lock is held. */
static void ask_meanwhile(struct mr_pages *pages)
{
	cr_assert_not_null(pages);
	cr_assert_eq(mr_table_local_ok(table, living, memory, 1, 0), 0);
	living = NULL;
}

static void nothing(void) {}

/* A region ends with the work of many system calls, which no post waits for. */
Test(mr_table, what_a_region_has_goes_without_the_lock)
{
	static const struct mr_pages_watch watch = { .lock = nothing, .unlock = nothing, .end = ask_meanwhile };
	struct mr_attr attr = { .iov = &whole, .iov_count = 1, .access = MR_REMOTE_WRITE, .key = 2, .key_bytes = 8 };
	struct mr *mr;

	if (mr_pages_open(&attr.pages, &whole, 1))
		cr_skip_test("the kernel does not tell which pages are there");
	attr.pages->watch = &watch;
	living = (const void *)(uintptr_t)must_add(1)->desc;
	cr_assert_eq(mr_add(table, &attr, &mr), 0);
	mr_remove(table, mr, 0);
	cr_assert_null(living, "it was asked");
}
