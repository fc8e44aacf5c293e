/* SPDX-License-Identifier: BSD-2-Clause */
/* dma-mapping.h - mappings for the device.
 * The device is in this process: a DMA address is a virtual one, no device is told from another, and caches need no care. */
#ifndef EMU_KERNEL_LINUX_DMA_MAPPING_H
#define EMU_KERNEL_LINUX_DMA_MAPPING_H

#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

struct device;

enum dma_data_direction { DMA_BIDIRECTIONAL, DMA_TO_DEVICE, DMA_FROM_DEVICE, DMA_NONE };

#define DMA_MAPPING_ERROR (~(dma_addr_t)0)
#define DMA_BIT_MASK(n) ((n) == 64 ? ~0ULL : (1ULL << (n)) - 1)

/* 0, or -EINVAL for an empty table or DMA_NONE. */
int dma_map_sgtable(struct device *device, struct sg_table *table, enum dma_data_direction direction, unsigned long attributes);
void dma_unmap_sgtable(struct device *device, struct sg_table *table, enum dma_data_direction direction, unsigned long attributes);

/* The entries that were mapped; 0 is a failure. */
int dma_map_sg(struct device *device, struct scatterlist *sgl, int count, enum dma_data_direction direction);
void dma_unmap_sg(struct device *device, struct scatterlist *sgl, int count, enum dma_data_direction direction);

/* Memory as for virt_to_page(): for any other DMA_MAPPING_ERROR. */
dma_addr_t dma_map_single(struct device *device, void *memory, size_t size, enum dma_data_direction direction);
dma_addr_t dma_map_page(struct device *device, struct page *page, size_t offset, size_t size, enum dma_data_direction direction);

static inline int dma_mapping_error(struct device *device, dma_addr_t address)
{
	(void)device;
	return address == DMA_MAPPING_ERROR ? -ENOMEM : 0;
}

/* These do nothing: single mappings hold nothing, and caches are coherent. */
#define dma_unmap_single(device, address, size, direction) ((void)(device), (void)(address), (void)(size), (void)(direction))
#define dma_unmap_page(device, address, size, direction) dma_unmap_single(device, address, size, direction)
#define dma_sync_single_for_cpu(device, address, size, direction) dma_unmap_single(device, address, size, direction)
#define dma_sync_single_for_device(device, address, size, direction) dma_unmap_single(device, address, size, direction)
#define dma_sync_sgtable_for_cpu(device, table, direction) ((void)(device), (void)(table), (void)(direction))
#define dma_sync_sgtable_for_device(device, table, direction) ((void)(device), (void)(table), (void)(direction))

#endif
