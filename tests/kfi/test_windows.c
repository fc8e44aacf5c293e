/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions and operations over more buffers than the NIC takes: windows, and their end. */
#include <linux/bvec.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <stdio.h>
#include <string.h>

#include "tests/kfi/kpair.h"

enum { PAGES = 100, HEAD = 300, TAIL = 77, LENGTH = (PAGES - 1) * PAGE_SIZE - HEAD + TAIL };

/* Pages that do not touch, in three forms. The first begins within, and the last ends within. */
struct scattered {
	struct bio_vec bvec[PAGES];
	struct kvec kvec[PAGES];
	struct sg_table table;
};

static void scatter(struct scattered *pages)
{
	struct scatterlist *sg;
	unsigned int i;

	RC(0, sg_alloc_table(&pages->table, PAGES, GFP_KERNEL));
	for_each_sgtable_sg(&pages->table, sg, i) {
		struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO, 1);
		unsigned int from = i ? 0 : HEAD, length = i == PAGES - 1 ? TAIL : PAGE_SIZE - from;

		bvec_set_page(&pages->bvec[i], page, length, from);
		pages->kvec[i] = (struct kvec){ (char *)page_address(page) + from, length };
		sg_set_page(sg, page, length, from);
	}
	RC(0, dma_map_sgtable(NULL, &pages->table, DMA_BIDIRECTIONAL, 0));
}

static void gather(struct scattered *pages)
{
	dma_unmap_sgtable(NULL, &pages->table, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&pages->table);
	for (int i = 0; i < PAGES; i++)
		__free_pages(pages->bvec[i].bv_page, 1);
}

static uint8_t pattern(size_t at, uint8_t seed)
{
	return (uint8_t)(at * 7 + at / 251 + seed);
}

static void fill(const struct scattered *pages, uint8_t seed)
{
	size_t at = 0;

	for (int i = 0; i < PAGES; i++)
		for (size_t j = 0; j < pages->kvec[i].iov_len; j++)
			((uint8_t *)pages->kvec[i].iov_base)[j] = pattern(at++, seed);
}

static void check(const struct scattered *pages, uint8_t seed)
{
	size_t at = 0;

	for (int i = 0; i < PAGES; i++)
		for (size_t j = 0; j < pages->kvec[i].iov_len; j++, at++)
			cr_assert_eq(((uint8_t *)pages->kvec[i].iov_base)[j], pattern(at, seed), "byte %zu", at);
	cr_assert_eq(((uint8_t *)pages->kvec[0].iov_base)[-1], 0, "the byte before was written");
	cr_assert_eq(((uint8_t *)pages->kvec[PAGES - 1].iov_base)[TAIL], 0, "the byte behind was written");
}

/* Mappings of pages of the stand-ins: those of windows are among them. */
static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "emu_kernel_pages") != NULL;
	fclose(maps);
	return count;
}

static struct kfid_mr *region(const struct kend *end, const struct scattered *pages, int form)
{
	uint64_t access = KPAIR_REMOTE | KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE, key = kpair_key();
	struct kfid_mr *mr;

	if (form == 0)
		RC(0, kfi_mr_regv(end->domain, pages->kvec, PAGES, access, 0, key, 0, &mr, NULL));
	else if (form == 1)
		RC(0, kfi_mr_regbv(end->domain, pages->bvec, PAGES, access, 0, key, 0, &mr, NULL));
	else
		RC(0, kfi_mr_regsgl(end->domain, pages->table.sgl, PAGES, access, 0, key, 0, &mr, NULL));
	kend_enable(end, mr);
	return mr;
}

