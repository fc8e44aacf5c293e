/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_coll.h - collectives: the groups that endpoints have joined, and the calls. Any thread. */
#ifndef EMU_FI_COLL_H
#define EMU_FI_COLL_H

#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/thread_safety.h"

struct coll_group;
struct emu_domain;
struct emu_ep;

/* --- the group that an endpoint has joined (struct fid_mc). --- */

struct emu_mc {
	struct fid_mc fid;
	struct emu_ep *ep;
	struct emu_mc *next; /* of the endpoint's; with the driver role */
	struct coll_group *group;
};

/* [role] The endpoint's group of this address; NULL: none. */
struct emu_mc *mc_find(const struct emu_ep *ep, fi_addr_t address) REQUIRES(driver_role);

/* --- The calls of fi_collective(3), but for joining (fi_mc.c). Any thread; a call waits at most about a slice.
 *
 * Where a member gives or gets more than one part, `count` is the elements of one: of what it gives to one other member, or
 * gets from one. So buf of fi_scatter and fi_reduce_scatter, result of fi_gather and fi_allgather, and both of fi_alltoall
 * have count elements for each member. --- */

int emu_query_collective(struct fid_domain *domain, enum fi_collective_op coll, struct fi_collective_attr *attr, uint64_t flags);

/* --- the local buffers of collectives, and the regions that they must lie in (S184 to S187). Any thread. --- */

/* `right`: MR_SEND or MR_RECV. 0; -FI_EINVAL, or -FI_EFAULT from a registration cache, after a line of log. *desc becomes NULL
 * where it names nothing. */
int coll_check_buffer(const struct emu_domain *domain, const char *call, const struct iovec *buffer, void **desc, uint32_t right);

#endif
