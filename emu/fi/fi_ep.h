/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep.h - the endpoint object. Settings but min_multi_recv change before fi_enable() only; from then on everything is
 * constant, `dev` is the device's endpoint, and the data calls (fi_rma.c, fi_msg.c) may come from any thread. */
#ifndef EMU_FI_EP_H
#define EMU_FI_EP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rdma/fi_endpoint.h>

#include "emu/fi/fi_request.h"
#include "emu/nic/nic.h"

struct auth_set;
struct emu_av;
struct emu_cq;
struct emu_cntr;
struct emu_domain;
struct emu_eq;
struct emu_stx;
struct srx;

struct emu_ep {
	struct fid_ep fid;
	struct emu_domain *domain;
	struct emu_ep *whole;		/* itself; of an alias, the endpoint that it is one of */
	struct emu_ep *aliases, *next_alias;
	struct ep *dev;			/* NULL until enabled */
	enum fi_ep_type type;		/* FI_EP_RDM, FI_EP_MSG, FI_EP_DGRAM */
	struct request request;		/* FI_EP_MSG: what it was opened to accept; number 0: nothing */
	struct sockaddr_storage asked;	/* FI_EP_MSG: whom fi_connect() named */
	bool     begun;			/* FI_EP_MSG: fi_connect() or fi_accept() was called */
	uint64_t caps, open_caps;	/* open_caps: `caps` once data may be transferred, 0 before */
	uint64_t auth;			/* shown to peers; messages with another are refused */
	uint64_t tx_flags, rx_flags;	/* default operation flags */
	uint64_t tx_order;
	bool     tx_selective, rx_selective;	/* successes complete on FI_COMPLETION only */
	size_t   inject_size, tx_iov_limit, rma_iov_limit, rx_iov_limit, max_msg_size;
	size_t   tx_size, rx_size;
	atomic_size_t min_multi_recv;	/* FI_OPT_MIN_MULTI_RECV, which may change at any time: of receives posted later */
	struct sockaddr_storage at;	/* where to listen */
	struct emu_av *av;		/* what is bound, or NULL */
	struct emu_cq *tx_cq, *rx_cq;
	struct emu_cntr *cntr[EP_CNTRS];
	struct emu_eq *eq;
	bool     tx_shared, rx_shared;	/* opened with FI_SHARED_CONTEXT */
	struct emu_ep *scalable;	/* of a transmit or receive context: whose it is; else NULL */
	unsigned int index;		/* which of them */
	struct emu_stx *stx;		/* what is shared, bound, or NULL */
	struct emu_ep *srx;
	struct srx *rx_dev;		/* of a shared receive context: itself; else NULL */
	atomic_uint sharers;		/* of one: endpoints bound to it */
	struct auth_set *auths;		/* FI_AV_AUTH_KEY: the AV's keys as of fi_enable(), else NULL */
	uint64_t auths_used;		/* which those are */
	struct bond_end bonds;		/* to regions; with the driver role */
};

static inline struct emu_ep *emu_ep(struct fid_ep *fid)
{
	return (struct emu_ep *)fid;
}

int emu_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
/* What a side of the endpoint is opened with; NULL: the defaults. `domain` and `caps` are set. 0 or -FI_EINVAL. */
int ep_take_tx(struct emu_ep *ep, const struct fi_tx_attr *tx);
int ep_take_rx(struct emu_ep *ep, const struct fi_rx_attr *rx);
int emu_ep_open2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context);

/* fi_enable(): 0 or -errno. */
int  emu_ep_enable(struct emu_ep *ep);

/* Makes what fi_endpoint(3) gives out of an info: `ep` is calloced, its domain set. 0 or -errno, and nothing is held. */
int  ep_init(struct emu_ep *ep, const struct fi_info *info);
/* The data transfer tables. */
void ep_tables(struct emu_ep *ep);
int  emu_ep_close(struct fid *fid);

/* fi_ep_control.c: fi_control(), fi_ep_alias() among it. */
int  emu_ep_control(struct fid *fid, int command, void *arg);
/* What fi_enable() made of the endpoint is its aliases', too. */
void ep_tell_aliases(struct emu_ep *ep);

/* fi_ep_bind.c: fi_ep_bind() and its undoing. */
int  emu_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
void ep_unbind(struct emu_ep *ep);

/* Lets the device finish what it owes to peers, up to TIME_BYE_NS. 0 and the driver role, or -FI_EAGAIN. */
int  ep_drained(struct nic *nic, struct ep *dev);

/* fi_ep_ops.c */
/* fi_getopt() of what is a size: 0, -FI_EINVAL, -FI_ETOOSMALL. */
int  option_tell(size_t size, void *value, size_t *length);
extern struct fi_ops_cm emu_ep_cm_ops;
extern struct fi_ops_ep emu_ep_ops;

#endif
