/* SPDX-License-Identifier: BSD-2-Clause */
/* dmabuf.h - a mapping of ours of the bytes behind a descriptor: a DMA-buf, a memfd, a file. Any thread; makes system calls, so not
 * with the driver role. */
#ifndef EMU_NET_DMABUF_H
#define EMU_NET_DMABUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct dmabuf {
	struct iovec bytes; /* those asked for, in the mapping */
	void *map;
	size_t map_len;
};

/* Why there is no mapping: what stands in a sentence behind "the descriptor". */
enum dmabuf_flaw {
	DMABUF_NONE,     /* the system's error says it */
	DMABUF_NO_FILE,  /* it is none, or closed */
	DMABUF_PAST_END, /* offset and length go past the end of its bytes */
	DMABUF_TOO_LONG, /* longer than the address space */
	DMABUF_UNMAPPED, /* it cannot be mapped for reading or, with `writes`, for writing */
};

/* 0 and *dmabuf; -errno, and *flaw says where it comes from. */
int dmabuf_map(int fd, uint64_t offset, size_t length, bool writes, struct dmabuf **dmabuf, enum dmabuf_flaw *flaw);
void dmabuf_unmap(struct dmabuf *dmabuf); /* NULL: nothing */

#endif