static void write_and_read(const struct kpair_wish *wish)
{
	struct scattered target, own;
	struct kpair pair;

	kpair_open(&pair, wish);
	scatter(&target);
	scatter(&own);
	for (int form = 0; form < 3; form++) {
		int before = mappings();
		struct kfid_mr *mr = region(&pair.b, &target, form);
		const struct kend *a = &pair.a;

		cr_assert_gt(mappings(), before);
		fill(&own, (uint8_t)form);
		RC(0, kfi_writesgl(a->tx, own.table.sgl, NULL, PAGES, a->peer, mr->iova, mr->key, &own));
		kend_done(a, &own);
		check(&target, (uint8_t)form);
		fill(&target, (uint8_t)(form + 10));
		RC(0, kfi_readbv(a->tx, own.bvec, NULL, PAGES, a->peer, mr->iova, mr->key, &target));
		kend_done(a, &target);
		check(&own, (uint8_t)(form + 10));
		RC(0, kfi_writev(a->tx, own.kvec, NULL, PAGES, a->peer, mr->iova + 1, mr->key, &pair));
		cr_assert_eq(kend_next(a).err, KFI_EACCES, "a byte past the end");
		check(&target, (uint8_t)(form + 10));
		RC(0, kfi_close(&mr->fid));
		cr_assert_eq(mappings(), before, "a window is left");
	}
	gather(&own);
	gather(&target);
	kpair_close(&pair);
}

Test(kfi_windows, a_hundred_pages_are_written_and_read)
{
	write_and_read(&(struct kpair_wish){ .mr_mode = 0 });
}

Test(kfi_windows, a_hundred_pages_by_virtual_address)
{
	write_and_read(&(struct kpair_wish){ .mr_mode = KFI_MR_VIRT_ADDR | KFI_MR_PROV_KEY });
}

Test(kfi_windows, a_hundred_pages_of_kcxi)
{
	write_and_read(&(struct kpair_wish){ .personality = "kcxi" });
}

Test(kfi_windows, messages_of_a_hundred_pages)
{
	struct kpair_wish wish = { 0 };
	struct kfi_cq_tagged_entry done;
	struct scattered from, to;
	struct kpair pair;
	int before;

	kpair_open(&pair, &wish);
	scatter(&from);
	scatter(&to);
	before = mappings();
	fill(&from, 3);
	RC(0, kfi_recvsgl(pair.b.rx, to.table.sgl, NULL, PAGES, KFI_ADDR_UNSPEC, &to));
	RC(0, kfi_sendbv(pair.a.tx, from.bvec, NULL, PAGES, pair.a.peer, &from));
	kend_done(&pair.a, &from);
	cr_assert_eq(kend_done(&pair.b, &to).len, LENGTH);
	check(&to, 3);
	fill(&from, 4);
	RC(0, kfi_trecvv(pair.b.rx, to.kvec, NULL, PAGES, KFI_ADDR_UNSPEC, 5, 0, &to));
	RC(0, kfi_tsendsgl(pair.a.tx, from.table.sgl, NULL, PAGES, pair.a.peer, 5, &from));
	kend_done(&pair.a, &from);
	done = kend_done(&pair.b, &to);
	cr_assert_eq(done.tag, 5);
	cr_expect_null(done.buf, "an address of the second mapping");
	check(&to, 4);
	cr_assert_eq(mappings(), before, "a window is left");
	gather(&from);
	gather(&to);
	kpair_close(&pair);
}

/* Without KFI_COMPLETION there is a completion for a failure alone, and the windows end all the same. */
Test(kfi_windows, silent_operations)
{
	struct kpair_wish wish = { .selective = true };
	struct kfi_rma_iov range = { .len = LENGTH };
	struct scattered own, target;
	struct kpair_completion failed;
	struct kfi_msg_rma msg;
	struct kfid_mr *mr;
	struct kpair pair;
	int before;

	kpair_open(&pair, &wish);
	scatter(&target);
	scatter(&own);
	mr = region(&pair.b, &target, 1);
	before = mappings();
	fill(&own, 9);
	RC(0, kfi_writebv(pair.a.tx, own.bvec, NULL, PAGES, pair.a.peer, 0, mr->key, &own));
	range.key = mr->key;
	msg = (struct kfi_msg_rma){ .type = KFI_BVEC,
				    .msg_biov = own.bvec,
				    .iov_count = PAGES,
				    .addr = pair.a.peer,
				    .rma_iov = &range,
				    .rma_iov_count = 1,
				    .context = &msg };
	RC(0, kfi_writemsg(pair.a.tx, &msg, KFI_COMPLETION));
	kend_done(&pair.a, &msg); /* and none of the first */
	check(&target, 9);
	RC(0, kfi_writebv(pair.a.tx, own.bvec, NULL, PAGES, pair.a.peer, 1, mr->key, &own));
	failed = kend_next(&pair.a);
	cr_assert_eq(failed.err, KFI_EACCES);
	cr_assert_eq(failed.entry.op_context, &own);
	kend_silent(&pair.a);
	cr_assert_eq(mappings(), before, "a window is left");
	RC(0, kfi_close(&mr->fid));
	gather(&own);
	gather(&target);
	kpair_close(&pair);
}

