/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_scalable.h - scalable endpoints (fi_endpoint(3), Scalable Endpoints): an address with several transmit and receive
 * contexts.
 *
 * A context is an endpoint of the device. Receive context n listens at the n-th port above the address, so that fi_rx_addr()
 * can name it by adding to the port; the ports are held as soon as the address is known. Transmit contexts tell
 * their peers the port by which the scalable endpoint is known. */
#ifndef EMU_FI_SCALABLE_H
#define EMU_FI_SCALABLE_H

#include <stdbool.h>
#include <sys/socket.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

struct emu_ep;

int emu_scalable_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep, void *context);
/* fi_tx_context(), fi_rx_context(). 0; -FI_EINVAL: no such index, or attributes beyond the endpoint's; -FI_EBUSY: it is
 * open; -FI_ENOSYS: `sep` is no scalable endpoint. */
int emu_tx_context(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **ep, void *context);
int emu_rx_context(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **ep, void *context);

/* fi_enable() of a context: gives it its address and address vector. 0 or -errno. */
int scalable_enable(struct emu_ep *context);
void scalable_forget(struct emu_ep *context);   /* it is closed */
bool scalable_enabled(const struct emu_ep *ep); /* is it a scalable endpoint that is enabled, or has a context that is? */
/* fi_setname() of one, before that: *at without a port gets one, and the ports are held. 0; or -errno, and it has the address that
 * it had, whose ports are held no more. */
int scalable_name(struct emu_ep *ep, struct sockaddr_storage *at);

#endif
