/* SPDX-License-Identifier: BSD-2-Clause */
/* named.h - the local regions that a post names, by their descriptors: once one is closed, no buffer of the post is touched. */
#ifndef EMU_NIC_NAMED_H
#define EMU_NIC_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/likely.h"

/* Adds those of one list of buffers (NULL: none are looked at) to `named`, which has `count` and room for as many more. Returns
 * how many there are then, one for each buffer. */
uint8_t named_add(uint64_t *named, uint8_t count, void *const *desc, size_t buffers);
/* Likewise for the first list, which is there: mostly of one buffer. */
static inline uint8_t named_set(uint64_t *named, void *const *desc, size_t buffers)
{
	if (unlikely(buffers != 1))
		return named_add(named, 0, desc, buffers);
	*named = (uintptr_t)*desc;
	return 1;
}

static inline bool named_has(const uint64_t *named, uint8_t count, uint64_t desc)
{
	for (uint8_t i = 0; i < count; i++)
		if (named[i] == desc)
			return true;
	return false;
}

#endif
