/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_shared.c - shared transmit and receive contexts. */
#include "emu/fi/fi_shared.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/fi_atomic.h"
#include "emu/fi/fi_data.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_ep.h"
#include "emu/fi/fi_negotiate.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_stubs.h"

#define MESSAGES (FI_MSG | FI_TAGGED)

static int refuse(const char *why)
{
	EMU_WARN(EP_CTRL, "%s\n", why);
	return -FI_EINVAL;
}

int shared_bind_tx(struct emu_ep *ep, struct emu_stx *stx, uint64_t flags)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (stx->domain != ep->domain)
		return -FI_EDOMAIN;
	if (ep->stx || !ep->tx_shared)
		return refuse("an endpoint takes one shared transmit context, and if ep_attr->tx_ctx_cnt is FI_SHARED_CONTEXT");
	atomic_fetch_add(&stx->sharers, 1);
	ep->stx = stx;
	return 0;
}

int shared_bind_rx(struct emu_ep *ep, struct emu_ep *srx, uint64_t flags)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (srx->domain != ep->domain)
		return -FI_EDOMAIN;
	if (ep->srx || !ep->rx_shared)
		return refuse("an endpoint takes one shared receive context, and if ep_attr->rx_ctx_cnt is FI_SHARED_CONTEXT");
	if (ep->caps & FI_RECV && ep->caps & MESSAGES & ~srx->caps)
		return refuse("the endpoint receives messages of a kind that its shared receive context was not opened for");
	atomic_fetch_add(&srx->sharers, 1);
	ep->srx = srx;
	return 0;
}

void shared_unbind(struct emu_ep *ep)
{
	if (ep->stx)
		atomic_fetch_sub(&ep->stx->sharers, 1);
	if (ep->srx)
		atomic_fetch_sub(&ep->srx->sharers, 1);
}

/* --- transmit --- */

static int stx_close_fid(struct fid *fid)
{
	struct emu_stx *stx = (struct emu_stx *)fid;

	if (atomic_load(&stx->sharers))
		return -FI_EBUSY;
	if (domain_usable(stx->domain))
		(void)stx_close(stx->dev); /* its endpoints are closed */
	domain_put(stx->domain, &stx->domain->tx_contexts);
	free(stx);
	return 0;
}

static struct fi_ops stx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = stx_close_fid,
	.bind = stub_bind,
	.control = stub_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

static struct fi_ops_ep stx_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = stub_cancel,
	.getopt = stub_getopt,
	.setopt = stub_setopt,
	.tx_ctx = stub_tx_ctx,
	.rx_ctx = stub_rx_ctx,
	.rx_size_left = stub_size_left,
	.tx_size_left = stub_size_left,
};

/* All of the attributes but the size are the endpoints' own matter: each has the context's limits. */
int emu_stx_open(struct fid_domain *fid, struct fi_tx_attr *attr, struct fid_stx **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_ep checked = { .domain = domain, .caps = domain->attr->caps };
	struct emu_stx *stx;
	int err;

	if (!out || ep_take_tx(&checked, attr))
		return -FI_EINVAL;
	err = domain_get(domain, &domain->tx_contexts, domain->attr->ctx_cnt, "transmit contexts");
	if (err)
		return err;
	stx = calloc(1, sizeof(*stx));
	err = stx ? stx_open((uint32_t)checked.tx_size, &stx->dev) : -FI_ENOMEM;
	if (err) {
		free(stx);
		domain_put(domain, &domain->tx_contexts);
		return err;
	}
	stx->domain = domain;
	stx->fid.fid.fclass = FI_CLASS_STX_CTX;
	stx->fid.fid.context = context;
	stx->fid.fid.ops = &stx_fid_ops;
	stx->fid.ops = &stx_ops;
	*out = &stx->fid;
	return 0;
}

/* --- receive --- */

static int leave_device(struct emu_ep *srx)
{
	struct driver *driver = nic_driver(srx->domain->nic);
	int err;

	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = srx_close(srx->rx_dev);
	driver_leave(driver);
	return err;
}

static int srx_close_fid(struct fid *fid)
{
	struct emu_ep *srx = (struct emu_ep *)fid;
	int err;

	if (atomic_load(&srx->sharers))
		return -FI_EBUSY;
	err = domain_usable(srx->domain) ? leave_device(srx) : 0;
	if (err)
		return err;
	domain_put(srx->domain, &srx->domain->rx_contexts);
	free(srx);
	return 0;
}

/* There is nothing to be enabled, nor to be bound to: completions go where the endpoints' go. */
static int srx_control(struct fid *fid, int command, void *arg)
{
	if (command == FI_ENABLE)
		return 0;
	return command == FI_GETOPSFLAG || command == FI_SETOPSFLAG ? emu_ep_control(fid, command, arg) : -FI_ENOSYS;
}

static struct fi_ops srx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = srx_close_fid,
	.bind = stub_bind,
	.control = srx_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

static struct fi_ops_cm srx_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = stub_setname,
	.getname = stub_getname,
	.getpeer = stub_getpeer,
	.connect = stub_connect,
	.listen = stub_listen,
	.accept = stub_accept,
	.reject = stub_reject,
	.shutdown = stub_shutdown,
	.join = stub_join,
};

static int take_attr(struct emu_ep *srx, const struct fi_rx_attr *attr)
{
	uint64_t offered = attr_type_caps(srx->domain->attr, attr_type(FI_EP_RDM), srx->domain->api) &
			   (MESSAGES | FI_RECV | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | FI_TRIGGER | ATTR_CAPS_2_0);

	srx->caps = attr && attr->caps ? attr->caps & offered : offered & ~ATTR_CAPS_ASKED;
	if (!(srx->caps & MESSAGES))
		return -FI_EINVAL;
	srx->caps |= FI_RECV;
	srx->max_msg_size = srx->domain->attr->max_msg_size;
	srx->rx_selective = true; /* else it is the endpoint's matter */
	return ep_take_rx(srx, attr);
}

int emu_srx_open(struct fid_domain *fid, struct fi_rx_attr *attr, struct fid_ep **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_ep *srx;
	int err;

	if (!out)
		return -FI_EINVAL;
	srx = calloc(1, sizeof(*srx));
	if (!srx)
		return -FI_ENOMEM;
	srx->domain = domain;
	err = take_attr(srx, attr);
	if (!err)
		err = domain_get(domain, &domain->rx_contexts, domain->attr->ctx_cnt, "receive contexts");
	if (err)
		goto free_srx;
	err = srx_open(domain->nic, (uint32_t)srx->rx_size, srx->caps & FI_TAGGED, &srx->rx_dev);
	if (err)
		goto put_domain;
	srx->whole = srx;
	srx->open_caps = srx->caps;
	srx->fid.fid.fclass = FI_CLASS_SRX_CTX;
	srx->fid.fid.context = context;
	srx->fid.fid.ops = &srx_fid_ops;
	srx->fid.ops = &emu_ep_ops;
	srx->fid.cm = &srx_cm_ops;
	srx->fid.msg = &emu_msg_ops;
	srx->fid.rma = &emu_rma_ops;
	srx->fid.tagged = &emu_tagged_ops;
	srx->fid.atomic = &emu_atomic_ops;
	srx->fid.collective = &stub_collective;
	*out = &srx->fid;
	return 0;

put_domain:
	domain_put(domain, &domain->rx_contexts);
free_srx:
	free(srx);
	return err;
}
