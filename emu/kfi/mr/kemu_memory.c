/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_memory.c - reads the vectors of kernel clients. */
#include "emu/kfi/mr/kemu_memory.h"

#include <emu_pages.h>
#include <kfi_errno.h>
#include <linux/bvec.h>
#include <linux/scatterlist.h>
#include <linux/uio.h>
#include <string.h>

#include "emu/kfi/provider/kemu_refuse.h"

/* Runs as they are gathered: buffers that touch are one already. */
struct gathered {
	const struct kemu_vector *vector;
	struct iovec run[KEMU_VECTOR_MAX];
	void *desc[KEMU_VECTOR_MAX];
	size_t count, length;
};

static int gather_buffer(struct gathered *all, size_t i, struct iovec buffer)
{
	const struct kemu_vector *vector = all->vector;
	struct iovec *last = all->count ? &all->run[all->count - 1] : NULL;
	void *desc = vector->desc ? vector->desc[i] : NULL;

	if (!buffer.iov_len)
		return 0;
	if (buffer.iov_len > SIZE_MAX - all->length)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: the buffers together are longer than the address space.", vector->call);
	all->length += buffer.iov_len;
	if (desc)
		kemu_desc_translate(vector->domain, desc, &buffer);
	if (vector->within)
		kemu_window_translate(vector->within, &buffer);
	if (last && (char *)last->iov_base + last->iov_len == buffer.iov_base && all->desc[all->count - 1] == desc) {
		last->iov_len += buffer.iov_len;
		return 0;
	}
	all->desc[all->count] = desc;
	all->run[all->count++] = buffer;
	return 0;
}

static int gather_kvec(struct gathered *all)
{
	const struct kvec *entry = all->vector->entries;
	int err = 0;

	for (size_t i = 0; i < all->vector->count && !err; i++)
		err = gather_buffer(all, i, (struct iovec){ entry[i].iov_base, entry[i].iov_len });
	return err;
}

/* Part of a page, or of the compound page that it begins. */
static int gather_pages(struct gathered *all, size_t i, struct iovec buffer)
{
	if (!buffer.iov_len || emu_pages_live(buffer.iov_base, buffer.iov_len))
		return gather_buffer(all, i, buffer);
	return KEMU_REFUSE(-KFI_EINVAL,
			   "%s: entry %zu, %zu B at %p, is not all in pages of alloc_pages(), vmalloc() or kmalloc(): one of them "
			   "is freed, or the length goes past the end. Keep the pages until the operation or region has ended.",
			   all->vector->call, i, buffer.iov_len, buffer.iov_base);
}

static int gather_bvec(struct gathered *all)
{
	const struct bio_vec *entry = all->vector->entries;
	int err = 0;

	for (size_t i = 0; i < all->vector->count && !err; i++) {
		if (!entry[i].bv_page && entry[i].bv_len)
			err = KEMU_REFUSE(-KFI_EINVAL, "%s: entry %zu of the bio_vec has no page (S19).", all->vector->call, i);
		else if (entry[i].bv_page)
			err = gather_pages(all, i, (struct iovec){ bvec_virt(&entry[i]), entry[i].bv_len });
	}
	return err;
}

static int gather_sgl(struct gathered *all)
{
	struct scatterlist *entry = (struct scatterlist *)(uintptr_t)all->vector->entries;
	int err = 0;

	for (size_t i = 0; i < all->vector->count && !err; i++, entry = sg_next(entry)) {
		if (!entry)
			return KEMU_REFUSE(-KFI_EINVAL, "%s: count is %zu, and the scatterlist ends after %zu entries.",
					   all->vector->call, all->vector->count, i);
		if (!emu_sg_is_mapped(entry))
			return KEMU_REFUSE(-KFI_EINVAL,
					   "%s: entry %zu of the scatterlist is not mapped for the device (S20). Call "
					   "dma_map_sgtable() first, and dma_unmap_sgtable() after the operation or region.",
					   all->vector->call, i);
		err = gather_pages(all, i, (struct iovec){ (void *)(uintptr_t)sg_dma_address(entry), sg_dma_len(entry) });
	}
	return err;
}

static int gather_vector(struct gathered *all)
{
	const struct kemu_vector *vector = all->vector;

	if (vector->type < KFI_KVEC || vector->type > KFI_SGL)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: type is %d, which is none of KFI_KVEC, KFI_BVEC and KFI_SGL (S21).",
				   vector->call, (int)vector->type);
	if (vector->count && !vector->entries)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: the vector is NULL, and its count is %zu.", vector->call, vector->count);
	if (vector->count > KEMU_VECTOR_MAX)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: %zu entries, and a vector has %d at most (mr_iov_limit, iov_limit).",
				   vector->call, vector->count, KEMU_VECTOR_MAX);
	switch (vector->type) {
	case KFI_KVEC:
		return gather_kvec(all);
	case KFI_BVEC:
		return gather_bvec(all);
	default:
		return gather_sgl(all);
	}
}

/* No second window over bytes of a region: the device looks for them where it knows them. */
static int fit_runs(struct kemu_memory *memory, const struct gathered *all)
{
	const char *call = all->vector->call;
	int err;

	if (all->vector->desc || all->vector->within)
		return KEMU_REFUSE(-KFI_EINVAL,
				   "%s: %zu buffers that are not side by side in their region. The NIC takes %d of these. Register "
				   "them as one region in this order, or name them in parts.",
				   call, all->count, KEMU_RUNS);
	err = kemu_window_open(memory, all->run, all->count);
	if (err == -KFI_EINVAL)
		return KEMU_REFUSE(
			err,
			"%s: %zu separate buffers. The NIC takes %d, or more of alloc_pages() and vmalloc() with whole "
			"pages between the first and the last byte: let each end, and the next begin, at a page's border.",
			call, all->count, KEMU_RUNS);
	return err ? KEMU_REFUSE(err, "%s: no memory for a window over %zu buffers.", call, all->count) : 0;
}

int kemu_memory_take(struct kemu_memory *memory, const struct kemu_vector *vector)
{
	struct gathered all;
	int err;

	all.vector = vector;
	all.count = all.length = 0;
	err = gather_vector(&all);
	if (err)
		return err;
	memory->window = NULL;
	memory->length = all.length;
	if (all.count > KEMU_RUNS)
		return fit_runs(memory, &all);
	memory->count = all.count;
	memcpy(memory->run, all.run, all.count * sizeof(*all.run));
	memcpy(memory->desc, all.desc, all.count * sizeof(*all.desc));
	return 0;
}
