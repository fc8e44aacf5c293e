/* SPDX-License-Identifier: BSD-2-Clause */
/* uv_reserve.c - libuv aborts the process if it gets no memory for its list of watchers, or no descriptors for its signal pipe.
 * So it gets a reserve of memory, as much as the one loop here needs, which watches the same few descriptors for good; and
 * uv_reserve_check() tests that descriptors are left before libuv asks for any. */
#include "emu/net/os/uv_reserve.h"

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
	UNIT = 64,
	UNITS = 1024,
	DESCRIPTORS = 8, /* more than a loop needs */
};

static _Alignas(UNIT) char reserve[UNITS][UNIT];
static atomic_uint used; /* units; they are never freed */

static bool reserved(const void *at)
{
	return (uintptr_t)at - (uintptr_t)reserve < sizeof(reserve);
}

static void *take_reserve(size_t size)
{
	unsigned first = atomic_load(&used), units;

	if (size > sizeof(reserve))
		return NULL;
	units = (unsigned)((size + UNIT - 1) / UNIT);
	do {
		if (units > UNITS - first)
			return NULL; /* what is left is for smaller ones */
	} while (!atomic_compare_exchange_weak(&used, &first, first + units));
	return reserve[first];
}

static void *uv_reserve_alloc(size_t size)
{
	void *at = malloc(size);

	return at ? at : take_reserve(size);
}

static void uv_reserve_free(void *at)
{
	if (!reserved(at))
		free(at);
}

/* An upper bound; the bytes behind a piece of the reserve are in the reserve, too. */
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
	uv_reserve_free(at);
	return other;
}

/* The reserve is zero, as no unit is used twice. */
static void *take_zeroed(size_t count, size_t size)
{
	void *at = calloc(count, size);

	return at || (size && count > SIZE_MAX / size) ? at : take_reserve(count * size);
}

int uv_reserve_check(int fd)
{
	int copy[DESCRIPTORS], count = 0, err = 0;

	(void)uv_replace_allocator(uv_reserve_alloc, change, take_zeroed, uv_reserve_free); /* fails for NULL alone */
	while (count < DESCRIPTORS && !err) {
		copy[count] = dup(fd);
		err = copy[count] < 0 ? -errno : 0;
		count += !err;
	}
	while (count)
		close(copy[--count]);
	return err;
}
