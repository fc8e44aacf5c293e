/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr.h - registration: the three calls narrow to one (S2). Any thread; may wait one slice of the driver role, and
 * under FI_MR_ALLOCATED for the kernel to supply the memory. */
#ifndef EMU_FI_MR_H
#define EMU_FI_MR_H

#include <rdma/fi_domain.h>

int emu_mr_reg(struct fid *domain, const void *buf, size_t len, uint64_t access, uint64_t offset,
	       uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context);
int emu_mr_regv(struct fid *domain, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset,
		uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context);
int emu_mr_regattr(struct fid *domain, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **mr);

#endif
