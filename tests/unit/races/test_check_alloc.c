/* SPDX-License-Identifier: BSD-2-Clause */
/* test_check_alloc.c - memory of checked mode's own: zeroed, aligned, apart from the program's heap, and used again. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emu/process/check/check.h"
#include "emu/process/front/process_front.h"

const struct process_front process_front = { 0 };
const struct check_front check_front = { 0 };

enum { MANY = 2000 };

static void need_zero(const unsigned char *bytes, size_t size)
{
	cr_assert(bytes != NULL && (uintptr_t)bytes % 16 == 0, "%zu B", size);
	for (size_t i = 0; i < size; i++)
		cr_assert(!bytes[i], "%zu B", size);
}

Test(check_alloc, each_size_is_zero_and_apart)
{
	static unsigned char *blocks[CHECK_ALLOC_MOST + 1];

	for (size_t size = 1; size <= CHECK_ALLOC_MOST; size++) {
		blocks[size] = check_alloc(size);
		need_zero(blocks[size], size);
		memset(blocks[size], (int)(size % 255 + 1), size);
	}
	for (size_t size = 1; size <= CHECK_ALLOC_MOST; size++) {
		for (size_t i = 0; i < size; i++)
			cr_assert_eq(blocks[size][i], size % 255 + 1, "%zu B", size);
		check_free(blocks[size]);
	}
}

Test(check_alloc, what_is_freed_comes_again)
{
	unsigned char *first = check_alloc(300);

	memset(first, 1, 300);
	check_free(first);
	for (int i = 0; i < MANY; i++) {
		unsigned char *again = check_alloc(290);

		cr_assert_eq(again, first);
		need_zero(again, 290);
		memset(again, 2, 290);
		check_free(again);
	}
	check_free(NULL);
}

Test(check_alloc, no_page_is_the_programs)
{
	unsigned char *own = check_alloc(1), *heap = malloc(1);
	uintptr_t between = own > heap ? (uintptr_t)(own - heap) : (uintptr_t)(heap - own);

	cr_assert_geq(between, 4096u);
	check_free(own);
	free(heap);
}

Test(check_alloc, more_than_there_is)
{
	cr_assert_null(check_alloc(2 * (size_t)CHECK_ALLOC_MOST));
}
