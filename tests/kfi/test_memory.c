/* SPDX-License-Identifier: BSD-2-Clause */
/* kvec, bio_vec and scatterlist as the device's buffers: neighbours, windows, and what is refused. */
#include <criterion/criterion.h>
#include <kfi_errno.h>
#include <linux/bvec.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <string.h>

#include "emu/kfi/mr/kemu_memory.h"
#include "tests/kernel/said.h"

enum { MANY = 100 };

static int take(struct kemu_memory *memory, enum kfi_iov_type type, const void *entries, size_t count)
{
	return kemu_memory_take(memory,
				&(struct kemu_vector){ .call = "kfi_test", .type = type, .entries = entries, .count = count });
}

/* Refused, in these words. */
static void refuse(enum kfi_iov_type type, const void *entries, size_t count, const char *words)
{
	struct kemu_memory memory;

	said_begin();
	cr_assert_eq(take(&memory, type, entries, count), -KFI_EINVAL);
	cr_assert(strstr(said(), "kfi_test: ") && strstr(said(), words), "%s in place of: %s", said(), words);
}

/* Pages that do not touch: each second one of these is freed by the caller. */
static struct page *page_alone(void)
{
	struct page *page = alloc_pages(GFP_KERNEL, 1);

	cr_assert(page);
	return page;
}

Test(kfi_memory, neighbours_are_one_run_and_empty_entries_none)
{
	char *a = page_address(alloc_pages(GFP_KERNEL, 2));
	struct kvec iov[] = { { a, 100 }, { a + 100, 50 }, { a + 9, 0 }, { a + 150, 8 }, { a + 200, 4 }, { a + 100, 3 } };
	struct kemu_memory memory;

	cr_assert_eq(take(&memory, KFI_KVEC, iov, 6), 0);
	cr_assert_eq(memory.count, 3);
	cr_assert_eq(memory.length, 165);
	cr_assert_eq(memory.run[0].iov_base, a);
	cr_assert_eq(memory.run[0].iov_len, 158);
	cr_assert_eq(memory.run[1].iov_base, a + 200);
	cr_assert_eq(memory.run[2].iov_len, 3);
	cr_assert_null(memory.window);
	cr_assert_eq(take(&memory, KFI_KVEC, iov + 2, 1), 0);
	cr_assert_eq(memory.count + memory.length, 0);
	cr_assert_eq(take(&memory, KFI_KVEC, NULL, 0), 0);
	free_pages((unsigned long)a, 2);
}

Test(kfi_memory, parts_of_pages_and_of_compound_pages)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, 2);
	struct bio_vec vec[2];
	struct kemu_memory memory;

	bvec_set_page(&vec[0], page, 2 * PAGE_SIZE, 100);
	bvec_set_page(&vec[1], page + 1, 10, 3 * PAGE_SIZE - 10); /* an offset past the page, as the block goes on */
	cr_assert_eq(take(&memory, KFI_BVEC, vec, 2), 0);
	cr_assert_eq(memory.count, 2);
	cr_assert_eq(memory.run[0].iov_base, (char *)page_address(page) + 100);
	cr_assert_eq(memory.run[0].iov_len, 2 * PAGE_SIZE);
	cr_assert_eq(memory.run[1].iov_base, (char *)page_address(page) + 4 * PAGE_SIZE - 10);
	__free_pages(page, 2);
}

Test(kfi_memory, a_chained_scatterlist_is_followed)
{
	struct kemu_memory memory;
	struct scatterlist *sg;
	struct sg_table table;
	struct page *page = alloc_pages(GFP_KERNEL, 9);
	unsigned int i;

	cr_assert_eq(sg_alloc_table(&table, 200, GFP_KERNEL), 0);
	for_each_sgtable_sg(&table, sg, i)
		sg_set_page(sg, page + i, PAGE_SIZE, 0);
	cr_assert_eq(dma_map_sgtable(NULL, &table, DMA_BIDIRECTIONAL, 0), 0);
	cr_assert_eq(take(&memory, KFI_SGL, table.sgl, 200), 0);
	cr_assert_eq(memory.count, 1);
	cr_assert_eq(memory.length, 200 * PAGE_SIZE);
	refuse(KFI_SGL, table.sgl, 201, "the scatterlist ends after 200 entries");
	dma_unmap_sgtable(NULL, &table, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&table);
	__free_pages(page, 9);
}

