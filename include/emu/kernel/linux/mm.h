/* SPDX-License-Identifier: BSD-2-Clause */
/* mm.h - pages and their addresses.
 * There are no physical addresses: virt_to_phys() and what belongs to it do not exist. */
#ifndef EMU_KERNEL_LINUX_MM_H
#define EMU_KERNEL_LINUX_MM_H

#include <linux/bug.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm_types.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#define PAGE_ALIGN(x) ALIGN(x, PAGE_SIZE)
#define offset_in_page(p) ((unsigned long)(p) & (PAGE_SIZE - 1))
#define PFN_UP(x) (((x) + PAGE_SIZE - 1) >> PAGE_SHIFT)
#define PFN_DOWN(x) ((x) >> PAGE_SHIFT)

static inline void *page_address(const struct page *page)
{
	return __atomic_load_n(&page->emu_address, __ATOMIC_RELAXED);
}

#define page_to_virt(page) page_address(page)

/* Memory of kmalloc() and of alloc_pages(). Memory of vmalloc(), stacks and variables have no page by this call, as in the kernel,
 * where its answer is wrong: here it is a BUG(), and virt_addr_valid() is false. */
struct page *virt_to_page(const void *address);
bool virt_addr_valid(const void *address);
#define virt_addr_valid(address) virt_addr_valid((const void *)(uintptr_t)(address))
#define virt_to_page(address) virt_to_page((const void *)(uintptr_t)(address))

#define nth_page(page, n) virt_to_page((char *)page_address(page) + (n)*PAGE_SIZE)

/* References to a block of alloc_pages(); its memory goes with the last. */
void get_page(struct page *page);
void put_page(struct page *page);
int page_count(struct page *page);

#endif
