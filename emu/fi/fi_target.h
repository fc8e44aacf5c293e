/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_target.h - what a program names of a peer's memory, as the device wants it. Any thread; nothing blocks. */
#ifndef EMU_FI_TARGET_H
#define EMU_FI_TARGET_H

#include <rdma/fi_rma.h>

#include "emu/fi/fi_domain.h"
#include "emu/nic/op.h"

/* Fills remote[0..count), count being at most LIMIT_IOV. 0; -FI_ENOKEY after a line of log. */
int target_remotes(struct emu_domain *domain, const struct fi_rma_iov *iov, size_t count, struct remote *remote);

#endif
