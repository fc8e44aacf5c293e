/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep.h - endpoints of all kinds, and the requests that they accept. */
#ifndef EMU_FI_EP_H
#define EMU_FI_EP_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/device/nic.h"

struct auth_set;
struct emu_av;
struct emu_cntr;
struct emu_cq;
struct emu_domain;
struct emu_ep;
struct emu_eq;
struct emu_mc;
struct emu_pep;
struct emu_stx;
struct srx;
struct stx;

/* --- Connection requests that wait for an answer, named by info->handle of FI_CONNREQ. A handle is searched for and never
 * dereferenced, as a program may keep it too long. Any thread; a leaf lock guards the list. --- */

/* One request. `number` is the peer's name for it; 0: none. */
struct connreq {
	const struct emu_pep *pep;
	struct fid *handle;
	struct sockaddr_storage peer, passive; /* the peer that asks, and the passive endpoint's name */
	uint64_t number;
};

/* Adds one, of which all but the handle is set. Its handle, or NULL: `most` wait at this passive endpoint, or no memory. */
struct fid *connreq_add(const struct connreq *request, unsigned most);
/* The request with this handle, which may be anything; false: none waits. */
bool connreq_find(const struct fid *handle, struct connreq *found);
/* Does it still wait for an answer? [role]: answers are given under the driver role, so the result holds until the caller has tried
 * one. The caller takes the request after that: an answer that could not be sent leaves the request in the list. */
bool connreq_waits(const struct connreq *request);
/* Removes it: the caller alone answers it. False: it was removed before. */
bool connreq_take(const struct connreq *request);
/* In a fork's child, which does not answer the parent's requests. */
void connreq_forked(void);
/* Likewise, any one of a passive endpoint. */
bool connreq_take_any(const struct emu_pep *pep, struct connreq *taken);

/* --- The endpoint object. All settings but min_multi_recv change before fi_enable() only; from then on everything is
 * constant, `dev` is the device's endpoint, and the data calls (fi_rma.c, fi_msg.c) may come from any thread. --- */

struct emu_ep {
	struct fid_ep fid;
	struct emu_domain *domain;
	struct emu_ep *primary; /* itself; for an alias, the endpoint that it stands for */
	struct emu_ep *aliases, *next_alias;
	struct ep *dev;                /* NULL until enabled */
	enum fi_ep_type type;          /* FI_EP_RDM, FI_EP_MSG, FI_EP_DGRAM */
	struct connreq request;        /* FI_EP_MSG: the request that it was opened to accept; number 0: none */
	struct sockaddr_storage asked; /* FI_EP_MSG: the peer that fi_connect() named */
	bool begun;                    /* FI_EP_MSG: fi_connect() or fi_accept() was called */
	uint64_t caps, open_caps;      /* open_caps: `caps` once data may be transferred, 0 before */
	uint64_t auth;                 /* shown to peers; messages with another are refused */
	uint64_t tx_flags, rx_flags;   /* default operation flags */
	uint64_t tx_order;
	uint64_t tag_format;             /* that the calls keep to (fi_tag_format.c), or 0 */
	struct fi_ops_tagged *tagged;    /* with a format: the calls behind those that look at tags */
	bool tx_selective, rx_selective; /* successes complete on FI_COMPLETION only */
	size_t inject_size, tx_iov_limit, rma_iov_limit, rx_iov_limit, max_msg_size;
	size_t tx_size, rx_size;
	atomic_size_t min_multi_recv; /* FI_OPT_MIN_MULTI_RECV, which may change at any time, for receives posted later */
	struct sockaddr_storage at;   /* where to listen */
	struct own_port *port;        /* of `at`, until it is enabled; NULL: the program has named one, or none */
	struct emu_av *av;            /* this and those below: the bound objects, or NULL */
	struct emu_cq *tx_cq, *rx_cq;
	struct emu_cntr *cntr[EP_CNTRS];
	struct emu_eq *eq;
	bool tx_shared, rx_shared; /* opened with FI_SHARED_CONTEXT */
	struct emu_ep *scalable;   /* for a transmit or receive context: its scalable endpoint; else NULL */
	unsigned int index;        /* its index there */
	uint16_t port_shift;       /* of a scalable endpoint: EMU_FI_OPT_PORT_SHIFT */
	struct emu_stx *stx;       /* bound shared contexts, or NULL */
	struct emu_ep *srx;
	struct srx *rx_dev;          /* for a shared receive context: the device's; else NULL */
	atomic_uint sharers;         /* for a shared receive context: endpoints bound to it */
	struct auth_set *auths;      /* FI_AV_AUTH_KEY: the AV's keys as of fi_enable(), else NULL */
	uint64_t auths_used;         /* the keys in it, a bit each */
	struct emu_mc *groups;       /* that it has joined or is joining; with the driver role */
	struct binding_end bindings; /* to regions; with the driver role */
};

