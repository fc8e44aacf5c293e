/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_dmabuf.h - registration by descriptor, and the attributes for the kind of memory. Any thread; makes system
 * calls, so not with the driver role. Errors come after a line of log. */
#ifndef EMU_FI_MR_DMABUF_H
#define EMU_FI_MR_DMABUF_H

#include <stdint.h>
#include <sys/uio.h>

#include "emu/fi/provider/fi_compat.h"

struct emu_domain;
struct mr_request;

/* The provider's mapping of one region. It exists before the region is in the table, until no byte is touched any more. */
struct mr_dmabuf {
	struct iovec bytes; /* the region's bytes in the mapping */
	void *map;
	size_t map_len;
};

/* fi_mr_dmabuf.c: checks the structure itself: 0 or -FI_EINVAL. */
int mr_check_dmabuf(const struct compat_mr_dmabuf *given, size_t count, const struct compat_mr_attr *attr, uint32_t api);
/* 0 and *dmabuf; -FI_EBADF, -FI_EINVAL past the end of the descriptor's bytes, or mmap's error. */
int mr_dmabuf_open(const struct compat_mr_dmabuf *given, uint64_t access, struct mr_dmabuf **dmabuf);
void mr_dmabuf_close(struct mr_dmabuf *dmabuf); /* NULL: nothing */

/* fi_mr_hmem.c: iface (S85, S138), device (S140), hmem_data (S142), page_size (S152). 0 and the request's two; -FI_ENOSYS or
 * -FI_EINVAL. */
int mr_check_hmem(struct emu_domain *domain, const struct compat_mr_attr *attr, struct mr_request *req);
/* Likewise: finds where the bytes of the request's segments are if these are memory of a device, which is to be the one that the
 * program names, if it must name one (S134, S135), and of the kind that the flags say (S143, S144). 0; -FI_EINVAL, -FI_EBADFLAGS;
 * -FI_EFAULT: it has been freed, or is of several allocations. */
int mr_find_device(struct emu_domain *domain, struct mr_request *req);

#endif
