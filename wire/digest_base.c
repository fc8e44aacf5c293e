/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_base.c - payload digests with the instructions that every processor of the architecture has. */
#define DIGEST_KERNEL digest_base
#include "wire/digest_kernel.h"

#include <string.h>

static uint64_t digest_kernel_bytes(const void *bytes, size_t length)
{
	return XXH3_64bits(bytes, length);
}

static uint64_t digest_kernel_copy(void *to, const void *from, size_t length)
{
	memmove(to, from, length);
	return XXH3_64bits(to, length);
}
