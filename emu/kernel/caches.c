/* SPDX-License-Identifier: BSD-2-Clause */
/* caches.c - kmalloc() and object caches, of the C library's memory. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <malloc.h>
#include <stdlib.h>

#include "emu/kernel/kernel_impl.h"

struct kmem_cache {
	unsigned int size, align;
	void (*construct)(void *);
	unsigned int live; /* objects given out */
	char name[32];
};

static void *alloc(size_t size, size_t align, gfp_t flags)
{
	void *memory;

	if (posix_memalign(&memory, max(align, sizeof(void *)), size))
		return NULL;
	if (!pages_hold(memory, malloc_usable_size(memory))) {
		free(memory);
		return NULL;
	}
	memset(memory, flags & __GFP_ZERO ? 0 : 0xa5, size); /* nothing may rely on zeros that it did not ask for */
	return memory;
}

static void release(void *memory)
{
	pages_let_go(memory, malloc_usable_size(memory));
	free(memory);
}

void *(kmalloc)(size_t size, gfp_t flags)
{
	if (!size)
		return ZERO_SIZE_PTR;
	if (size > KMALLOC_MAX_SIZE) {
		WARN_ON(!(flags & __GFP_NOWARN));
		return NULL;
	}
	return alloc(size, is_power_of_2(size) ? size : ARCH_KMALLOC_MINALIGN, flags);
}

void *(kmalloc_array)(size_t count, size_t size, gfp_t flags)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : (kmalloc)(bytes, flags);
}

void kfree(const void *memory)
{
	if (ZERO_OR_NULL_PTR(memory))
		return;
	BUG_ON(is_vmalloc_addr(memory));
	release((void *)(uintptr_t)memory);
}

void kfree_sensitive(const void *memory)
{
	size_t size = ksize(memory);

	if (size)
		memzero_explicit((void *)(uintptr_t)memory, size);
	kfree(memory);
}

size_t ksize(const void *memory)
{
	return ZERO_OR_NULL_PTR(memory) ? 0 : malloc_usable_size((void *)(uintptr_t)memory);
}

void *(krealloc)(const void *old, size_t size, gfp_t flags)
{
	void *memory = (kmalloc)(size, flags);

	if (memory && !ZERO_OR_NULL_PTR(old) && size)
		memcpy(memory, old, min(size, ksize(old)));
	if (memory)
		kfree(old);
	return memory;
}

void *(kvmalloc)(size_t size, gfp_t flags)
{
	if (size <= PAGE_SIZE)
		return (kmalloc)(size, flags);
	return flags & __GFP_ZERO ? (vzalloc)(size) : (vmalloc)(size);
}

void kvfree(const void *memory)
{
	if (is_vmalloc_addr(memory))
		vfree(memory);
	else
		kfree(memory);
}

struct kmem_cache *(kmem_cache_create)(const char *name, unsigned int size, unsigned int align, unsigned int flags,
				       void (*construct)(void *))
{
	struct kmem_cache *cache = size ? calloc(1, sizeof(*cache)) : NULL;

	if (!cache) {
		BUG_ON(flags & SLAB_PANIC);
		return NULL;
	}
	cache->size = size;
	cache->align = max(align, flags & SLAB_HWCACHE_ALIGN ? 64U : (unsigned int)ARCH_KMALLOC_MINALIGN);
	cache->construct = construct;
	strscpy(cache->name, name, sizeof(cache->name));
	return cache;
}

void *(kmem_cache_alloc)(struct kmem_cache *cache, gfp_t flags)
{
	void *object = alloc(cache->size, cache->align, flags);

	if (!object)
		return NULL;
	__atomic_fetch_add(&cache->live, 1, __ATOMIC_RELAXED);
	if (cache->construct)
		cache->construct(object);
	return object;
}

void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	if (!object)
		return;
	BUG_ON(__atomic_fetch_sub(&cache->live, 1, __ATOMIC_ACQ_REL) == 0);
	release(object);
}

unsigned int kmem_cache_size(struct kmem_cache *cache)
{
	return cache->size;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	unsigned int live;

	if (!cache)
		return;
	live = __atomic_load_n(&cache->live, __ATOMIC_ACQUIRE);
	if (live)
		pr_err("kmem_cache_destroy() of %s: %u objects were not freed\n", cache->name, live);
	else
		free(cache);
}
