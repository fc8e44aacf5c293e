/* SPDX-License-Identifier: BSD-2-Clause */
/* mempools.c - allocations with a reserve. */
#include <linux/errno.h>
#include <linux/mempool.h>
#include <pthread.h>
#include <stdlib.h>

struct mempool_s {
	pthread_mutex_t lock; /* guards all below but what is constant */
	pthread_cond_t given; /* an element came back */
	mempool_alloc_t *alloc;
	mempool_free_t *free;
	void *data;
	void **reserve;
	int count, least;
};

void *mempool_alloc_slab(gfp_t flags, void *data)
{
	return kmem_cache_alloc(data, flags);
}

void mempool_free_slab(void *element, void *data)
{
	kmem_cache_free(data, element);
}

void *mempool_kmalloc(gfp_t flags, void *data)
{
	return kmalloc((size_t)data, flags);
}

void mempool_kfree(void *element, void *data)
{
	(void)data;
	kfree(element);
}

/* Until the reserve has `least`. With the lock, or before the pool is known. */
static int fill_reserve(mempool_t *pool)
{
	while (pool->count < pool->least) {
		void *element = pool->alloc(GFP_NOWAIT, pool->data);

		if (!element)
			return -ENOMEM;
		pool->reserve[pool->count++] = element;
	}
	return 0;
}

mempool_t *mempool_create(int least, mempool_alloc_t *alloc, mempool_free_t *free_element, void *data)
{
	mempool_t *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	*pool = (mempool_t){ .alloc = alloc, .free = free_element, .data = data, .least = least };
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->given, NULL);
	pool->reserve = calloc((size_t)least + 1, sizeof(*pool->reserve));
	if (pool->reserve && !fill_reserve(pool))
		return pool;
	mempool_destroy(pool);
	return NULL;
}

void mempool_destroy(mempool_t *pool)
{
	if (!pool)
		return;
	while (pool->count > 0)
		pool->free(pool->reserve[--pool->count], pool->data);
	pthread_cond_destroy(&pool->given);
	pthread_mutex_destroy(&pool->lock);
	free(pool->reserve);
	free(pool);
}

void *(mempool_alloc)(mempool_t *pool, gfp_t flags)
{
	void *element = pool->alloc(flags | __GFP_NOWARN, pool->data);

	if (element)
		return element;
	pthread_mutex_lock(&pool->lock);
	while (!pool->count && gfpflags_allow_blocking(flags))
		pthread_cond_wait(&pool->given, &pool->lock);
	if (pool->count)
		element = pool->reserve[--pool->count];
	pthread_mutex_unlock(&pool->lock);
	return element;
}

void mempool_free(void *element, mempool_t *pool)
{
	bool kept;

	if (!element)
		return;
	pthread_mutex_lock(&pool->lock);
	kept = pool->count < pool->least;
	if (kept)
		pool->reserve[pool->count++] = element;
	pthread_cond_signal(&pool->given);
	pthread_mutex_unlock(&pool->lock);
	if (!kept)
		pool->free(element, pool->data);
}

int mempool_resize(mempool_t *pool, int least)
{
	void **reserve;
	int err = -ENOMEM;

	pthread_mutex_lock(&pool->lock);
	while (pool->count > least)
		pool->free(pool->reserve[--pool->count], pool->data);
	reserve = realloc(pool->reserve, ((size_t)least + 1) * sizeof(*reserve));
	if (reserve) {
		pool->reserve = reserve;
		pool->least = least;
		err = fill_reserve(pool);
	}
	pthread_mutex_unlock(&pool->lock);
	return err;
}
