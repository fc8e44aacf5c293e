/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_stubs.c - functions for all calls that are not implemented: control, connection and set-up. */
#include "emu/fi/provider/fi_stubs.h"

#include "emu/fi/provider/fi_refuse.h"

int stub_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return refuse_missing("fi_bind of this object", "Other objects are bound to it");
}

int stub_control(struct fid *fid, int command, void *arg)
{
	return refuse_missing("fi_control", "Its man page names its commands");
}

int stub_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return refuse_probe("fi_open_ops");
}

int stub_tostr(const struct fid *fid, char *buf, size_t len)
{
	return refuse_probe("fi_tostr");
}

int stub_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
	return refuse_probe("fi_set_ops");
}

int stub_set_user_id(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags)
{
	return refuse_missing("fi_av_set_user_id", "FI_AV_USER_ID is not offered");
}

int stub_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep, void *context)
{
	return refuse_missing("fi_tx_context", "Contexts are those of an endpoint opened by fi_scalable_ep");
}

int stub_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep, void *context)
{
	return refuse_missing("fi_rx_context", "Contexts are those of an endpoint opened by fi_scalable_ep");
}

ssize_t stub_cancel(fid_t fid, void *context)
{
	return refuse_missing("fi_cancel", "It has no receives");
}

int stub_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	return refuse_probe("fi_getopt");
}

int stub_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
{
	return refuse_probe("fi_setopt");
}

int stub_setname(fid_t fid, void *addr, size_t addrlen)
{
	return refuse_missing("fi_setname", "A shared context has no address");
}

int stub_getname(fid_t fid, void *addr, size_t *addrlen)
{
	return refuse_missing("fi_getname", "A shared context has no address");
}

ssize_t stub_size_left(struct fid_ep *ep)
{
	return refuse_probe("fi_tx_size_left or fi_rx_size_left");
}

int stub_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	return refuse_missing("fi_getpeer", "It has no peer");
}

int stub_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	return refuse_missing("fi_connect", "It has no peer. Connect an endpoint");
}

int stub_listen(struct fid_pep *pep)
{
	return refuse_missing("fi_listen", "A passive endpoint listens (fi_passive_ep)");
}

int stub_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	return refuse_missing("fi_accept", "Accept with an endpoint that is opened with the info of the FI_CONNREQ event");
}

int stub_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	return refuse_missing("fi_reject", "The passive endpoint rejects");
}

int stub_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return refuse_missing("fi_shutdown", "It has no peer");
}

int stub_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc, void *context)
{
	return refuse_missing("fi_join", "FI_MULTICAST is not offered, and groups are joined by endpoints of type FI_EP_RDM");
}

int stub_xpu_ctx(struct fid_domain *domain, struct fi_xpu_attr *attr, struct fid_xpu_ctx **ctx, void *context)
{
	return refuse_probe("fi_xpu_ctx");
}

int stub_ep_export_xpu(struct fid_ep *ep, uint64_t flags, struct fid_xpu_ep *xpu_ep)
{
	return refuse_probe("fi_ep_export_xpu");
}

int stub_cq_export_xpu(struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq)
{
	return refuse_probe("fi_cq_export_xpu");
}

int stub_cntr_export_xpu(struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr)
{
	return refuse_probe("fi_cntr_export_xpu");
}
