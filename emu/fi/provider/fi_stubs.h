/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_stubs.h - functions for all calls that are not implemented: libfabric's wrappers call through tables without a
 * check, so no entry may be NULL. All return -FI_ENOSYS and touch nothing. */
#ifndef EMU_FI_STUBS_H
#define EMU_FI_STUBS_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "emu/fi/provider/fi_compat.h"

/* struct fi_ops */
int stub_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int stub_control(struct fid *fid, int command, void *arg);
int stub_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int stub_tostr(const struct fid *fid, char *buf, size_t len);
int stub_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context);
/* The last members of the table of an object that has none of these calls. */
#define STUB_FID_OPS .ops_open = stub_ops_open, .tostr = stub_tostr, .ops_set = stub_ops_set

/* struct fi_ops_fabric */

/* struct fi_ops_av */
int stub_set_user_id(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags);

/* struct fi_ops_ep, fi_ops_cm */
int stub_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep, void *context);
int stub_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep, void *context);
ssize_t stub_cancel(fid_t fid, void *context);
int stub_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen);
int stub_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen);
int stub_setname(fid_t fid, void *addr, size_t addrlen);
int stub_getname(fid_t fid, void *addr, size_t *addrlen);
ssize_t stub_size_left(struct fid_ep *ep);
int stub_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen);
int stub_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen);
int stub_listen(struct fid_pep *pep);
int stub_accept(struct fid_ep *ep, const void *param, size_t paramlen);
int stub_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen);
int stub_shutdown(struct fid_ep *ep, uint64_t flags);
int stub_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc, void *context);

/* Accelerators' calls, at the ends of four tables */
int stub_xpu_ctx(struct fid_domain *domain, struct fi_xpu_attr *attr, struct fid_xpu_ctx **ctx, void *context);
int stub_ep_export_xpu(struct fid_ep *ep, uint64_t flags, struct fid_xpu_ep *xpu_ep);
int stub_cq_export_xpu(struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq);
int stub_cntr_export_xpu(struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr);

extern struct fi_ops_collective stub_collective;

#endif
