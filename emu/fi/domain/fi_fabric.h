/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_fabric.h - the fabric object: a network that this machine has an address in. Holds nothing but its users. */
#ifndef EMU_FI_FABRIC_H
#define EMU_FI_FABRIC_H

#include <stdatomic.h>

#include <rdma/fabric.h>

#include "emu/fi/provider/fi_registry.h"

struct emu_fabric {
	struct fid_fabric fid;
	struct opened opened;
	atomic_uint users; /* domains and event queues */
};

static inline struct emu_fabric *emu_fabric(struct fid_fabric *fid)
{
	return (struct emu_fabric *)fid;
}

int emu_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

#endif
