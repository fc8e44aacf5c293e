/* SPDX-License-Identifier: BSD-2-Clause */
/* named.c - the descriptors of several buffers. */
#include "emu/nic/regions/named.h"

uint8_t named_add(uint64_t *named, uint8_t count, void *const *desc, size_t buffers)
{
	for (size_t i = 0; desc && i < buffers; i++)
		named[count++] = (uintptr_t)desc[i]; /* 0 is the descriptor of no region */
	return count;
}
