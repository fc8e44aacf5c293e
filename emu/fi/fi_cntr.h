/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cntr.h - the counter object. Any thread. */
#ifndef EMU_FI_CNTR_H
#define EMU_FI_CNTR_H

#include <stdatomic.h>
#include <stdint.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "emu/fi/fi_wait.h"
#include "emu/fi/fi_wait_set.h"
#include "emu/nic/bond.h"
#include "emu/nic/cntr.h"

struct emu_domain;

struct emu_cntr {
	struct fid_cntr fid;
	struct emu_domain *domain;
	struct cntr *cntr;	/* device's */
	struct waiter waiter;
	struct wait_member member;	/* of its wait set */
	struct bond_end bonds;	/* to regions; with the driver role */
	atomic_uint_fast64_t seen, seen_errors;	/* what the program read last: fi_trywait() looks for a change */
};

int emu_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);
int emu_cntr_trywait(struct emu_cntr *cntr);

#endif
