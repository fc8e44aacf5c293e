/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.c - slabs of objects; the free ones are linked through their first word. */
#include "emu/nic/pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SLAB_OBJECTS = 32 };

struct link_word { struct link_word *next; };

struct slab {
	struct slab *next;
	max_align_t objects[];
};

struct pool {
	size_t object;
	uint32_t max;
	struct slab *slabs;			/* takers */
	struct link_word *free;			/* takers */
	_Atomic(struct link_word *) given;	/* pushed by givers; taken all at once, so that no ABA arises */
	atomic_uint out;			/* objects out, plus one while the pool is open */
};

int pool_open(struct pool **out, size_t object, uint32_t max)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	const size_t align = _Alignof(max_align_t);

	if (!pool)
		return -ENOMEM;
	pool->object = (object + align - 1) / align * align;
	pool->max = max;
	atomic_init(&pool->out, 1);
	*out = pool;
	return 0;
}

static void pool_unref(struct pool *pool)
{
	struct slab *slab, *next;

	/* acq_rel: whoever frees must see what every giver did to its object. */
	if (atomic_fetch_sub_explicit(&pool->out, 1, memory_order_acq_rel) != 1)
		return;
	for (slab = pool->slabs; slab; slab = next) {
		next = slab->next;
		free(slab);
	}
	free(pool);
}

void pool_close(struct pool *pool)
{
	if (pool)
		pool_unref(pool);
}

static bool pool_grow(struct pool *pool)
{
	struct slab *slab = malloc(sizeof(*slab) + SLAB_OBJECTS * pool->object);
	char *object;

	if (!slab)
		return false;
	slab->next = pool->slabs;
	pool->slabs = slab;
	object = (char *)slab->objects;
	for (int i = 0; i < SLAB_OBJECTS; i++, object += pool->object) {
		struct link_word *word = (struct link_word *)object;

		word->next = pool->free;
		pool->free = word;
	}
	return true;
}

void *pool_take(struct pool *pool)
{
	struct link_word *word;

	/* Relaxed: a giver that has not come this far yet only makes the bound bite one call longer. */
	if (atomic_load_explicit(&pool->out, memory_order_relaxed) > pool->max)
		return NULL;
	if (!pool->free)	/* pairs with the release in pool_give() */
		pool->free = atomic_exchange_explicit(&pool->given, NULL, memory_order_acquire);
	if (!pool->free && !pool_grow(pool))
		return NULL;
	word = pool->free;
	pool->free = word->next;
	atomic_fetch_add_explicit(&pool->out, 1, memory_order_relaxed);
	return word;
}

void pool_give(struct pool *pool, void *object)
{
	struct link_word *word = object;

	word->next = atomic_load_explicit(&pool->given, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&pool->given, &word->next, word, memory_order_release,
						      memory_order_relaxed))
		;
	pool_unref(pool);
}
