/* SPDX-License-Identifier: BSD-2-Clause */
/* slab.h - kmalloc() and object caches.
 * They are the C library's allocations, so that the address sanitizer looks after each. */
#ifndef EMU_KERNEL_LINUX_SLAB_H
#define EMU_KERNEL_LINUX_SLAB_H

#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/types.h>

/* As large as the kernel's largest. More is NULL. */
#define KMALLOC_MAX_SIZE (1UL << 22)
#define ZERO_SIZE_PTR ((void *)16)
#define ZERO_OR_NULL_PTR(p) ((unsigned long)(p) <= (unsigned long)ZERO_SIZE_PTR)
#define ARCH_KMALLOC_MINALIGN 8

/* A size that is a power of two is aligned to itself. For 0 it is ZERO_SIZE_PTR, which kfree() takes. */
void *kmalloc(size_t size, gfp_t flags);
void *kmalloc_array(size_t count, size_t size, gfp_t flags); /* NULL where the product overflows */
void *krealloc(const void *old, size_t size, gfp_t flags);
void kfree(const void *memory);
void kfree_sensitive(const void *memory);
size_t ksize(const void *memory);
void *kvmalloc(size_t size, gfp_t flags); /* kmalloc(), or vmalloc() for more than a page */
void kvfree(const void *memory);

#define kmalloc(size, flags) (EMU_KERNEL_ALLOCATES("kmalloc", flags), kmalloc(size, flags))
#define kzalloc(size, flags) kmalloc(size, (flags) | __GFP_ZERO)
#define kmalloc_array(count, size, flags) (EMU_KERNEL_ALLOCATES("kmalloc_array", flags), kmalloc_array(count, size, flags))
#define kcalloc(count, size, flags) kmalloc_array(count, size, (flags) | __GFP_ZERO)
#define krealloc(old, size, flags) (EMU_KERNEL_ALLOCATES("krealloc", flags), krealloc(old, size, flags))
#define kvmalloc(size, flags) (EMU_KERNEL_SLEEPS("kvmalloc"), kvmalloc(size, flags))
#define kvzalloc(size, flags) kvmalloc(size, (flags) | __GFP_ZERO)

/* The node is not looked at: memory comes from where the system takes it. */
#define kmalloc_node(size, flags, node) ((void)(node), kmalloc(size, flags))
#define kzalloc_node(size, flags, node) ((void)(node), kzalloc(size, flags))

struct kmem_cache;

#define SLAB_HWCACHE_ALIGN 0x2000U
#define SLAB_PANIC 0x40000U /* BUG() where the cache cannot be made */

/* The constructor runs at each allocation: no freed object is given out again as it was. */
struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align, unsigned int flags,
				     void (*construct)(void *));
#define kmem_cache_create(name, size, align, flags, construct) \
	(EMU_KERNEL_SLEEPS("kmem_cache_create"), kmem_cache_create(name, size, align, flags, construct))
#define KMEM_CACHE(structure, flags) \
	kmem_cache_create(#structure, sizeof(struct structure), _Alignof(struct structure), flags, NULL)

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags);
#define kmem_cache_alloc(cache, flags) (EMU_KERNEL_ALLOCATES("kmem_cache_alloc", flags), kmem_cache_alloc(cache, flags))
#define kmem_cache_zalloc(cache, flags) kmem_cache_alloc(cache, (flags) | __GFP_ZERO)
void kmem_cache_free(struct kmem_cache *cache, void *object);
unsigned int kmem_cache_size(struct kmem_cache *cache);
void kmem_cache_destroy(struct kmem_cache *cache); /* objects that were not freed: a line in the log, and the cache stays */

#endif
