/* SPDX-License-Identifier: BSD-2-Clause */
/* mm_types.h - struct page: a page of this process, with a mapped frame behind it. */
#ifndef EMU_KERNEL_LINUX_MM_TYPES_H
#define EMU_KERNEL_LINUX_MM_TYPES_H

#include <linux/types.h>

/* A processor with other pages is told by the first allocation, which is a BUG(). */
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))

enum emu_page_kind { EMU_PAGE_NONE, EMU_PAGE_FRAME /* alloc_pages() */, EMU_PAGE_VMALLOC };

/* The pages of one aligned GiB of addresses are one array: page + 1 is the next page of a block that crosses no such border. */
struct page {
	unsigned long private; /* the holder's */
	unsigned long index;
	struct list_head lru;
	/* Of emu_kernel alone. */
	void *emu_address;
	struct page *emu_head;     /* first page of the block */
	unsigned int emu_pages;    /* in the head: of the block */
	uint64_t emu_offset;       /* in the head: of the block, in the file that its memory is in */
	int emu_count;             /* in the head: references */
	unsigned int emu_kmallocs; /* allocations that touch the page */
	enum emu_page_kind emu_kind;
};

#endif
