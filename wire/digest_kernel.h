/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_kernel.h - XXH3 of payloads for one instruction set; private to digest*.c.
 *
 * A file that is compiled for an instruction set defines DIGEST_KERNEL, the name of its table, includes this, and has its own
 * function for bytes in one piece. All functions here and in xxHash are static, so that the linker cannot replace one by its
 * counterpart for another instruction set. */
#ifndef WIRE_DIGEST_KERNEL_H
#define WIRE_DIGEST_KERNEL_H

#include "wire/digest.h"

struct digest_kernel {
	uint64_t (*bytes)(const void *bytes, size_t length);
	void (*begin)(struct digest_state *state);
	void (*add)(struct digest_state *state, const void *bytes, size_t length);
	uint64_t (*end)(const struct digest_state *state);
	uint64_t (*copy)(void *to, const void *from, size_t length);
};

extern const struct digest_kernel digest_base;               /* for every processor of this architecture */
extern const struct digest_kernel digest_avx2;               /* x86-64 only */
uint64_t digest_avx2_long(const void *bytes, size_t length); /* x86-64 only, as is the next; digest_long.h */
uint64_t digest_avx512_long(const void *bytes, size_t length);

#ifdef DIGEST_KERNEL

#define XXH_INLINE_ALL
#include <xxhash.h>

static_assert(sizeof(struct digest_state) >= sizeof(XXH3_state_t), "the state fits");
static_assert(alignof(struct digest_state) >= alignof(XXH3_state_t), "the state is aligned");

static void digest_kernel_begin(struct digest_state *state)
{
	XXH3_64bits_reset((XXH3_state_t *)state);
}

static void digest_kernel_add(struct digest_state *state, const void *bytes, size_t length)
{
	XXH3_64bits_update((XXH3_state_t *)state, bytes, length);
}

static uint64_t digest_kernel_end(const struct digest_state *state)
{
	return XXH3_64bits_digest((const XXH3_state_t *)state);
}

/* Defined by the including file. */
static uint64_t digest_kernel_bytes(const void *bytes, size_t length);
static uint64_t digest_kernel_copy(void *to, const void *from, size_t length);

const struct digest_kernel DIGEST_KERNEL = { digest_kernel_bytes, digest_kernel_begin, digest_kernel_add, digest_kernel_end,
					     digest_kernel_copy };

#endif
#endif
