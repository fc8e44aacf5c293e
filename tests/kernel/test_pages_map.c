/* SPDX-License-Identifier: BSD-2-Clause */
/* Further mappings of pages, and which bytes have live pages: what front ends ask (emu_pages.h). */
#include <criterion/criterion.h>
#include <emu_pages.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <string.h>
#include <sys/mman.h>

Test(kernel_pages_map, pages_of_blocks_lie_side_by_side)
{
	char *a = page_address(alloc_pages(GFP_KERNEL, 1)), *b = vmalloc(3 * PAGE_SIZE), *c = page_address(alloc_page(GFP_KERNEL));
	struct iovec part[3] = { { a + PAGE_SIZE + 100, PAGE_SIZE - 100 }, { b, 2 * PAGE_SIZE }, { c, 7 } };
	size_t mapped = 0;
	char *again = emu_pages_map(part, 3, &mapped);

	cr_assert(again);
	cr_assert_eq(mapped, 4 * PAGE_SIZE);
	memset(again, 1, mapped);
	again[100] = 2;
	again[PAGE_SIZE] = 3;
	again[3 * PAGE_SIZE - 1] = 4;
	again[3 * PAGE_SIZE] = 5;
	cr_assert_eq(a[PAGE_SIZE + 100], 2);
	cr_assert_eq(b[0], 3);
	cr_assert_eq(b[2 * PAGE_SIZE - 1], 4);
	cr_assert_eq(c[0], 5);
	cr_assert_eq((unsigned char)a[0], 0xa5, "the page before is not mapped");
	cr_assert_eq((unsigned char)b[2 * PAGE_SIZE], 0xa5, "nor the one behind");
	c[0] = 6;
	cr_assert_eq(again[3 * PAGE_SIZE], 6);
	munmap(again, mapped);
	cr_assert_eq(a[PAGE_SIZE + 100], 2);
	free_pages((unsigned long)a, 1);
	vfree(b);
	free_page((unsigned long)c);
}

Test(kernel_pages_map, a_freed_page_has_zeros_in_the_other_mapping_and_none_of_the_next)
{
	char *a = page_address(alloc_page(GFP_KERNEL)), *next;
	struct iovec part = { a, PAGE_SIZE };
	size_t mapped = 0;
	char *again = emu_pages_map(&part, 1, &mapped);

	cr_assert(again);
	cr_assert_eq((unsigned char)again[0], 0xa5);
	free_page((unsigned long)a);
	cr_assert_eq(again[0], 0);
	next = page_address(alloc_page(GFP_KERNEL));
	next[0] = 9;
	cr_assert_eq(again[0], 0);
	free_page((unsigned long)next);
	munmap(again, mapped);
}

Test(kernel_pages_map, memory_that_cannot_be_mapped)
{
	char *small = kmalloc(64, GFP_KERNEL), *a = page_address(alloc_page(GFP_KERNEL));
	struct iovec heap = { small, 64 }, freed = { a, PAGE_SIZE }, stack = { &heap, sizeof(heap) };
	size_t mapped;

	cr_assert(emu_pages_can_map(a, PAGE_SIZE));
	cr_assert_not(emu_pages_can_map(small, 64));
	cr_assert_not(emu_pages_can_map(&heap, sizeof(heap)));
	cr_assert_null(emu_pages_map(&heap, 1, &mapped));
	cr_assert_null(emu_pages_map(&stack, 1, &mapped));
	free_page((unsigned long)a);
	cr_assert_not(emu_pages_can_map(a, PAGE_SIZE));
	cr_assert_null(emu_pages_map(&freed, 1, &mapped));
	kfree(small);
}

Test(kernel_pages_map, bytes_with_live_pages)
{
	char *a = page_address(alloc_pages(GFP_KERNEL, 1)), *v = vmalloc(PAGE_SIZE), *k = kmalloc(64, GFP_KERNEL);

	cr_assert(emu_pages_live(a, 2 * PAGE_SIZE));
	cr_assert(emu_pages_live(a + PAGE_SIZE, 1));
	cr_assert(emu_pages_live(v, PAGE_SIZE));
	cr_assert_not(emu_pages_live(v, PAGE_SIZE + 1), "the page behind is a guard");
	cr_assert(emu_pages_live(k, 64));
	free_pages((unsigned long)a, 1);
	cr_assert_not(emu_pages_live(a, 1));
	vfree(v);
	cr_assert_not(emu_pages_live(v, 1));
	kfree(k);
}
