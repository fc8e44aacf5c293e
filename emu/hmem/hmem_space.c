/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem_space.c - pages of addresses, next fit. Freed addresses come again only when the rest has been used, since a program that
 * uses an allocation after it was freed is to hear so, and not to meet another one. */
#include "emu/hmem/hmem_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "include/emu/hmem.h"

/* Most of the table is never touched, so it takes memory only as pages are used. */
int hmem_space_open(struct hmem_space *space, char *base, size_t pages)
{
	space->owner = calloc(pages, sizeof(struct hmem_block *));
	if (!space->owner)
		return -ENOMEM;
	space->base = base;
	space->pages = pages;
	space->free = pages - 1;
	return 0;
}

/* The first of `count` pages in [from, to) without a live owner; `to`: there are none. */
static size_t room_between(const struct hmem_space *space, size_t from, size_t to, size_t count)
{
	size_t begin = from, at = from;

	while (at - begin < count && at < to) {
		const struct hmem_block *block = space->owner[at];

		if (block && block->fd >= 0)
			begin = at = (size_t)(block->base - space->base) / EMU_HMEM_PAGE + block->pages + 1;
		else
			at++;
	}
	return at - begin >= count ? begin : to;
}

static void disown(struct hmem_space *space, size_t page)
{
	struct hmem_block *before = space->owner[page];

	if (before && !--before->named)
		free(before);
}

int hmem_space_take(struct hmem_space *space, size_t size, struct hmem_block **out)
{
	size_t pages = size / EMU_HMEM_PAGE + !!(size % EMU_HMEM_PAGE), at;
	struct hmem_block *block;

	if (pages > space->free)
		return -ENOMEM;
	at = room_between(space, space->next, space->pages, pages + 1);
	if (at == space->pages)
		at = room_between(space, 0, space->pages, pages + 1);
	block = at == space->pages ? NULL : malloc(sizeof(*block));
	if (!block)
		return -ENOMEM;
	*block = (struct hmem_block){ .base = space->base + at * EMU_HMEM_PAGE, .size = size, .pages = pages, .fd = -1 };
	for (; block->named < pages; block->named++) {
		disown(space, at + block->named);
		space->owner[at + block->named] = block;
	}
	disown(space, at + pages);
	space->owner[at + pages] = NULL;
	space->next = at + pages + 1;
	space->free -= pages;
	*out = block;
	return 0;
}

void hmem_space_give(struct hmem_space *space, struct hmem_block *block)
{
	block->fd = -1;
	space->free += block->pages;
}

struct hmem_block *hmem_space_at(const struct hmem_space *space, const void *addr)
{
	return space->owner[(size_t)((const char *)addr - space->base) / EMU_HMEM_PAGE];
}
