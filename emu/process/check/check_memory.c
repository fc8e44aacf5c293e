/* SPDX-License-Identifier: BSD-2-Clause */
/* check_memory.c - a look at the program's bytes. */
#include "emu/process/check/check.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/nic/memory/guard.h"
#include "wire/digest.h"

enum { PIECE = 4096, PAGES = 1024 };

/* By an instruction for strings: where the page is watched, that is one step of it (process/races/string_step.h). */
static void copy_by_string(void *to, const void *from, size_t length, void *arg)
{
	(void)arg;
#ifdef __x86_64__
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
#else
	memcpy(to, from, length);
#endif
}

static bool add_range(struct digest_state *state, const uint8_t *at, size_t length)
{
	uint8_t piece[PIECE];

	while (length) {
		size_t now = length < sizeof(piece) ? length : sizeof(piece);

		if (!guard_copy_by(copy_by_string, NULL, piece, at, now))
			return false;
		digest_add(state, piece, now);
		at += now;
		length -= now;
	}
	return true;
}

static bool add_parts(struct digest_state *state, const uint8_t *at, size_t length)
{
	size_t step = (length - 2 * CHECK_ENDS) / CHECK_SAMPLES;
	bool there = add_range(state, at, CHECK_ENDS);

	for (size_t i = 0; i < CHECK_SAMPLES && there && step > CHECK_SAMPLE; i++)
		there = add_range(state, at + CHECK_ENDS + i * step, CHECK_SAMPLE);
	return there && add_range(state, at + length - CHECK_ENDS, CHECK_ENDS);
}

bool check_digest(const struct iovec *iov, size_t count, uint64_t *digest)
{
	struct digest_state state;
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += iov[i].iov_len;
	digest_begin(&state);
	for (size_t i = 0; i < count; i++) {
		bool whole = total <= CHECK_WHOLE || iov[i].iov_len <= CHECK_WHOLE;

		if (iov[i].iov_len && !(whole ? add_range : add_parts)(&state, iov[i].iov_base, iov[i].iov_len))
			return false;
	}
	*digest = digest_end(&state);
	return true;
}

bool check_is_mapped(const void *at, size_t length, const void **hole)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), next = (uintptr_t)at & ~(page - 1), end = (uintptr_t)at + length;
	unsigned char there[PAGES];

	while (length && next < end) {
		uintptr_t left = end - next, now = left < page * PAGES ? left : page * PAGES;

		if (!mincore((void *)next, now, there)) { /* ENOMEM: a page without a mapping, somewhere */
			next += (now + page - 1) & ~(page - 1);
			continue;
		}
		if (errno != ENOMEM)
			return true;
		while (!mincore((void *)next, page, there))
			next += page;
		if (next >= end)
			return true;
		*hole = (const void *)next;
		return false;
	}
	return true;
}
