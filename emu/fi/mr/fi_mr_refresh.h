/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_refresh.h - pages that came after the registration (S106 to S120). Any thread; takes as long as the kernel needs
 * to supply the memory, without the driver role. */
#ifndef EMU_FI_MR_REFRESH_H
#define EMU_FI_MR_REFRESH_H

#include "emu/fi/mr/fi_mr.h"

struct mr_pages;

/* Under FI_MR_MMU_NOTIFY a table of the pages of these segments that are there; else NULL. 0 or -errno after a line of log. */
int mr_pages_now(const struct emu_domain *domain, const struct iovec *segments, size_t count, struct mr_pages **pages);

/* FI_REFRESH. 0; -FI_EINVAL: a range outside the region, or that no memory can back; -FI_EBADFLAGS; -FI_ENOSYS where
 * the program has promised that nothing changes (FI_MR_ALLOCATED alone). */
int mr_refresh(struct emu_mr *mr, const struct fi_mr_modify *modify);

#endif
