/* SPDX-License-Identifier: BSD-2-Clause */
/* mempool.h - allocations with a reserve, which they come from when there is no other memory. */
#ifndef EMU_KERNEL_LINUX_MEMPOOL_H
#define EMU_KERNEL_LINUX_MEMPOOL_H

#include <linux/slab.h>

typedef void *(mempool_alloc_t)(gfp_t flags, void *data);
typedef void(mempool_free_t)(void *element, void *data);
typedef struct mempool_s mempool_t;

/* NULL: there is no memory for `least` elements. */
mempool_t *mempool_create(int least, mempool_alloc_t *alloc, mempool_free_t *free, void *data);
void mempool_destroy(mempool_t *pool); /* NULL is fine; elements that were not freed are lost, as in the kernel */
/* Where nothing can be allocated, an element of the reserve; with GFP_ATOMIC and no such element NULL, else it waits for one. */
void *mempool_alloc(mempool_t *pool, gfp_t flags);
void mempool_free(void *element, mempool_t *pool);
int mempool_resize(mempool_t *pool, int least); /* 0 or -ENOMEM */

#define mempool_alloc(pool, flags) (EMU_KERNEL_ALLOCATES("mempool_alloc", flags), mempool_alloc(pool, flags))

mempool_alloc_t mempool_alloc_slab, mempool_kmalloc;
mempool_free_t mempool_free_slab, mempool_kfree;

static inline mempool_t *mempool_create_slab_pool(int least, struct kmem_cache *cache)
{
	return mempool_create(least, mempool_alloc_slab, mempool_free_slab, cache);
}

static inline mempool_t *mempool_create_kmalloc_pool(int least, size_t size)
{
	return mempool_create(least, mempool_kmalloc, mempool_kfree, (void *)size);
}

#endif
