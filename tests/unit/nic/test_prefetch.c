/* SPDX-License-Identifier: BSD-2-Clause */
/* test_prefetch.c - looking ahead at bytes that nobody has checked: never behind their end, whatever they say. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/regions/mr_table.h"
#include "emu/nic/transport/prefetch.h"
#include "wire/codec.h"

enum { PAGE = 4096, WRITE_LEN = sizeof(struct wire_head) + sizeof(struct wire_write) };

static struct mr_table *table;
static uint8_t *page_end; /* behind it lies a page that cannot be read */

static void fill(void *arg, void *bytes, size_t length)
{
	static uint64_t state = 1;
	uint8_t *at = bytes;

	(void)arg;
	while (length--)
		*at++ = (uint8_t)((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
}

static void setup(void)
{
	static char byte;
	struct iovec iov = { &byte, 1 };
	uint8_t *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(map, MAP_FAILED);
	cr_assert_eq(mprotect(map + PAGE, PAGE, PROT_NONE), 0);
	page_end = map + PAGE;
	cr_assert_eq(mr_table_open(&table, fill, NULL), 0);
	for (uint64_t key = 0; key < AHEAD_REGIONS; key++) {
		struct mr_attr attr = { .iov = &iov, .iov_count = 1, .key = key, .key_bytes = 8 };
		struct mr *mr;

		cr_assert_eq(mr_add(table, &attr, &mr), 0);
	}
}

static void teardown(void)
{
	mr_table_close(table);
}

TestSuite(prefetch, .init = setup, .fini = teardown);

/* Of the keys 100, 101, .. */
static void put_writes(uint8_t *at, int count)
{
	for (int i = 0; i < count; i++) {
		struct wire_head *head = (struct wire_head *)(at + i * WRITE_LEN);
		wire_u64 key = wire_put64(100 + (uint64_t)i);

		memset(head, 0, WRITE_LEN);
		head->op = WIRE_WRITE;
		memcpy(head + 1, &key, sizeof(key));
	}
}

/* The cursor keeps PREFETCH_FRAMES requests before the one that is worked on, and knows their keys. */
Test(prefetch, follows_the_frames)
{
	uint8_t *start = page_end - 10 * WRITE_LEN;
	struct prefetch prefetch = { .at = NULL };

	put_writes(start, 10);
	for (uint32_t i = 0; i < 10; i++) {
		uint32_t left = 9 - i < PREFETCH_FRAMES ? 9 - i : PREFETCH_FRAMES;

		prefetch_frames(&prefetch, table, start + (i + 1) * WRITE_LEN, page_end);
		cr_assert_eq(prefetch.count, left, "at frame %u: %u", i, prefetch.count);
		for (uint32_t k = 0; k < left; k++)
			cr_assert_eq(prefetch.keys[(prefetch.first + k) % PREFETCH_FRAMES], 101 + i + k);
	}
}

/* Told of the first frame's begin, too, it knows the first key, and lets go of it when that frame is taken. */
Test(prefetch, begins_with_the_first)
{
	uint8_t *start = page_end - 3 * WRITE_LEN;
	struct prefetch prefetch = { .at = NULL };

	put_writes(start, 3);
	prefetch_frames(&prefetch, table, start, page_end);
	cr_assert_eq(prefetch.count, 3);
	cr_assert_eq(prefetch.keys[prefetch.first], 100);
	for (uint32_t i = 0; i < 3; i++) {
		prefetch_frames(&prefetch, table, start + (i + 1) * WRITE_LEN, page_end);
		cr_assert_eq(prefetch.count, 2 - i);
		cr_assert(!prefetch.count || prefetch.keys[prefetch.first] == 101 + i);
	}
}

Test(prefetch, random_bytes)
{
	for (int round = 0; round < 20000; round++) {
		size_t length = (size_t)round % 300, at = 0;
		struct prefetch prefetch = { .at = NULL };
		uint8_t *start = page_end - length;

		fill(NULL, start, length);
		for (size_t i = 0; i < length; i += 17)
			start[i] = WIRE_WRITE;
		for (int look = 0; look < 8; look++) {
			at += (size_t)(round * 31 + look * 7) % 60;
			prefetch_frames(&prefetch, table, start + (at < length ? at : length), page_end);
			cr_assert(prefetch.at >= start && prefetch.at <= page_end);
		}
	}
}
