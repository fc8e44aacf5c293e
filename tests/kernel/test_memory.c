/* SPDX-License-Identifier: BSD-2-Clause */
/* test_memory.c - pages, kmalloc(), caches, scatter/gather lists and their mappings. */
#include <criterion/criterion.h>
#include <linux/bvec.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <signal.h>

#include "tests/kernel/said.h"

Test(kernel_pages, a_page_and_its_address_lead_to_each_other)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	char *memory = page_address(page);

	cr_assert_eq(offset_in_page(memory), 0);
	cr_assert_eq(offset_in_page(memory + 5), 5);
	cr_assert_eq(memory[PAGE_SIZE - 1], 0);
	cr_assert_eq(virt_to_page(memory + 100), page);
	cr_assert(virt_addr_valid(memory));
	cr_assert_eq(page_count(page), 1);
	__free_page(page);
	cr_assert_not(virt_addr_valid(memory));
}

Test(kernel_pages, a_block_is_aligned_and_its_pages_follow_each_other)
{
	struct page *page = alloc_pages(GFP_KERNEL, 3);
	char *memory = page_address(page);

	cr_assert_eq((unsigned long)memory % (8 * PAGE_SIZE), 0);
	cr_assert_eq(page_address(page + 7), memory + 7 * PAGE_SIZE);
	cr_assert_eq(nth_page(page, 3), page + 3);
	get_page(page + 2);
	__free_pages(page, 3);
	memory[0] = 1; /* a reference is left */
	cr_assert_eq(page_count(page), 1);
	put_page(page + 1);
	cr_assert_null(alloc_pages(GFP_KERNEL, MAX_ORDER + 1));
}

Test(kernel_pages, a_freed_page_faults, .signal = SIGSEGV)
{
	char *memory = (char *)__get_free_page(GFP_KERNEL);

	memory[0] = 1;
	free_page((unsigned long)memory);
	signal(SIGSEGV, SIG_DFL);
	WRITE_ONCE(memory[0], 2);
}

Test(kernel_pages, free_pages_by_address)
{
	unsigned long pages = __get_free_pages(GFP_ATOMIC, 1), zeroed = get_zeroed_page(GFP_KERNEL);

	cr_assert_eq(*(char *)zeroed, 0);
	free_pages(pages, 1);
	free_page(zeroed);
	free_page(0);
}

Test(kernel_pages, vmalloc_has_pages_of_its_own_kind)
{
	char *memory = vmalloc(3 * PAGE_SIZE + 1), *zeroed = vzalloc(10);

	cr_assert(is_vmalloc_addr(memory + 3 * PAGE_SIZE));
	cr_assert_eq(page_address(vmalloc_to_page(memory + PAGE_SIZE + 5)), memory + PAGE_SIZE);
	cr_assert_not(virt_addr_valid(memory));
	cr_assert_eq(zeroed[9], 0);
	cr_assert_null(vmalloc(0));
	vfree(memory);
	vfree(zeroed);
	vfree(NULL);
	cr_assert_not(is_vmalloc_addr(memory));
}

Test(kernel_pages, virt_to_page_of_vmalloc_is_a_bug, .signal = SIGABRT)
{
	virt_to_page(vmalloc(10));
}

Test(kernel_pages, virt_to_page_of_a_stack_is_a_bug, .signal = SIGABRT)
{
	char buf[10] = "";

	virt_to_page(buf);
}

Test(kernel_slab, memory_has_pages_until_it_is_freed)
{
	char *large = kmalloc(5 * PAGE_SIZE, GFP_KERNEL), *zeroed = kzalloc(64, GFP_ATOMIC);
	struct page *page = virt_to_page(large + 2 * PAGE_SIZE);

	cr_assert_eq(page_address(page), (void *)((unsigned long)(large + 2 * PAGE_SIZE) & PAGE_MASK));
	cr_assert_eq((unsigned long)zeroed % 64, 0);
	cr_assert_eq(zeroed[63], 0);
	kfree(large);
	cr_assert_not(virt_addr_valid(page_address(page)));
	kfree(zeroed);
	kfree(NULL);
}

Test(kernel_slab, powers_of_two_are_aligned_to_themselves)
{
	for (size_t size = 8; size <= 16 * PAGE_SIZE; size *= 2) {
		void *memory = kmalloc(size, GFP_KERNEL);

		cr_assert_eq((unsigned long)memory % size, 0);
		kfree(memory);
	}
}

