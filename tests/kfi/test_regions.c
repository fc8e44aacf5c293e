/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of kernel memory: bounds and rights over scattered buffers, binding, enabling, closing, raw keys; both personalities.
 * What the rules of kfi_mr(3) say is tested by tests/rules/kernel. */
#include <linux/bvec.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <string.h>

#include "tests/kernel/said.h"
#include "tests/kfi/kpair.h"

enum { PARTS = 3 };

static const struct kpair_wish plain = { 0 }, by_endpoint = { .mr_mode = KFI_MR_ENDPOINT }, cxi = { .personality = "kcxi" };

/* Three parts of a compound page, of 100, 200 and 300 bytes. */
struct parts {
	struct page *page;
	char *at;
	struct kvec kvec[PARTS];
	struct bio_vec bvec[PARTS];
	struct sg_table table;
};

static void parts_make(struct parts *parts)
{
	struct scatterlist *sg;
	unsigned int i;

	parts->page = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO, 2);
	parts->at = page_address(parts->page);
	RC(0, sg_alloc_table(&parts->table, PARTS, GFP_KERNEL));
	for_each_sgtable_sg(&parts->table, sg, i) {
		bvec_set_page(&parts->bvec[i], parts->page, 100 * (i + 1), PAGE_SIZE * (i + 1) - 50);
		parts->kvec[i] = (struct kvec){ bvec_virt(&parts->bvec[i]), parts->bvec[i].bv_len };
		sg_set_page(sg, parts->page, parts->bvec[i].bv_len, parts->bvec[i].bv_offset);
	}
	RC(0, dma_map_sgtable(NULL, &parts->table, DMA_BIDIRECTIONAL, 0));
}

static void parts_free(struct parts *parts)
{
	dma_unmap_sgtable(NULL, &parts->table, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&parts->table);
	__free_pages(parts->page, 2);
}

static struct kfid_mr *parts_region(const struct kend *end, const struct parts *parts, int form, uint64_t access)
{
	uint64_t key = kpair_key();
	struct kfid_mr *mr;

	if (form == 0)
		RC(0, kfi_mr_regv(end->domain, parts->kvec, PARTS, access, 0, key, 0, &mr, NULL));
	else if (form == 1)
		RC(0, kfi_mr_regbv(end->domain, parts->bvec, PARTS, access, 0, key, 0, &mr, NULL));
	else
		RC(0, kfi_mr_regsgl(end->domain, parts->table.sgl, PARTS, access, 0, key, 0, &mr, NULL));
	kend_enable(end, mr);
	return mr;
}

/* The error of a write of so many bytes of 1 at this offset. */
static int write_to(const struct kend *end, const struct kfid_mr *mr, uint64_t offset, size_t length)
{
	static char ones[1000];

	memset(ones, 1, sizeof(ones));
	RC(0, kfi_write(end->tx, ones, length, NULL, end->peer, mr->iova + offset, mr->key, ones));
	return kend_next(end).err;
}

static int read_from(const struct kend *end, const struct kfid_mr *mr, uint64_t offset, size_t length)
{
	static char into[1000];

	RC(0, kfi_read(end->tx, into, length, NULL, end->peer, mr->iova + offset, mr->key, into));
	return kend_next(end).err;
}

static void bounds_of_each_form(const struct kpair_wish *wish)
{
	struct parts parts;
	struct kpair pair;

	kpair_open(&pair, wish);
	for (int form = 0; form < 3; form++) {
		struct kfid_mr *mr;

		parts_make(&parts);
		mr = parts_region(&pair.b, &parts, form, KPAIR_REMOTE);
		RC(0, write_to(&pair.a, mr, 99, 202)); /* the last byte of the first to the first of the last */
		cr_assert_eq(((char *)parts.kvec[0].iov_base)[98], 0);
		cr_assert_eq(((char *)parts.kvec[0].iov_base)[99], 1);
		cr_assert_eq(((char *)parts.kvec[0].iov_base)[100], 0, "a byte between the parts");
		cr_assert_eq(((char *)parts.kvec[1].iov_base)[-1], 0);
		cr_assert_eq(((char *)parts.kvec[1].iov_base)[0], 1);
		cr_assert_eq(((char *)parts.kvec[2].iov_base)[0], 1);
		cr_assert_eq(((char *)parts.kvec[2].iov_base)[1], 0);
		RC(0, write_to(&pair.a, mr, 0, 600));
		RC(0, read_from(&pair.a, mr, 599, 1));
		RC(KFI_EACCES, write_to(&pair.a, mr, 1, 600));
		RC(KFI_EACCES, read_from(&pair.a, mr, 600, 1));
		RC(0, kfi_close(&mr->fid));
		parts_free(&parts);
	}
	kpair_close(&pair);
}

