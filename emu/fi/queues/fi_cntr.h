/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cntr.h - the counter object. Any thread. */
#ifndef EMU_FI_CNTR_H
#define EMU_FI_CNTR_H

#include <stdatomic.h>
#include <stdint.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "emu/fi/queues/fi_wait.h"
#include "emu/fi/queues/fi_wait_set.h"
#include "emu/nic/queues/cntr.h"
#include "emu/nic/regions/mr_binding.h"

struct emu_domain;

struct emu_cntr {
	struct fid_cntr fid;
	struct emu_domain *domain;
	struct cntr *cntr; /* the device's */
	struct waiter waiter;
	struct wait_member member;              /* of its wait set */
	struct binding_end bindings;            /* to regions; with the driver role */
	atomic_uint_fast64_t seen, seen_errors; /* the values that the program read last: fi_trywait() looks for a change */
};

int emu_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);
int emu_cntr_trywait(struct emu_cntr *cntr);

#endif
