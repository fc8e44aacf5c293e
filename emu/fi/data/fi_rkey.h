/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_rkey.h - a program's keys for remote memory, turned into those of the peer. Any thread; nothing blocks. */
#ifndef EMU_FI_RKEY_H
#define EMU_FI_RKEY_H

#include <rdma/fi_rma.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/nic/ops/op.h"

/* Replaces handles by the peers' keys. 0; -FI_ENOKEY after a line of log. */
int rkey_map(struct emu_domain *domain, struct remote *remote, size_t count);

/* Keys are as the program gave them: 0, or as above. */
static inline int rkey_keys(struct emu_domain *domain, struct remote *remote, size_t count)
{
	return domain->rules & FI_MR_RAW ? rkey_map(domain, remote, count) : 0;
}

#endif