Test(kfi_regions, bounds_of_each_form)
{
	bounds_of_each_form(&plain);
}

Test(kfi_regions, bounds_of_each_form_of_kcxi)
{
	bounds_of_each_form(&cxi);
}

Test(kfi_regions, rights_of_each_form)
{
	struct parts parts;
	struct kpair pair;

	kpair_open(&pair, &plain);
	parts_make(&parts);
	for (int form = 0; form < 3; form++) {
		struct kfid_mr *mr = parts_region(&pair.b, &parts, form, KFI_REMOTE_READ);

		RC(KFI_EACCES, write_to(&pair.a, mr, 0, 8));
		RC(0, read_from(&pair.a, mr, 0, 8));
		RC(0, kfi_close(&mr->fid));
		mr = parts_region(&pair.b, &parts, form, KFI_REMOTE_WRITE);
		RC(KFI_EACCES, read_from(&pair.a, mr, 0, 8));
		RC(0, kfi_close(&mr->fid));
		mr = parts_region(&pair.b, &parts, form, KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE);
		RC(KFI_EACCES, write_to(&pair.a, mr, 0, 8));
		RC(KFI_EACCES, read_from(&pair.a, mr, 0, 8));
		RC(0, kfi_close(&mr->fid));
	}
	parts_free(&parts);
	kpair_close(&pair);
}

/* Under KFI_MR_VIRT_ADDR each part has its own address, and the bytes between them are out of bounds (S64). */
Test(kfi_regions, parts_by_virtual_address)
{
	struct kpair_wish wish = { .mr_mode = KFI_MR_VIRT_ADDR };
	struct parts parts;
	struct kfid_mr *mr;
	struct kpair pair;

	kpair_open(&pair, &wish);
	parts_make(&parts);
	mr = parts_region(&pair.b, &parts, 1, KPAIR_REMOTE);
	cr_assert_eq(mr->iova, (uintptr_t)parts.kvec[0].iov_base);
	RC(0, write_to(&pair.a, mr, (char *)parts.kvec[2].iov_base - (char *)parts.kvec[0].iov_base, 300));
	RC(KFI_EACCES, write_to(&pair.a, mr, 100, 1));
	RC(0, kfi_close(&mr->fid));
	parts_free(&parts);
	kpair_close(&pair);
}

/* --- refused in words --- */

struct ask {
	struct kfid_domain *domain;
	uint64_t access, offset, key, flags;
};

static void refuse(const struct ask *ask, int rc, const char *words)
{
	static char byte;
	struct kfid_mr before, *mr = &before;

	said_begin();
	RC(rc, kfi_mr_reg(ask->domain, &byte, 1, ask->access, ask->offset, ask->key, ask->flags, &mr, NULL));
	cr_assert(strstr(said(), "kfi_mr_reg: ") && strstr(said(), words), "%s in place of: %s", said(), words);
	cr_assert_eq(mr, &before, "*mr was changed (S13)");
}

