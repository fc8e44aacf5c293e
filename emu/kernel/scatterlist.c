/* SPDX-License-Identifier: BSD-2-Clause */
/* scatterlist.c - scatter/gather lists, and their mappings for the device. */
#include <linux/dma-mapping.h>
#include <linux/kernel.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>

bool emu_sg_is_mapped(const struct scatterlist *sg)
{
	return sg->emu_flags & EMU_SG_MAPPED;
}

void sg_mark_end(struct scatterlist *sg)
{
	sg->emu_flags = (sg->emu_flags & ~(unsigned int)EMU_SG_CHAIN) | EMU_SG_END;
}

void sg_unmark_end(struct scatterlist *sg)
{
	sg->emu_flags &= ~(unsigned int)EMU_SG_END;
}

void sg_init_table(struct scatterlist *sgl, unsigned int count)
{
	memset(sgl, 0, count * sizeof(*sgl));
	sg_mark_end(&sgl[count - 1]);
}

void sg_init_one(struct scatterlist *sg, const void *buf, unsigned int len)
{
	sg_init_table(sg, 1);
	sg_set_buf(sg, buf, len);
}

void sg_set_page(struct scatterlist *sg, struct page *page, unsigned int len, unsigned int offset)
{
	BUG_ON(sg_is_chain(sg));
	sg->emu_link = page;
	sg->length = len;
	sg->offset = offset;
}

void sg_set_buf(struct scatterlist *sg, const void *buf, unsigned int len)
{
	sg_set_page(sg, virt_to_page(buf), len, (unsigned int)offset_in_page(buf));
}

void sg_chain(struct scatterlist *list, unsigned int count, struct scatterlist *next)
{
	list[count - 1] = (struct scatterlist){ .emu_link = next, .emu_flags = EMU_SG_CHAIN };
}

struct scatterlist *sg_next(struct scatterlist *sg)
{
	if (sg_is_last(sg))
		return NULL;
	sg++;
	return sg_is_chain(sg) ? sg->emu_link : sg;
}

struct scatterlist *sg_last(struct scatterlist *sgl, unsigned int count)
{
	struct scatterlist *sg = sgl;

	for (unsigned int i = 1; i < count; i++)
		sg = sg_next(sg);
	return sg;
}

int sg_nents(struct scatterlist *sgl)
{
	int count = 0;

	for (struct scatterlist *sg = sgl; sg; sg = sg_next(sg))
		count++;
	return count;
}

/* --- tables: lists of up to SG_MAX_SINGLE_ALLOC entries, the last of which is the link to the next list --- */

int(sg_alloc_table)(struct sg_table *table, unsigned int count, gfp_t flags)
{
	struct scatterlist *before = NULL;

	*table = (struct sg_table){ .orig_nents = 0 };
	if (!count)
		return -EINVAL;
	for (unsigned int left = count; left;) {
		unsigned int entries = min(left, (unsigned int)SG_MAX_SINGLE_ALLOC);
		struct scatterlist *list = kmalloc_array(entries, sizeof(*list), flags);

		if (!list) {
			sg_free_table(table);
			return -ENOMEM;
		}
		sg_init_table(list, entries);
		if (before)
			sg_chain(before, SG_MAX_SINGLE_ALLOC, list);
		else
			table->sgl = list;
		before = list;
		left -= left > entries ? entries - 1 : entries;
	}
	table->nents = table->orig_nents = count;
	return 0;
}

void sg_free_table(struct sg_table *table)
{
	struct scatterlist *list = table->sgl;

	while (list) {
		struct scatterlist *at = list, *next;

		while (!sg_is_last(at) && !sg_is_chain(at))
			at++;
		next = sg_is_chain(at) ? at->emu_link : NULL;
		kfree(list);
		list = next;
	}
	*table = (struct sg_table){ .orig_nents = 0 };
}

static size_t sg_copy(struct scatterlist *sgl, unsigned int count, char *buf, size_t len, bool to_buffer)
{
	size_t done = 0;

	for (struct scatterlist *sg = sgl; sg && count-- && done < len; sg = sg_next(sg)) {
		size_t part = min((size_t)sg->length, len - done);

		if (to_buffer)
			memcpy(buf + done, sg_virt(sg), part);
		else
			memcpy(sg_virt(sg), buf + done, part);
		done += part;
	}
	return done;
}

size_t sg_copy_from_buffer(struct scatterlist *sgl, unsigned int count, const void *buf, size_t len)
{
	return sg_copy(sgl, count, (char *)(uintptr_t)buf, len, false);
}

size_t sg_copy_to_buffer(struct scatterlist *sgl, unsigned int count, void *buf, size_t len)
{
	return sg_copy(sgl, count, buf, len, true);
}

/* --- mappings --- */

int dma_map_sg(struct device *device, struct scatterlist *sgl, int count, enum dma_data_direction direction)
{
	struct scatterlist *sg;
	int i;

	(void)device;
	if (direction == DMA_NONE || count <= 0)
		return 0;
	for_each_sg(sgl, sg, count, i) {
		sg->dma_address = (uintptr_t)sg_virt(sg);
		sg->dma_length = sg->length;
		sg->emu_flags |= EMU_SG_MAPPED;
	}
	return count;
}

void dma_unmap_sg(struct device *device, struct scatterlist *sgl, int count, enum dma_data_direction direction)
{
	struct scatterlist *sg;
	int i;

	(void)device;
	(void)direction;
	for_each_sg(sgl, sg, count, i) {
		WARN_ON(!emu_sg_is_mapped(sg));
		sg->dma_address = 0;
		sg->dma_length = 0;
		sg->emu_flags &= ~(unsigned int)EMU_SG_MAPPED;
	}
}

int dma_map_sgtable(struct device *device, struct sg_table *table, enum dma_data_direction direction, unsigned long attributes)
{
	int count = dma_map_sg(device, table->sgl, (int)table->orig_nents, direction);

	(void)attributes;
	if (!count)
		return -EINVAL;
	table->nents = (unsigned int)count;
	return 0;
}

void dma_unmap_sgtable(struct device *device, struct sg_table *table, enum dma_data_direction direction, unsigned long attributes)
{
	(void)attributes;
	dma_unmap_sg(device, table->sgl, (int)table->orig_nents, direction);
}

dma_addr_t dma_map_single(struct device *device, void *memory, size_t size, enum dma_data_direction direction)
{
	(void)device;
	if (direction == DMA_NONE || !size || !virt_addr_valid(memory))
		return DMA_MAPPING_ERROR;
	return (uintptr_t)memory;
}

dma_addr_t dma_map_page(struct device *device, struct page *page, size_t offset, size_t size, enum dma_data_direction direction)
{
	(void)device;
	return direction == DMA_NONE || !size ? DMA_MAPPING_ERROR : (uintptr_t)page_address(page) + offset;
}
