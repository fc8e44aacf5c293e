/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_shared_ctx.h - shared transmit and receive contexts (fi_endpoint(3), Shared Contexts). A transmit context is room for
 * operations under way. A receive context has an endpoint's receive calls: it is a struct emu_ep without a device
 * endpoint. Any thread. */
#ifndef EMU_FI_SHARED_CTX_H
#define EMU_FI_SHARED_CTX_H

#include <stdatomic.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

struct emu_domain;
struct emu_ep;
struct stx;

struct emu_stx {
	struct fid_stx fid;
	struct emu_domain *domain;
	struct stx *dev;
	atomic_uint users; /* the program, until it closes it, and the endpoints bound to it: the last one frees it */
};

int emu_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx, void *context);
int emu_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx, void *context);

/* For endpoints that are not enabled. 0; -FI_EINVAL after a line of log, -FI_EDOMAIN, -FI_EBADFLAGS. */
int shared_bind_tx(struct emu_ep *ep, struct emu_stx *stx, uint64_t flags);
int shared_bind_rx(struct emu_ep *ep, struct emu_ep *srx, uint64_t flags);
void shared_unbind(struct emu_ep *ep);

#endif
