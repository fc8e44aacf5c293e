/* SPDX-License-Identifier: BSD-2-Clause */
/* scatterlist.h - scatter/gather lists, which know whether they are mapped for the device.
 * A table of more than SG_MAX_SINGLE_ALLOC entries is chained, as in the kernel: sg + 1 is not always sg_next(sg). */
#ifndef EMU_KERNEL_LINUX_SCATTERLIST_H
#define EMU_KERNEL_LINUX_SCATTERLIST_H

#include <linux/bug.h>
#include <linux/mm.h>
#include <linux/types.h>

enum emu_sg_flag { EMU_SG_END = 1, EMU_SG_CHAIN = 2, EMU_SG_MAPPED = 4 };

struct scatterlist {
	void *emu_link; /* the page, or the next list */
	unsigned int offset;
	unsigned int length;
	dma_addr_t dma_address;
	unsigned int dma_length;
	unsigned int emu_flags;
};

struct sg_table {
	struct scatterlist *sgl;
	unsigned int nents; /* mapped entries */
	unsigned int orig_nents;
};

#define SG_MAX_SINGLE_ALLOC 128

#define sg_dma_address(sg) ((sg)->dma_address)
#define sg_dma_len(sg) ((sg)->dma_length)

/* True from dma_map_sg() or dma_map_sgtable() to the unmapping: a front end asks before it hands the entry to the device. */
bool emu_sg_is_mapped(const struct scatterlist *sg);

void sg_init_table(struct scatterlist *sgl, unsigned int count);
void sg_init_one(struct scatterlist *sg, const void *buf, unsigned int len);
void sg_set_page(struct scatterlist *sg, struct page *page, unsigned int len, unsigned int offset);
void sg_set_buf(struct scatterlist *sg, const void *buf, unsigned int len); /* memory as for virt_to_page() */
void sg_mark_end(struct scatterlist *sg);
void sg_unmark_end(struct scatterlist *sg);
void sg_chain(struct scatterlist *list, unsigned int count, struct scatterlist *next); /* takes the last of `count` entries */

struct scatterlist *sg_next(struct scatterlist *sg); /* NULL behind the last */
struct scatterlist *sg_last(struct scatterlist *sgl, unsigned int count);
int sg_nents(struct scatterlist *sgl);

/* 0, -EINVAL for no entries, or -ENOMEM. */
int sg_alloc_table(struct sg_table *table, unsigned int count, gfp_t flags);
#define sg_alloc_table(table, count, flags) (EMU_KERNEL_ALLOCATES("sg_alloc_table", flags), sg_alloc_table(table, count, flags))
void sg_free_table(struct sg_table *table);

size_t sg_copy_from_buffer(struct scatterlist *sgl, unsigned int count, const void *buf, size_t len);
size_t sg_copy_to_buffer(struct scatterlist *sgl, unsigned int count, void *buf, size_t len);

static inline bool sg_is_last(const struct scatterlist *sg)
{
	return sg->emu_flags & EMU_SG_END;
}

static inline bool sg_is_chain(const struct scatterlist *sg)
{
	return sg->emu_flags & EMU_SG_CHAIN;
}

static inline struct page *sg_page(const struct scatterlist *sg)
{
	BUG_ON(sg_is_chain(sg));
	return (struct page *)sg->emu_link;
}

static inline void *sg_virt(const struct scatterlist *sg)
{
	return (char *)page_address(sg_page(sg)) + sg->offset;
}

#define for_each_sg(sgl, sg, count, i) for ((i) = 0, (sg) = (sgl); (i) < (count); (i)++, (sg) = sg_next(sg))
#define for_each_sgtable_sg(table, sg, i) for_each_sg((table)->sgl, sg, (table)->orig_nents, i)
#define for_each_sgtable_dma_sg(table, sg, i) for_each_sg((table)->sgl, sg, (table)->nents, i)

#endif
