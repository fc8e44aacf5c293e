/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.c - slabs of objects; the free ones are linked through their first word.
 *
 * A giver pushes its object onto a list, by the one locked operation that there is. A taker empties that list when `free` is
 * empty, and then counts the objects that have come back. So `out` is exact only after a look into the list; a taker looks
 * before it says that no object is left. Once the pool is closed the list takes nothing, and givers count down. */
#include "emu/nic/base/pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "emu/nic/base/limits.h"

enum {
	FIRST_OBJECTS = 2, /* for pools that are hardly used: an endpoint for each of a thousand peers */
	SLAB_OBJECTS = 8,  /* few: those that a program with one op at a time uses in turn stay in the cache */
	LOOKS = 16         /* into the list, after which a pool is worth a whole slab */
};

struct link_word {
	struct link_word *next;
};

struct pool_slab {
	struct pool_slab *next;
	_Alignas(CACHE_LINE) char objects[];
};

struct pool {
	size_t object;
	uint32_t max;
	uint32_t looks;                    /* takers: into `given`, up to LOOKS */
	uint32_t out;                      /* takers: objects that are not in `free`; some may be in `given` */
	struct pool_slab *slabs;           /* takers */
	struct link_word *free;            /* takers */
	_Atomic(struct link_word *) given; /* pushed by givers; taken all at once, so that no ABA arises; or `closed` */
	atomic_uint left;                  /* objects out since it was closed */
};

static struct link_word closed;

int pool_open(struct pool **out, size_t object, uint32_t max)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->object = (object + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	pool->max = max;
	*out = pool;
	return 0;
}

static void pool_free(struct pool *pool)
{
	struct pool_slab *slab, *next;

	for (slab = pool->slabs; slab; slab = next) {
		next = slab->next;
		free(slab);
	}
	free(pool);
}

/* The thread that counts the last object frees. acq_rel: it must see what every giver did to its object. */
static void count_down(struct pool *pool, unsigned int objects)
{
	if (atomic_fetch_sub_explicit(&pool->left, objects, memory_order_acq_rel) == objects)
		pool_free(pool);
}

void pool_close(struct pool *pool)
{
	unsigned int out, back = 0;
	const struct link_word *word;

	if (!pool)
		return;
	out = pool->out;
	atomic_store_explicit(&pool->left, out, memory_order_relaxed);
	/* Release: a giver that finds it closed finds `left`. */
	word = atomic_exchange_explicit(&pool->given, &closed, memory_order_acq_rel);
	for (; word; word = word->next)
		back++;
	if (!out)
		pool_free(pool);
	else if (back) /* else the objects that are out own the pool: it may be freed already */
		count_down(pool, back);
}

__attribute__((cold)) static bool pool_grow(struct pool *pool)
{
	int count = pool->slabs ? SLAB_OBJECTS : FIRST_OBJECTS;
	struct pool_slab *slab = aligned_alloc(CACHE_LINE, sizeof(*slab) + (size_t)count * pool->object);
	char *object;

	if (!slab)
		return false;
	slab->next = pool->slabs;
	pool->slabs = slab;
	object = slab->objects;
	for (int i = 0; i < count; i++, object += pool->object) {
		struct link_word *word = (struct link_word *)object;

		word->next = pool->free;
		pool->free = word;
	}
	return true;
}

/* Moves the objects that were given back to `free`. */
__attribute__((noinline)) static void pool_collect(struct pool *pool)
{
	struct link_word *first = NULL, *last;

	if (pool->looks < LOOKS && ++pool->looks == LOOKS)
		(void)pool_grow(pool);                                /* without memory it goes on with what it has */
	if (atomic_load_explicit(&pool->given, memory_order_relaxed)) /* pairs with the release in pool_give() */
		first = atomic_exchange_explicit(&pool->given, NULL, memory_order_acquire);
	if (!first)
		return;
	pool->out--;
	for (last = first; last->next; last = last->next)
		pool->out--;
	last->next = pool->free;
	pool->free = first;
}

void *pool_take(struct pool *pool)
{
	struct link_word *word;

	if (!pool->free || pool->out == pool->max)
		pool_collect(pool);
	if (pool->out == pool->max || (!pool->free && !pool_grow(pool)))
		return NULL;
	word = pool->free;
	pool->free = word->next;
	pool->out++;
	return word;
}

void pool_give(struct pool *pool, void *object)
{
	struct link_word *word = object;

	word->next = atomic_load_explicit(&pool->given, memory_order_acquire);
	do {
		if (word->next == &closed) {
			count_down(pool, 1);
			return;
		}
	} while (!atomic_compare_exchange_weak_explicit(&pool->given, &word->next, word, memory_order_acq_rel,
							memory_order_acquire));
}
