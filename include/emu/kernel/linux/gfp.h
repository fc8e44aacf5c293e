/* SPDX-License-Identifier: BSD-2-Clause */
/* gfp.h - flags of allocations, and pages.
 * A flag that is missing here (__GFP_NOFAIL) cannot be kept. */
#ifndef EMU_KERNEL_LINUX_GFP_H
#define EMU_KERNEL_LINUX_GFP_H

#include <emu_kernel.h>
#include <linux/types.h>

struct page;

#define __GFP_DIRECT_RECLAIM 0x1U /* may sleep */
#define __GFP_ZERO 0x2U
#define __GFP_NOWARN 0x4U
#define __GFP_NORETRY 0x8U /* allocations never try again: nothing */
#define __GFP_COMP 0x10U   /* blocks of pages are always compound: nothing */

#define GFP_KERNEL __GFP_DIRECT_RECLAIM
#define GFP_NOIO __GFP_DIRECT_RECLAIM
#define GFP_NOFS __GFP_DIRECT_RECLAIM
#define GFP_USER __GFP_DIRECT_RECLAIM
#define GFP_ATOMIC 0x100U
#define GFP_NOWAIT 0x200U
#define GFP_DMA 0x400U   /* the device reaches all memory: nothing */
#define GFP_DMA32 0x800U /* the same */

static inline bool gfpflags_allow_blocking(gfp_t flags)
{
	return flags & __GFP_DIRECT_RECLAIM;
}

/* In the macro of a call that allocates. */
#define EMU_KERNEL_ALLOCATES(call, flags) (gfpflags_allow_blocking(flags) ? EMU_KERNEL_SLEEPS(call) : (void)0)

#define MAX_ORDER 10

/* 2^order pages, aligned by their size; of memory that faults once they are freed. NULL above MAX_ORDER, or without memory. */
struct page *alloc_pages(gfp_t flags, unsigned int order);
#define alloc_pages(flags, order) (EMU_KERNEL_ALLOCATES("alloc_pages", flags), alloc_pages(flags, order))
#define alloc_page(flags) alloc_pages(flags, 0)
void __free_pages(struct page *page, unsigned int order);
#define __free_page(page) __free_pages(page, 0)

/* The same by address; 0 without memory. */
unsigned long emu_kernel_get_free_pages(gfp_t flags, unsigned int order);
#define __get_free_pages(flags, order) (EMU_KERNEL_ALLOCATES("__get_free_pages", flags), emu_kernel_get_free_pages(flags, order))
#define __get_free_page(flags) __get_free_pages(flags, 0)
#define get_zeroed_page(flags) __get_free_pages((flags) | __GFP_ZERO, 0)
void free_pages(unsigned long address, unsigned int order);
#define free_page(address) free_pages(address, 0)

#endif
