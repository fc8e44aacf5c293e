/* SPDX-License-Identifier: BSD-2-Clause */
/* uv_room.c - libuv ends the process where it finds no memory for the list of what it watches, or no descriptors for its
 * pipe of signals. So it has a reserve of memory, as much as the one loop here needs, which watches the same few descriptors
 * for good; and descriptors are tried before it asks for any. */
#include "emu/net/uv_room.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
	UNIT = 64, UNITS = 1024,
	DESCRIPTORS = 8,	/* of a loop, and more */
};

static _Alignas(UNIT) char reserve[UNITS][UNIT];
static atomic_uint used;	/* units; none ever comes back */

static bool reserved(const void *at)
{
	return (uintptr_t)at - (uintptr_t)reserve < sizeof(reserve);
}

static void *take_reserve(size_t size)
{
	unsigned units = (unsigned)((size + UNIT - 1) / UNIT), first;

	if (size > sizeof(reserve))
		return NULL;
	first = atomic_fetch_add(&used, units);
	return first + units <= UNITS ? reserve[first] : NULL;
}

static void *take(size_t size)
{
	void *at = malloc(size);

	return at ? at : take_reserve(size);
}

static void give(void *at)
{
	if (!reserved(at))
		free(at);
}

/* At least; what lies behind a piece of the reserve is in the reserve. */
static size_t bytes_at(void *at)
{
	return reserved(at) ? (size_t)(&reserve[0][0] + sizeof(reserve) - (char *)at) : malloc_usable_size(at);
}

static void *change(void *at, size_t size)
{
	void *other = reserved(at) ? NULL : realloc(at, size);

	if (other)
		return other;
	other = take_reserve(size);
	if (!other || !at)
		return other;
	memcpy(other, at, size < bytes_at(at) ? size : bytes_at(at));
	give(at);
	return other;
}

/* The reserve is zero: nothing of it is used twice. */
static void *take_zeroed(size_t count, size_t size)
{
	void *at = calloc(count, size);

	return at || (size && count > SIZE_MAX / size) ? at : take_reserve(count * size);
}

int uv_room(int fd)
{
	int copy[DESCRIPTORS], count = 0, err = 0;

	(void)uv_replace_allocator(take, change, take_zeroed, give); /* fails for NULL alone */
	while (count < DESCRIPTORS && !err) {
		copy[count] = dup(fd);
		err = copy[count] < 0 ? -errno : 0;
		count += !err;
	}
	while (count)
		close(copy[--count]);
	return err;
}