Test(kernel_slab, sizes_at_the_bounds)
{
	char *grown;

	said_begin();
	cr_assert_eq(kmalloc(0, GFP_KERNEL), ZERO_SIZE_PTR);
	kfree(ZERO_SIZE_PTR);
	cr_assert_null(kmalloc(KMALLOC_MAX_SIZE + 1, GFP_KERNEL));
	cr_assert_null(kcalloc(SIZE_MAX / 2, 4, GFP_KERNEL));
	grown = krealloc(kstrdup("abc", GFP_KERNEL), 100, GFP_KERNEL);
	cr_assert_str_eq(grown, "abc");
	cr_assert_geq(ksize(grown), 100);
	kfree_sensitive(grown);
	kvfree(kvmalloc(10, GFP_KERNEL));
	grown = kvzalloc(10 * PAGE_SIZE, GFP_KERNEL);
	cr_assert(is_vmalloc_addr(grown));
	kvfree(grown);
	kfree(kmalloc_node(1, GFP_KERNEL, 0));
	kfree(kzalloc_node(1, GFP_KERNEL, 0));
	kfree(kmalloc_array(2, 3, GFP_KERNEL));
}

static void construct(void *object)
{
	*(int *)object = 42;
}

struct thing {
	int number;
};

Test(kernel_slab, caches_construct_and_count)
{
	struct kmem_cache *cache = kmem_cache_create("things", sizeof(int), 0, SLAB_HWCACHE_ALIGN, construct);
	struct kmem_cache *plain = KMEM_CACHE(thing, 0);
	int *number = kmem_cache_alloc(cache, GFP_KERNEL);
	struct thing *thing = kmem_cache_zalloc(plain, GFP_KERNEL);

	said_begin();
	cr_assert_eq(*number, 42);
	cr_assert_eq((unsigned long)number % 64, 0);
	cr_assert_eq(kmem_cache_size(cache), sizeof(int));
	cr_assert_eq(thing->number, 0);
	kmem_cache_destroy(cache);
	cr_assert_eq(said_times("things: 1 objects were not freed"), 1);
	kmem_cache_free(cache, number);
	kmem_cache_free(plain, thing);
	kmem_cache_destroy(cache);
	kmem_cache_destroy(plain);
}

Test(kernel_slab, vectors)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct kvec kvec = { .iov_base = page_address(page), .iov_len = 3 };
	struct bio_vec vec;

	bvec_set_page(&vec, page, 5, 7);
	cr_assert_eq(bvec_virt(&vec), (char *)kvec.iov_base + 7);
	__free_page(page);
}

static const unsigned int counts[] = { 1, 2, 127, 128, 129, 254, 255, 256, 1000 };

Test(kernel_sg, tables_of_all_sizes_are_walked)
{
	struct scatterlist *sg;
	struct sg_table table;
	unsigned int i;

	cr_assert_eq(sg_alloc_table(&table, 0, GFP_KERNEL), -EINVAL);
	for (unsigned int n = 0; n < ARRAY_SIZE(counts); n++) {
		cr_assert_eq(sg_alloc_table(&table, counts[n], GFP_KERNEL), 0);
		cr_assert_eq(table.orig_nents, counts[n]);
		cr_assert_eq(sg_nents(table.sgl), (int)counts[n]);
		for_each_sgtable_sg(&table, sg, i) {
			cr_assert_not_null(sg);
			cr_assert_eq(sg_is_last(sg), i == counts[n] - 1);
		}
		cr_assert_eq(i, counts[n]);
		cr_assert(sg_is_last(sg_last(table.sgl, counts[n])));
		sg_free_table(&table);
		cr_assert_null(table.sgl);
	}
}

