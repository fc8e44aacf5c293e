/* SPDX-License-Identifier: BSD-2-Clause */
/* slab.h - numbered objects of one size that never move. No lock of its own. */
#ifndef EMU_NIC_SLAB_H
#define EMU_NIC_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"

enum { SLAB_CHUNK = 65536 }; /* objects allocated at once; untouched ones cost no memory */

struct slab {
	size_t size;
	uint32_t limit;
	uint32_t used; /* numbers given out so far, free ones included */
	uint32_t free; /* first free number, or limit */
	void **chunks;
};

/* Objects of `size` bytes, a multiple of 8, at most `limit` of them. 0 or -ENOMEM. */
MUST_USE int slab_init(struct slab *slab, size_t size, uint32_t limit);
void slab_fini(struct slab *slab);
/* Has memory for the next object, so that slab_take() allocates none and succeeds: 0 or -ENOMEM. May run beside slab_at(). */
MUST_USE int slab_reserve(struct slab *slab);
/* A zeroed object: 0 and its number, or -ENOMEM. */
MUST_USE int slab_take(struct slab *slab, uint32_t *number);
void slab_give(struct slab *slab, uint32_t number);

/* Any number below slab->used; a free object's first 8 bytes are the slab's, the rest is zero. */
static inline void *slab_at(const struct slab *slab, uint32_t number)
{
	return (char *)slab->chunks[number / SLAB_CHUNK] + (number % SLAB_CHUNK) * slab->size;
}

#endif