Test(kfi_windows, a_receive_is_cancelled_by_the_clients_context)
{
	struct kpair_wish wish = { 0 };
	struct kpair_completion gone;
	struct scattered to;
	struct kpair pair;
	int before;

	kpair_open(&pair, &wish);
	scatter(&to);
	before = mappings();
	RC(0, kfi_trecvbv(pair.b.rx, to.bvec, NULL, PAGES, KFI_ADDR_UNSPEC, 5, 0, &to));
	RC(0, kfi_cancel(&pair.b.rx->fid, &to));
	gone = kend_next(&pair.b);
	cr_assert_eq(gone.err, KFI_ECANCELED);
	cr_assert_eq(gone.entry.op_context, &to);
	RC(-KFI_ENOENT, kfi_cancel(&pair.b.rx->fid, &to));
	cr_assert_eq(mappings(), before, "a window is left");
	gather(&to);
	kpair_close(&pair);
}

/* A descriptor of a region in a window goes with the client's own addresses. */
Test(kfi_windows, descriptors_of_regions_in_windows)
{
	struct kpair_wish wish = { .mr_mode = KFI_MR_LOCAL };
	void *desc[PAGES];
	struct scattered own, target;
	struct kfid_mr *local, *mr;
	struct kpair pair;
	char *end;

	kpair_open(&pair, &wish);
	scatter(&target);
	scatter(&own);
	local = region(&pair.a, &own, 1);
	mr = region(&pair.b, &target, 2);
	for (int i = 0; i < PAGES; i++)
		desc[i] = kfi_mr_desc(local);
	cr_assert(desc[0]);
	fill(&own, 21);
	RC(0, kfi_writebv(pair.a.tx, own.bvec, desc, PAGES, pair.a.peer, 0, mr->key, &own));
	kend_done(&pair.a, &own);
	check(&target, 21);
	memset(own.kvec[40].iov_base, 1, 10);
	RC(0, kfi_write(pair.a.tx, own.kvec[40].iov_base, 10, desc[0], pair.a.peer, 0, mr->key, &own));
	kend_done(&pair.a, &own);
	cr_assert_eq(*(char *)target.kvec[0].iov_base, 1);
	end = (char *)own.kvec[40].iov_base + PAGE_SIZE;
	RC(-KFI_EINVAL, kfi_write(pair.a.tx, end - 1, 2, desc[0], pair.a.peer, 0, mr->key, NULL));
	RC(-KFI_EINVAL, kfi_write(pair.a.tx, &wish, 2, desc[0], pair.a.peer, 0, mr->key, NULL));
	RC(-KFI_EINVAL, kfi_writebv(pair.a.tx, own.bvec, NULL, PAGES, pair.a.peer, 0, mr->key, NULL));
	RC(0, kfi_close(&local->fid));
	RC(-KFI_EINVAL, kfi_write(pair.a.tx, own.kvec[40].iov_base, 10, desc[0], pair.a.peer, 0, mr->key, NULL));
	RC(0, kfi_close(&mr->fid));
	gather(&own);
	gather(&target);
	kpair_close(&pair);
}