Test(kernel_sg, entries_know_whether_they_are_mapped)
{
	char *buf = kzalloc(3 * PAGE_SIZE, GFP_KERNEL);
	struct page *page = alloc_page(GFP_KERNEL);
	struct scatterlist *sg;
	struct sg_table table;
	unsigned int i;

	said_begin();
	cr_assert_eq(sg_alloc_table(&table, 2, GFP_KERNEL), 0);
	sg_set_buf(table.sgl, buf + 100, 2 * PAGE_SIZE);
	sg_set_page(sg_next(table.sgl), page, 10, 20);
	cr_assert_eq(sg_virt(table.sgl), buf + 100);
	cr_assert_eq(sg_page(sg_next(table.sgl)), page);
	cr_assert_not(emu_sg_is_mapped(table.sgl));
	cr_assert_eq(dma_map_sgtable(NULL, &table, DMA_NONE, 0), -EINVAL);
	cr_assert_eq(dma_map_sgtable(NULL, &table, DMA_TO_DEVICE, 0), 0);
	for_each_sgtable_dma_sg(&table, sg, i) {
		cr_assert(emu_sg_is_mapped(sg));
		cr_assert_eq(sg_dma_address(sg), (unsigned long)sg_virt(sg));
		cr_assert_eq(sg_dma_len(sg), sg->length);
	}
	dma_sync_sgtable_for_cpu(NULL, &table, DMA_TO_DEVICE);
	dma_sync_sgtable_for_device(NULL, &table, DMA_TO_DEVICE);
	dma_unmap_sgtable(NULL, &table, DMA_TO_DEVICE, 0);
	cr_assert_not(emu_sg_is_mapped(table.sgl));
	cr_assert_eq(said_times("WARNING"), 0);
	dma_unmap_sgtable(NULL, &table, DMA_TO_DEVICE, 0);
	cr_assert_eq(said_times("WARNING"), 2);
	sg_free_table(&table);
	kfree(buf);
	__free_page(page);
}

Test(kernel_sg, copies_and_chains)
{
	struct scatterlist first[3], second[2];
	char *buf = kzalloc(100, GFP_KERNEL), back[30];

	sg_init_table(first, 3);
	sg_init_table(second, 2);
	sg_chain(first, 3, second);
	for (int i = 0; i < 2; i++) {
		sg_set_buf(&first[i], buf + 20 * i, 5);
		sg_set_buf(&second[i], buf + 50 + 20 * i, 5);
	}
	cr_assert_eq(sg_nents(first), 4);
	cr_assert_eq(sg_copy_from_buffer(first, 4, "abcdefghijklmnopqrstuvwxyz", 18), 18);
	cr_assert_eq(memcmp(buf + 50, "klmno", 5), 0);
	cr_assert_eq(sg_copy_to_buffer(first, 4, back, sizeof(back)), 20);
	cr_assert_eq(memcmp(back, "abcdefghijklmnopqr", 18), 0);
	sg_unmark_end(&second[1]);
	cr_assert_not(sg_is_last(&second[1]));
	sg_mark_end(&second[0]);
	cr_assert_eq(sg_nents(first), 3);
	cr_assert_eq(dma_map_sg(NULL, first, 3, DMA_FROM_DEVICE), 3);
	cr_assert(emu_sg_is_mapped(&second[0]));
	cr_assert_not(emu_sg_is_mapped(&second[1]));
	dma_unmap_sg(NULL, first, 3, DMA_FROM_DEVICE);
	kfree(buf);
}

Test(kernel_sg, single_mappings)
{
	char *buf = kmalloc(10, GFP_KERNEL), local[10] = "";
	struct page *page = alloc_page(GFP_KERNEL);
	struct scatterlist sg = { 0 };
	dma_addr_t address;

	sg_init_one(&sg, buf, 10);
	cr_assert(sg_is_last(&sg));
	address = dma_map_single(NULL, buf, 10, DMA_TO_DEVICE);
	cr_assert_eq(address, (unsigned long)buf);
	cr_assert_eq(dma_mapping_error(NULL, address), 0);
	dma_sync_single_for_cpu(NULL, address, 10, DMA_TO_DEVICE);
	dma_sync_single_for_device(NULL, address, 10, DMA_TO_DEVICE);
	dma_unmap_single(NULL, address, 10, DMA_TO_DEVICE);
	cr_assert_neq(dma_mapping_error(NULL, dma_map_single(NULL, local, 10, DMA_TO_DEVICE)), 0);
	address = dma_map_page(NULL, page, 7, 10, DMA_TO_DEVICE);
	cr_assert_eq(address, (unsigned long)page_address(page) + 7);
	dma_unmap_page(NULL, address, 10, DMA_TO_DEVICE);
	cr_assert_eq(DMA_BIT_MASK(32), U32_MAX);
	__free_page(page);
	kfree(buf);
}

Test(kernel_sg, a_stack_is_no_entry, .signal = SIGABRT)
{
	struct scatterlist sg = { 0 };

	sg_init_one(&sg, &sg, 1);
}
