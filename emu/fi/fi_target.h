/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_target.h - what a program names of a peer's memory, as the device wants it. Any thread; nothing blocks. */
#ifndef EMU_FI_TARGET_H
#define EMU_FI_TARGET_H

#include <rdma/fi_rma.h>

#include "emu/fi/fi_domain.h"
#include "emu/nic/op.h"

/* Puts what its peers call them in the place of handles. 0; -FI_ENOKEY after a line of log. */
int target_map(struct emu_domain *domain, struct remote *remote, size_t count);

/* Keys are as the program gave them: 0, or as above. */
static inline int target_keys(struct emu_domain *domain, struct remote *remote, size_t count)
{
	return domain->rules & FI_MR_RAW ? target_map(domain, remote, count) : 0;
}

#endif