/* The first begins within its page, and the last ends within its own. */
Test(kfi_memory, many_pages_are_side_by_side_in_a_window)
{
	struct kemu_memory memory;
	struct bio_vec vec[MANY];
	size_t at = 0;

	for (size_t i = 0; i < MANY; i++)
		bvec_set_page(&vec[i], page_alone(), PAGE_SIZE, 0);
	bvec_set_page(&vec[0], vec[0].bv_page, PAGE_SIZE - 300, 300);
	vec[MANY - 1].bv_len = 77;
	cr_assert_eq(take(&memory, KFI_BVEC, vec, MANY), 0);
	cr_assert_eq(memory.count, 1);
	cr_assert(memory.window);
	cr_assert_eq(memory.length, (MANY - 1) * PAGE_SIZE - 300 + 77);
	cr_assert_eq(memory.run[0].iov_len, memory.length);
	for (size_t i = 0; i < MANY; at += vec[i++].bv_len) {
		char *seen = (char *)memory.run[0].iov_base + at;

		*(char *)bvec_virt(&vec[i]) = (char)i;
		cr_assert_eq(*seen, (char)i);
		seen[vec[i].bv_len - 1] = (char)(i + 1);
		cr_assert_eq(((char *)bvec_virt(&vec[i]))[vec[i].bv_len - 1], (char)(i + 1));
	}
	kemu_window_free(memory.window);
	for (size_t i = 0; i < MANY; i++)
		__free_pages(vec[i].bv_page, 1);
}

/* A head and a tail of kmalloc() around pages, two of which end or begin within: four runs. */
Test(kfi_memory, a_window_is_only_over_what_joins)
{
	char *head = kmalloc(32, GFP_KERNEL), *tail = kmalloc(32, GFP_KERNEL), *pages[12];
	struct kemu_memory memory;
	struct kvec iov[14];

	iov[0] = (struct kvec){ head, 32 };
	for (size_t i = 0; i < 12; i++) {
		pages[i] = page_address(page_alone());
		iov[i + 1] = (struct kvec){ pages[i], PAGE_SIZE };
	}
	iov[6].iov_len = 100;
	iov[13] = (struct kvec){ tail, 32 };
	cr_assert_eq(take(&memory, KFI_KVEC, iov, 14), 0);
	cr_assert_eq(memory.count, 4);
	cr_assert_eq(memory.run[0].iov_base, head);
	cr_assert_eq(memory.run[1].iov_len, 5 * PAGE_SIZE + 100);
	cr_assert_eq(memory.run[2].iov_len, 6 * PAGE_SIZE);
	cr_assert_eq(memory.run[3].iov_base, tail);
	((char *)memory.run[2].iov_base)[PAGE_SIZE] = 'x';
	cr_assert_eq(pages[7][0], 'x');
	kemu_window_free(memory.window);
	for (size_t i = 0; i < 12; i++)
		free_pages((unsigned long)pages[i], 1);
	kfree(head);
	kfree(tail);
}

Test(kfi_memory, what_fits_no_window_is_refused)
{
	struct bio_vec vec[9];
	struct kvec iov[9];

	for (size_t i = 0; i < 9; i++) {
		bvec_set_page(&vec[i], page_alone(), PAGE_SIZE / 2, 0);
		iov[i] = (struct kvec){ kmalloc(64, GFP_KERNEL), 64 };
	}
	refuse(KFI_BVEC, vec, 9, "9 separate buffers. The NIC takes 8");
	refuse(KFI_KVEC, iov, 9, "let each end, and the next begin, at a page's border");
	for (size_t i = 0; i < 9; i++) {
		__free_pages(vec[i].bv_page, 1);
		kfree(iov[i].iov_base);
	}
}

Test(kfi_memory, what_no_vector_is)
{
	struct kvec two[2] = { { (void *)1, SIZE_MAX }, { (void *)8, 1 } };
	static struct kvec many[KEMU_VECTOR_MAX + 1];

	refuse((enum kfi_iov_type)0, two, 1, "none of KFI_KVEC, KFI_BVEC and KFI_SGL (S21)");
	refuse((enum kfi_iov_type)99, two, 1, "type is 99");
	refuse(KFI_KVEC, NULL, 1, "the vector is NULL");
	refuse(KFI_KVEC, many, KEMU_VECTOR_MAX + 1, "257 entries, and a vector has 256 at most");
	refuse(KFI_KVEC, two, 2, "longer than the address space");
}

Test(kfi_memory, pages_that_are_not_there)
{
	struct bio_vec vec = { .bv_page = NULL, .bv_len = 1 };
	struct scatterlist sg;
	struct page *page = alloc_page(GFP_KERNEL);

	refuse(KFI_BVEC, &vec, 1, "has no page (S19)");
	sg_init_table(&sg, 1);
	sg_set_page(&sg, page, PAGE_SIZE, 0);
	refuse(KFI_SGL, &sg, 1, "not mapped for the device (S20). Call dma_map_sgtable() first");
	cr_assert_eq(dma_map_sg(NULL, &sg, 1, DMA_TO_DEVICE), 1);
	bvec_set_page(&vec, page, PAGE_SIZE, 1);
	refuse(KFI_BVEC, &vec, 1, "the length goes past the end");
	bvec_set_page(&vec, page, PAGE_SIZE, 0);
	__free_page(page);
	refuse(KFI_BVEC, &vec, 1, "one of them is freed");
	refuse(KFI_SGL, &sg, 1, "one of them is freed");
}
