/* SPDX-License-Identifier: BSD-2-Clause */
/* huge_pages.c - mappings that begin and end where huge pages do. */
#include "emu/nic/base/huge_pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static size_t rounded(size_t bytes)
{
	return (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

void *huge_pages_alloc(size_t bytes)
{
	size_t length = rounded(bytes), before;
	char *map;

	if (bytes < HUGE_PAGE)
		return calloc(1, bytes);
	map = mmap(NULL, length + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)map & (HUGE_PAGE - 1);
	if (before)
		munmap(map, before);
	if (before < HUGE_PAGE)
		munmap(map + before + length, HUGE_PAGE - before);
	madvise(map + before, length, MADV_HUGEPAGE); /* a kernel without them serves small ones */
	return map + before;
}

void huge_pages_free(void *memory, size_t bytes)
{
	if (bytes < HUGE_PAGE)
		free(memory);
	else if (memory)
		munmap(memory, rounded(bytes));
}
