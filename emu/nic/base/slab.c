/* SPDX-License-Identifier: BSD-2-Clause */
/* slab.c - chunks of objects; free ones are linked by number. */
#include "emu/nic/base/slab.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/huge_pages.h"

int slab_init(struct slab *slab, size_t size, uint32_t limit)
{
	assert(size % sizeof(uint64_t) == 0);
	*slab = (struct slab){ .size = size, .limit = limit, .free = limit };
	slab->chunks = calloc((limit + SLAB_CHUNK - 1) / SLAB_CHUNK, sizeof(*slab->chunks));
	return slab->chunks ? 0 : -ENOMEM;
}

/* The first chunk is all that most programs need: small pages, touched one by one. */
static void *chunk_alloc(const struct slab *slab, uint32_t chunk)
{
	return chunk ? huge_pages_alloc(SLAB_CHUNK * slab->size) : calloc(SLAB_CHUNK, slab->size);
}

void slab_fini(struct slab *slab)
{
	for (uint32_t i = 1; i * (uint64_t)SLAB_CHUNK < slab->used; i++)
		huge_pages_free(slab->chunks[i], SLAB_CHUNK * slab->size);
	free(slab->chunks[0]);
	free(slab->chunks);
}

int slab_reserve(struct slab *slab)
{
	uint32_t chunk = slab->used / SLAB_CHUNK;

	if (slab->free != slab->limit)
		return 0;
	if (slab->used == slab->limit)
		return -ENOMEM;
	if (!slab->chunks[chunk])
		slab->chunks[chunk] = chunk_alloc(slab, chunk);
	return slab->chunks[chunk] ? 0 : -ENOMEM;
}

int slab_take(struct slab *slab, uint32_t *number)
{
	uint64_t *first;
	int err = slab_reserve(slab);

	if (err)
		return err;
	if (slab->free != slab->limit) {
		*number = slab->free;
		first = slab_at(slab, *number);
		slab->free = (uint32_t)*first;
		*first = 0;
		return 0;
	}
	*number = slab->used++;
	return 0;
}

void slab_give(struct slab *slab, uint32_t number)
{
	uint64_t *first = slab_at(slab, number);

	memset(first, 0, slab->size);
	*first = slab->free;
	slab->free = number;
}
