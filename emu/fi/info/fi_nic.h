/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_nic.h - fi_nic(3): the NIC of an info. Any thread.
 *
 * Owner:  the info: fi_freeinfo() closes it, fi_dupinfo() duplicates it, by its table of calls or by libfabric's own ones, which
 * take it apart by free(). */
#ifndef EMU_FI_NIC_H
#define EMU_FI_NIC_H

#include <rdma/fabric.h>

struct local_addr;

/* The NIC that an address of this machine belongs to; NULL: no memory. */
struct fid_nic *nic_make(const struct local_addr *local);

#endif
