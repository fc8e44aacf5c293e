/* SPDX-License-Identifier: BSD-2-Clause */
/* test_slab.c - numbered objects, and the memory that they come from. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/huge_pages.h"
#include "emu/nic/base/slab.h"

enum { SIZE = 96, MANY = SLAB_CHUNK + 1000 };

static struct slab slab;

/* Objects are zeroed, keep their place, and are told apart, also in the second chunk. */
Test(slab, objects_stay)
{
	uint32_t number;

	cr_assert_eq(slab_init(&slab, SIZE, MANY), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		static const char zero[SIZE];

		cr_assert_eq(slab_take(&slab, &number), 0);
		cr_assert_eq(number, i);
		cr_assert_eq(memcmp(slab_at(&slab, i), zero, SIZE), 0);
		memset(slab_at(&slab, i), 0xff, SIZE);
		memcpy(slab_at(&slab, i), &i, sizeof(i));
	}
	cr_assert_eq(slab_take(&slab, &number), -ENOMEM, "the limit");
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_eq(memcmp(slab_at(&slab, i), &i, sizeof(i)), 0);
	slab_fini(&slab);
}

/* A slot that is given back comes again, zeroed, and none comes twice. */
Test(slab, given_back)
{
	static bool taken[64];
	uint32_t number, seed = 1;

	cr_assert_eq(slab_init(&slab, SIZE, 64), 0);
	for (int round = 0; round < 10000; round++) {
		uint32_t which;

		seed = seed * 1103515245 + 12345;
		which = seed >> 16 & 63;
		if (taken[which]) {
			slab_give(&slab, which);
			taken[which] = false;
		} else if (slab_take(&slab, &number) == 0) {
			const char *bytes = slab_at(&slab, number);

			cr_assert_not(taken[number]);
			for (int i = 0; i < SIZE; i++)
				cr_assert_eq(bytes[i], 0);
			memset(slab_at(&slab, number), 0xff, SIZE);
			taken[number] = true;
		}
	}
	slab_fini(&slab);
}

Test(huge, short_and_long)
{
	static const size_t lengths[] = { 1, 4096, (2u << 20) - 1, 2u << 20, (5u << 20) + 1 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		char *memory = huge_pages_alloc(lengths[i]);

		cr_assert_not_null(memory);
		cr_assert(!memory[0] && !memory[lengths[i] - 1]);
		memset(memory, 1, lengths[i]);
		huge_pages_free(memory, lengths[i]);
	}
	huge_pages_free(NULL, 1);
	huge_pages_free(NULL, 3u << 20);
}