Test(kfi_regions, what_a_registration_may_not_say)
{
	struct kfid_mr *mr;
	struct kpair pair;
	char byte;

	kpair_open(&pair, &plain);
	refuse(&(struct ask){ pair.a.domain, KPAIR_REMOTE, 1, 1, 0 }, -KFI_EINVAL,
	       "offset is 1. It is reserved and must be 0 (S4)");
	refuse(&(struct ask){ pair.a.domain, KFI_TAGGED, 0, 1, 0 }, -KFI_EINVAL, "none of the six rights (S22)");
	refuse(&(struct ask){ pair.a.domain, KPAIR_REMOTE, 0, 1, 1ULL << 40 | KFI_RMA_EVENT }, -KFI_EBADFLAGS,
	       "the flags 0x10000000000 (bit 40) mean nothing here, or need a capability that was not asked for. Leave them out "
	       "(S5)");
	said_begin();
	RC(-KFI_EINVAL, kfi_mr_reg(pair.a.domain, &byte, 1, KPAIR_REMOTE, 0, 1, 0, NULL, NULL));
	cr_assert(strstr(said(), "kfi_mr_reg: mr is NULL"));
	RC(-KFI_EINVAL, kfi_mr_regattr(pair.a.domain, NULL, 0, &mr));
	cr_assert(strstr(said(), "kfi_mr_regattr: attr is NULL"));
	RC(-KFI_EINVAL, kfi_mr_regv(pair.a.domain, NULL, 0, KPAIR_REMOTE, 0, 1, 0, &mr, NULL));
	cr_assert(strstr(said(), "kfi_mr_regv: the count of buffers is 0 (S11)"));
	kpair_close(&pair);
}

Test(kfi_regions, what_kcxi_does_not_take)
{
	struct kfi_mr_attr attr = { .type = KFI_KVEC };
	uint64_t key = 0, base;
	uint8_t raw[16];
	size_t size = sizeof(raw);
	struct kpair pair;
	struct kfid_mr *mr;
	char byte;

	kpair_open(&pair, &cxi);
	refuse(&(struct ask){ pair.a.domain, KPAIR_REMOTE, 0, 1, 1 }, -KFI_EBADFLAGS,
	       "the flags 0x1 (bit 0) mean nothing here, or need a capability that was not asked for. Leave them out (S5)");
	refuse(&(struct ask){ pair.a.domain, KFI_SEND, 0, 1, 0 }, -KFI_EINVAL, "neither KFI_REMOTE_READ nor KFI_REMOTE_WRITE");
	refuse(&(struct ask){ pair.a.domain, 0, 0, 1, 0 }, -KFI_EINVAL, "neither KFI_REMOTE_READ nor KFI_REMOTE_WRITE");
	refuse(&(struct ask){ pair.a.domain, KPAIR_REMOTE, 0, 1ULL << 52, 0 }, -KFI_EKEYREJECTED,
	       "key 0x10000000000000 is more than");
	RC(-KFI_ENOSYS, kfi_mr_regattr(pair.a.domain, &attr, 0, &mr));
	RC(0, kfi_mr_reg(pair.a.domain, &byte, 1, KPAIR_REMOTE, 0, (1ULL << 52) - 1, 0, &mr, NULL));
	cr_assert_null(kfi_mr_desc(mr));
	RC(-KFI_EINVAL, kfi_mr_raw_attr(mr, &base, raw, &size, 0));
	RC(-KFI_EINVAL, kfi_mr_refresh(mr, NULL, 0, 0));
	RC(-KFI_ENOSYS, kfi_mr_map_raw(pair.a.domain, 0, raw, size, &key, 0));
	RC(-KFI_ENOSYS, kfi_mr_unmap_key(pair.a.domain, 1));
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}

Test(kfi_regions, an_unmapped_scatterlist)
{
	struct parts parts;
	struct kfid_mr *mr;
	struct kpair pair;

	kpair_open(&pair, &plain);
	parts_make(&parts);
	dma_unmap_sgtable(NULL, &parts.table, DMA_BIDIRECTIONAL, 0);
	said_begin();
	RC(-KFI_EINVAL, kfi_mr_regsgl(pair.a.domain, parts.table.sgl, PARTS, KPAIR_REMOTE, 0, 1, 0, &mr, NULL));
	cr_assert(strstr(said(), "kfi_mr_regsgl: entry 0 of the scatterlist is not mapped for the device (S20)"));
	RC(-KFI_EINVAL, kfi_sendsgl(pair.a.tx, parts.table.sgl, NULL, PARTS, pair.a.peer, NULL));
	cr_assert(strstr(said(), "kfi_sendsgl: entry 0"));
	RC(0, dma_map_sgtable(NULL, &parts.table, DMA_BIDIRECTIONAL, 0));
	parts_free(&parts);
	kpair_close(&pair);
}

