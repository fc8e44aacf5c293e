/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cm.h - connections: fi_connect, fi_accept, fi_getpeer, fi_shutdown of endpoints with FI_EP_MSG; for all others
 * -FI_ENOSYS. Passive endpoints are in fi_pep.h. fi_cm(3). */
#ifndef EMU_FI_CM_H
#define EMU_FI_CM_H

#include <rdma/fi_cm.h>

#include "emu/nic/endpoint/cm.h"

int emu_ep_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen);
int emu_ep_accept(struct fid_ep *ep, const void *param, size_t paramlen);
int emu_ep_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen);
int emu_ep_shutdown(struct fid_ep *ep, uint64_t flags);

/* The device's events of a connected endpoint go to its event queue. */
extern const struct cm_ops emu_ep_cm_events;

#endif
