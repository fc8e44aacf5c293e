/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep.h - the endpoint object. Settings change before fi_enable() only; from then on everything is constant, `dev` is
 * the device's endpoint, and the data calls (fi_rma.c, fi_msg.c) may come from any thread. */
#ifndef EMU_FI_EP_H
#define EMU_FI_EP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rdma/fi_endpoint.h>

#include "emu/nic/nic.h"

struct emu_av;
struct emu_cq;
struct emu_cntr;
struct emu_domain;
struct emu_eq;

struct emu_ep {
	struct fid_ep fid;
	struct emu_domain *domain;
	struct ep *dev;			/* NULL until enabled */
	uint64_t caps;
	uint64_t tx_flags, rx_flags;	/* default operation flags */
	uint64_t tx_order;
	bool     tx_selective, rx_selective;	/* successes complete on FI_COMPLETION only */
	size_t   inject_size, tx_iov_limit, rma_iov_limit, rx_iov_limit, max_msg_size;
	size_t   tx_size, rx_size;
	struct sockaddr_storage at;	/* where to listen */
	struct emu_av *av;		/* what is bound, or NULL */
	struct emu_cq *tx_cq, *rx_cq;
	struct emu_cntr *cntr[EP_CNTRS];
	struct emu_eq *eq;
};

static inline struct emu_ep *emu_ep(struct fid_ep *fid)
{
	return (struct emu_ep *)fid;
}

int emu_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
int emu_ep_open2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context);

/* fi_ep_bind.c: fi_ep_bind() and its undoing. */
int  emu_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
void ep_unbind(struct emu_ep *ep);

/* fi_ep_ops.c */
extern struct fi_ops_cm emu_ep_cm_ops;
extern struct fi_ops_ep emu_ep_ops;

#endif