static inline struct emu_ep *emu_ep(struct fid_ep *fid)
{
	return (struct emu_ep *)fid;
}

int emu_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
/* Takes the attributes of a side of the endpoint; NULL: the defaults. `domain` and `caps` are set. 0 or -FI_EINVAL. */
int ep_take_tx(struct emu_ep *ep, const struct fi_tx_attr *tx);
int ep_take_rx(struct emu_ep *ep, const struct fi_rx_attr *rx);
int emu_ep_open2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context);

/* fi_enable(): 0 or -errno. */
int emu_ep_enable(struct emu_ep *ep);

/* Makes an endpoint (fi_endpoint(3)) out of an info: `ep` is calloced, its domain set. 0, or -errno and nothing is held. */
int ep_init(struct emu_ep *ep, const struct fi_info *info);
/* The data transfer tables. Its domain is set. */
void ep_tables(struct emu_ep *ep);
int emu_ep_close(struct fid *fid);

/* fi_ep_control.c: fi_control(), including fi_ep_alias(). */
int emu_ep_control(struct fid *fid, int command, void *arg);
/* Copies the changes that fi_enable() made in the endpoint to its aliases. */
void ep_tell_aliases(struct emu_ep *ep);

/* fi_ep_bind.c: fi_ep_bind() and its undoing. */
int emu_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
void ep_unbind(struct emu_ep *ep);

/* Lets the device finish its work for peers, up to TIME_BYE_NS. 0 and the driver role, or -FI_EAGAIN. */
int ep_drained(struct nic *nic, struct ep *dev) TRY_ACQUIRE(0, driver_role);

/* fi_ep_ops.c */
/* fi_getopt() of a size: 0, -FI_EINVAL, -FI_ETOOSMALL. */
int option_tell(size_t size, void *value, size_t *length);
extern struct fi_ops_cm emu_ep_cm_ops;
extern struct compat_ops_ep emu_ep_ops;

/* --- Scalable endpoints (fi_endpoint(3), Scalable Endpoints): an address with several transmit and receive contexts.
 *
 * A context is an endpoint of the device. Receive context n listens at the n-th port above the address, so that fi_rx_addr()
 * can name it by adding to the port; the ports are held as soon as the address is known. Transmit contexts tell their peers
 * the port by which the scalable endpoint is known. --- */

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

/* --- Shared transmit and receive contexts (fi_endpoint(3), Shared Contexts). A transmit context is room for operations under
 * way. A receive context has an endpoint's receive calls: it is a struct emu_ep without a device endpoint. Any thread. --- */

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

/* --- the passive endpoint object: receives connection requests, and rejects them. fi_cm(3), fi_endpoint(3). --- */

int emu_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep, void *context);
/* Where the passive endpoint listens, or would; false: `handle`, which may be anything, is not an open one. */
bool emu_pep_address(const struct fid *handle, struct sockaddr_storage *at);

#endif
