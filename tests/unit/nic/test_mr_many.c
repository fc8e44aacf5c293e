/* SPDX-License-Identifier: BSD-2-Clause */
/* test_mr_many.c - as many regions as there may be. Apart from the other tests of the device, as it takes its time. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/regions/mr_table.h"

/* Keys without order, the same each time. */
static uint64_t key_of(uint64_t n)
{
	n *= 0x9e3779b97f4a7c15u;
	return n ^ n >> 29;
}

static void fill(void *arg, void *bytes, size_t length)
{
	(void)arg;
	memset(bytes, 0x5a, length);
}

static struct mr_table *table;
static char memory[64];

static int add_key(uint64_t key, struct mr **mr)
{
	struct iovec iov = { memory, sizeof(memory) };
	struct mr_attr attr = { .iov = &iov, .iov_count = 1, .access = MR_REMOTE_READ, .key = key, .key_bytes = 8 };

	*mr = NULL;
	return mr_add(table, &attr, mr);
}

static struct mr *must_add(uint64_t key)
{
	struct mr *mr;

	cr_assert_eq(add_key(key, &mr), 0);
	return mr;
}

static void setup(void)
{
	cr_assert_eq(mr_table_open(&table, fill, NULL), 0);
}

static void teardown(void)
{
	mr_table_close(table);
}

TestSuite(mr_many, .init = setup, .fini = teardown);

/* A million regions are found, and every step stays small: what a lookup compares does not grow (test_hash.c counts
 * chains), and no slot moves, so pointers and descriptors given out stay good. */
Test(mr_many, a_million)
{
	enum { N = 1000000 };
	struct mr **mr = calloc(N, sizeof(*mr));

	for (uint64_t i = 0; i < N; i++)
		mr[i] = must_add(key_of(i));
	cr_assert_eq(mr_count(table), N);
	for (uint64_t i = 0; i < N; i++) {
		cr_assert_eq(mr_find(table, key_of(i)), mr[i]);
		cr_assert_eq(mr_table_local_ok(table, (void *)(uintptr_t)mr[i]->desc, memory, 1, 0), 0);
	}
	for (uint64_t i = 0; i < N; i += 3)
		mr_remove(table, mr[i], 0);
	for (uint64_t i = 0; i < N; i++)
		cr_assert_eq(mr_find(table, key_of(i)), i % 3 ? mr[i] : NULL);
	free(mr);
}

/* Limit: one more than LIMIT_REGIONS is refused, and after a close there is room again. */
Test(mr_many, are_bounded)
{
	struct mr *mr = NULL, *last = NULL;

	for (uint64_t key = 0; key < LIMIT_REGIONS; key++)
		last = must_add(key);
	cr_assert_eq(add_key(LIMIT_REGIONS, &mr), -ENOMEM);
	cr_assert_null(mr);
	cr_assert_eq(mr_count(table), LIMIT_REGIONS);
	mr_remove(table, last, 0);
	must_add(LIMIT_REGIONS);
}
