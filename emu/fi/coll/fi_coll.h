/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_coll.h - the calls of fi_collective(3), but for joining (fi_mc.h). Any thread; a call waits at most about a slice.
 *
 * Where a member gives or gets more than one part, `count` is the elements of one: of what it gives to one other member, or gets
 * from one. So buf of fi_scatter and fi_reduce_scatter, result of fi_gather and fi_allgather, and both of fi_alltoall have count
 * elements for each member. */
#ifndef EMU_FI_COLL_H
#define EMU_FI_COLL_H

#include <rdma/fi_collective.h>

int emu_query_collective(struct fid_domain *domain, enum fi_collective_op coll, struct fi_collective_attr *attr, uint64_t flags);

#endif