/* --- bound and enabled --- */

Test(kfi_regions, a_region_of_an_endpoint)
{
	struct kpair pair;
	struct kfid_mr *mr;
	char bytes[8];

	kpair_open(&pair, &by_endpoint);
	RC(0, kfi_mr_reg(pair.b.domain, bytes, 8, KPAIR_REMOTE, 0, kpair_key(), 0, &mr, NULL));
	RC(KFI_EACCES, write_to(&pair.a, mr, 0, 8));
	RC(-KFI_EINVAL, kfi_mr_enable(mr));
	RC(-KFI_EINVAL, kfi_mr_bind(mr, NULL, 0));
	RC(-KFI_EINVAL, kfi_mr_bind(mr, &pair.b.av->fid, 0));
	RC(-KFI_EBADFLAGS, kfi_mr_bind(mr, &pair.b.rx->fid, KFI_REMOTE_WRITE));
	RC(-KFI_EBADFLAGS, kfi_mr_bind(mr, &pair.b.rx->fid, 1ULL << 40));
	RC(0, kfi_mr_bind(mr, &pair.b.rx->fid, 0));
	RC(0, kfi_mr_enable(mr));
	RC(-KFI_EOPBADSTATE, kfi_mr_enable(mr));
	RC(0, write_to(&pair.a, mr, 0, 8));
	RC(-KFI_EBUSY, kfi_close(&mr->fid));
	RC(-KFI_EINVAL, kfi_control(&mr->fid, KFI_ALIAS, NULL));
	RC(0, kfi_close(&pair.b.rx->fid));
	RC(0, kfi_close(&mr->fid));
	RC(0, kfi_endpoint(pair.b.domain, pair.b.info, &pair.b.tx, NULL)); /* for kpair_close() */
	pair.b.rx = pair.b.tx;
	kpair_close(&pair);
}

Test(kfi_regions, a_region_of_a_context_of_kcxi)
{
	struct kpair pair;
	struct kfid_mr *mr, *same;
	char bytes[8];

	kpair_open(&pair, &cxi);
	RC(0, kfi_mr_reg(pair.b.domain, bytes, 8, KPAIR_REMOTE, 0, 7, 0, &mr, NULL));
	RC(0, kfi_mr_reg(pair.b.domain, bytes, 8, KPAIR_REMOTE, 0, 7, 0, &same, NULL));
	cr_assert_eq(mr->key, 7);
	RC(-KFI_EINVAL, kfi_mr_bind(mr, NULL, 0));
	RC(-KFI_ENOSYS, kfi_mr_bind(mr, &pair.b.sep->fid, 0));
	RC(-KFI_ENOSYS, kfi_mr_bind(mr, &pair.b.tx->fid, 0));
	RC(-KFI_EBADFLAGS, kfi_mr_bind(mr, &pair.b.rx->fid, 1));
	RC(-KFI_EINVAL, kfi_mr_bind(mr, &pair.a.rx->fid, 0));
	RC(-KFI_EINVAL, kfi_mr_enable(mr));
	RC(0, kfi_mr_bind(mr, &pair.b.rx->fid, 0));
	RC(-KFI_EINVAL, kfi_mr_bind(mr, &pair.b.rx->fid, 0));
	RC(KFI_EACCES, write_to(&pair.a, mr, 0, 8));
	RC(0, kfi_mr_enable(mr));
	RC(-KFI_EOPBADSTATE, kfi_mr_enable(mr));
	RC(0, write_to(&pair.a, mr, 0, 8));
	RC(0, kfi_mr_bind(same, &pair.b.rx->fid, 0));
	RC(-KFI_ENOKEY, kfi_mr_enable(same));
	RC(-KFI_EBUSY, kfi_close(&pair.b.rx->fid));
	RC(0, kfi_close(&mr->fid));
	RC(0, kfi_mr_enable(same)); /* the key is free again */
	RC(0, write_to(&pair.a, same, 0, 8));
	RC(-KFI_EBUSY, kfi_close(&pair.b.rx->fid));
	RC(0, kfi_close(&same->fid));
	kpair_close(&pair);
}

