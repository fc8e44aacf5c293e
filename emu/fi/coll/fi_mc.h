/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mc.h - the group that an endpoint has joined (struct fid_mc). */
#ifndef EMU_FI_MC_H
#define EMU_FI_MC_H

#include <rdma/fi_cm.h>

#include "emu/nic/base/thread_safety.h"

struct coll_group;
struct emu_ep;

struct emu_mc {
	struct fid_mc fid;
	struct emu_ep *ep;
	struct emu_mc *next; /* of the endpoint's; with the driver role */
	struct coll_group *group;
};

/* [role] The endpoint's group of this address; NULL: none. */
struct emu_mc *mc_find(const struct emu_ep *ep, fi_addr_t address) REQUIRES(driver_role);

#endif