/* Real clients rely on it, and HPE's own tests. */
Test(kfi_regions, kcxi_has_regions_of_nothing)
{
	struct kpair pair;
	struct kfid_mr *mr;
	char byte;

	kpair_open(&pair, &cxi);
	RC(0, kfi_mr_reg(pair.b.domain, &byte, 0, KPAIR_REMOTE, 0, 1, 0, &mr, NULL));
	kend_enable(&pair.b, mr);
	RC(0, write_to(&pair.a, mr, 0, 0));
	RC(KFI_EACCES, write_to(&pair.a, mr, 0, 1));
	RC(0, kfi_close(&mr->fid));
	RC(0, kfi_mr_regbv(pair.b.domain, NULL, 0, KPAIR_REMOTE, 0, 1, 0, &mr, NULL));
	kend_enable(&pair.b, mr);
	RC(KFI_EACCES, write_to(&pair.a, mr, 0, 1));
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}

/* --- asynchronous --- */

static void expect_event(const struct kend *end, const struct kfid_mr *mr, const void *context)
{
	struct kfi_eq_entry entry = { 0 };
	uint32_t event = 0;

	RC(sizeof(entry), kfi_eq_read(end->eq, &event, &entry, sizeof(entry), 0));
	cr_assert_eq(event, KFI_MR_COMPLETE);
	cr_assert_eq(entry.fid, &mr->fid);
	cr_assert_eq(entry.context, context);
	RC(-KFI_EAGAIN, kfi_eq_read(end->eq, &event, &entry, sizeof(entry), 0));
}

static void expect_no_event(const struct kend *end)
{
	struct kfi_eq_entry entry;
	uint32_t event;

	RC(-KFI_EAGAIN, kfi_eq_read(end->eq, &event, &entry, sizeof(entry), 0));
}

Test(kfi_regions, an_event_ends_the_registration)
{
	struct kpair_wish wish = { .async = true };
	struct kfid_mr *mr, *same;
	struct kpair pair;
	char bytes[8];

	kpair_open(&pair, &wish);
	RC(0, kfi_mr_reg(pair.b.domain, bytes, 8, KPAIR_REMOTE, 0, 5, 0, &mr, &wish));
	expect_event(&pair.b, mr, &wish);
	RC(-KFI_ENOKEY, kfi_mr_reg(pair.b.domain, bytes, 8, KPAIR_REMOTE, 0, 5, 0, &same, NULL));
	expect_no_event(&pair.b);
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}

/* Key and descriptor are there once the registration has completed (S174). */
Test(kfi_regions, an_event_ends_the_enabling)
{
	struct kpair_wish wish = { .async = true, .mr_mode = KFI_MR_ENDPOINT };
	struct kfid_mr *mr;
	struct kpair pair;
	char bytes[8];

	kpair_open(&pair, &wish);
	RC(0, kfi_mr_reg(pair.b.domain, bytes, 8, KPAIR_REMOTE, 0, 5, 0, &mr, &pair));
	RC(0, kfi_mr_bind(mr, &pair.b.rx->fid, 0));
	expect_no_event(&pair.b);
	cr_assert_eq(kfi_mr_key(mr), KFI_KEY_NOTAVAIL);
	cr_assert_null(kfi_mr_desc(mr));
	RC(0, kfi_mr_enable(mr));
	expect_event(&pair.b, mr, &pair);
	cr_assert_eq(kfi_mr_key(mr), 5);
	cr_assert(kfi_mr_desc(mr));
	RC(0, write_to(&pair.a, mr, 0, 8));
	RC(0, kfi_close(&pair.b.rx->fid));
	RC(0, kfi_close(&mr->fid));
	RC(0, kfi_endpoint(pair.b.domain, pair.b.info, &pair.b.tx, NULL));
	pair.b.rx = pair.b.tx;
	kpair_close(&pair);
}

/* As HPE's own test has it: a key that is taken is the result of the call, and makes no event. */
Test(kfi_regions, kcxi_tells_a_taken_key_at_once)
{
	struct kpair_wish wish = { .async = true, .personality = "kcxi" };
	struct kfid_mr *mr, *same;
	struct kpair pair;
	char bytes[8];

	kpair_open(&pair, &wish);
	RC(0, kfi_mr_reg(pair.b.domain, bytes, 8, KPAIR_REMOTE, 0, 5, 0, &mr, &wish));
	expect_no_event(&pair.b);
	RC(0, kfi_mr_bind(mr, &pair.b.rx->fid, 0));
	RC(0, kfi_mr_enable(mr));
	expect_event(&pair.b, mr, &wish);
	RC(0, kfi_mr_reg(pair.b.domain, bytes, 8, KPAIR_REMOTE, 0, 5, 0, &same, NULL));
	RC(0, kfi_mr_bind(same, &pair.b.rx->fid, 0));
	RC(-KFI_ENOKEY, kfi_mr_enable(same));
	expect_no_event(&pair.b);
	RC(0, kfi_close(&same->fid));
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}

/* --- raw keys --- */

Test(kfi_regions, raw_keys)
{
	struct kpair_wish wish = { .mr_mode = KFI_MR_RAW | KFI_MR_PROV_KEY | KFI_MR_VIRT_ADDR };
	uint64_t base = 0, key = 0;
	struct kfid_mr *mr;
	struct kpair pair;
	uint8_t raw[64];
	size_t size = 0;
	char bytes[8] = "";

	kpair_open(&pair, &wish);
	mr = kend_region(&pair.b, bytes, 8, KPAIR_REMOTE);
	RC(-KFI_ETOOSMALL, kfi_mr_raw_attr(mr, &base, raw, &size, 0));
	cr_assert(size > 0 && size <= sizeof(raw));
	RC(-KFI_EBADFLAGS, kfi_mr_raw_attr(mr, &base, raw, &size, 1ULL << 40));
	RC(0, kfi_mr_raw_attr(mr, &base, raw, &size, 0));
	cr_assert_eq(base, (uintptr_t)bytes);
	RC(-KFI_EBADFLAGS, kfi_mr_map_raw(pair.a.domain, base, raw, size, &key, 1ULL << 40));
	RC(0, kfi_mr_map_raw(pair.a.domain, base, raw, size, &key, 0));
	RC(0, kfi_write(pair.a.tx, "x", 1, NULL, pair.a.peer, base, key, NULL));
	RC(0, kend_next(&pair.a).err);
	cr_assert_eq(bytes[0], 'x');
	RC(0, kfi_mr_unmap_key(pair.a.domain, key));
	RC(-KFI_EINVAL, kfi_control(&pair.a.domain->fid, KFI_MAP_RAW_MR, NULL));
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}

Test(kfi_regions, a_refresh_of_no_type_is_of_kvecs)
{
	struct kfi_mr_modify wrong = { .attr = { .type = (enum kfi_iov_type)99, .iov_count = 1, .mr_iov = NULL } };
	char bytes[8];
	struct kvec iov = { bytes, 8 };
	struct kfid_mr *mr;
	struct kpair pair;

	kpair_open(&pair, &plain);
	mr = kend_region(&pair.b, bytes, 8, KPAIR_REMOTE);
	RC(0, kfi_mr_refresh(mr, &iov, 1, 0));
	RC(-KFI_EINVAL, kfi_mr_refresh(mr, &(struct kvec){ bytes, 9 }, 1, 0));
	RC(-KFI_EBADFLAGS, kfi_mr_refresh(mr, &iov, 1, 1ULL << 40));
	RC(-KFI_EINVAL, kfi_control(&mr->fid, KFI_REFRESH, &wrong));
	RC(-KFI_EINVAL, kfi_control(&mr->fid, KFI_REFRESH, NULL));
	RC(0, write_to(&pair.a, mr, 0, 8));
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}
