/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_shared_ctx.c - shared transmit and receive contexts. */
#include "emu/fi/ep/fi_ep.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep_calls.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"

#define MESSAGES (FI_MSG | FI_TAGGED)

/* For both calls that bind: checks the flags and the context's domain. */
static int check_bind(const struct emu_ep *ep, const struct emu_domain *domain, uint64_t flags)
{
	if (flags)
		return REFUSE_FLAGS(EP_CTRL, "fi_ep_bind of a shared context", flags);
	return domain == ep->domain
		       ? 0
		       : REFUSE(EP_CTRL, -FI_EDOMAIN, "fi_ep_bind: the shared context is of another domain than the endpoint.");
}

int shared_bind_tx(struct emu_ep *ep, struct emu_stx *stx, uint64_t flags)
{
	int err = check_bind(ep, stx->domain, flags);

	if (err)
		return err;
	if (ep->stx || (!ep->tx_shared && (!ep->domain->attr->binds_late || ep->scalable)))
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_ep_bind: an endpoint takes one shared transmit context, and if "
			      "ep_attr->tx_ctx_cnt is FI_SHARED_CONTEXT.");
	atomic_fetch_add(&stx->users, 1);
	ep->stx = stx;
	return 0;
}

int shared_bind_rx(struct emu_ep *ep, struct emu_ep *srx, uint64_t flags)
{
	int err = check_bind(ep, srx->domain, flags);

	if (err)
		return err;
	if (ep->srx || !ep->rx_shared)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_ep_bind: an endpoint takes one shared receive context, and if "
			      "ep_attr->rx_ctx_cnt is FI_SHARED_CONTEXT.");
	if (ep->caps & FI_RECV && ep->caps & MESSAGES & ~srx->caps)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_ep_bind: the endpoint receives messages of a kind that its shared receive "
			      "context was not opened for.");
	atomic_fetch_add(&srx->sharers, 1);
	ep->srx = srx;
	return 0;
}

static void fi_stx_put(struct emu_stx *stx)
{
	if (atomic_fetch_sub(&stx->users, 1) > 1)
		return;
	if (domain_usable(stx->domain))
		(void)stx_close(stx->dev); /* its endpoints are closed */
	free(stx);
}

void shared_unbind(struct emu_ep *ep)
{
	if (ep->stx)
		fi_stx_put(ep->stx);
	if (ep->srx)
		atomic_fetch_sub(&ep->srx->sharers, 1);
}

/* --- transmit --- */

static int stx_close_fid(struct fid *fid)
{
	struct emu_stx *stx = (struct emu_stx *)fid;
	unsigned int sharers = atomic_load(&stx->users) - 1;

	if (sharers && !stx->domain->attr->closes_shared)
		return REFUSE(EP_CTRL, -FI_EBUSY, "fi_close: endpoints that use the shared transmit context: %u. Close them first.",
			      sharers);
	domain_put(stx->domain, &stx->domain->tx_contexts);
	fi_stx_put(stx);
	return 0;
}

static struct fi_ops stx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = stx_close_fid,
	.bind = stub_bind,
	.control = stub_control,
	STUB_FID_OPS,
};

static struct compat_ops_ep stx_ops = {
	.base = {
		.size = sizeof(struct compat_ops_ep),
		.cancel = stub_cancel,
		.getopt = stub_getopt,
		.setopt = stub_setopt,
		.tx_ctx = stub_tx_ctx,
		.rx_ctx = stub_rx_ctx,
		.rx_size_left = stub_size_left,
		.tx_size_left = stub_size_left,
	},
	.COMPAT_XPU(export_xpu) = stub_ep_export_xpu,
};

/* Only the size is used; the other attributes are for the endpoints: each has the context's limits. */
int emu_stx_open(struct fid_domain *fid, struct fi_tx_attr *attr, struct fid_stx **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_ep checked = { .domain = domain, .caps = domain->attr->caps };
	struct emu_stx *stx;
	int err;

	if (!out)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_stx_context: stx is NULL.");
	err = ep_take_tx(&checked, attr);
	if (err)
		return err;
	err = domain_get(domain, &domain->tx_contexts, domain->attr->ctx_cnt, "fi_stx_context");
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
	atomic_init(&stx->users, 1);
	stx->fid.fid.fclass = FI_CLASS_STX_CTX;
	stx->fid.fid.context = context;
	stx->fid.fid.ops = &stx_fid_ops;
	stx->fid.ops = &stx_ops.base;
	*out = &stx->fid;
	return 0;
}

/* --- receive --- */

static int srx_close_device(struct emu_ep *srx)
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
		return REFUSE(EP_CTRL, -FI_EBUSY, "fi_close: endpoints that use the shared receive context: %u. Close them first.",
			      atomic_load(&srx->sharers));
	err = domain_usable(srx->domain) ? srx_close_device(srx) : 0;
	if (err)
		return err;
	domain_put(srx->domain, &srx->domain->rx_contexts);
	free(srx);
	return 0;
}

/* There is nothing to enable or to bind to: completions go to the endpoints' queues. */
static int srx_control(struct fid *fid, int command, void *arg)
{
	if (command == FI_ENABLE)
		return 0;
	if (command != FI_GETOPSFLAG && command != FI_SETOPSFLAG)
		return refuse_command("a shared receive context", command);
	return emu_ep_control(fid, command, arg);
}

static struct fi_ops srx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = srx_close_fid,
	.bind = stub_bind,
	.control = srx_control,
	STUB_FID_OPS,
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
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_srx_context: attr->caps %#llx name neither FI_MSG nor FI_TAGGED, or are "
			      "not offered.",
			      (unsigned long long)(attr ? attr->caps : 0));
	srx->caps |= FI_RECV;
	srx->max_msg_size = srx->domain->attr->max_msg_size;
	srx->rx_selective = true; /* without FI_COMPLETION the endpoint decides */
	return ep_take_rx(srx, attr);
}

int emu_srx_open(struct fid_domain *fid, struct fi_rx_attr *attr, struct fid_ep **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_ep *srx;
	int err;

	if (!out)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_srx_context: rx_ep is NULL.");
	srx = calloc(1, sizeof(*srx));
	if (!srx)
		return -FI_ENOMEM;
	srx->domain = domain;
	err = take_attr(srx, attr);
	if (!err)
		err = domain_get(domain, &domain->rx_contexts, domain->attr->ctx_cnt, "fi_srx_context");
	if (err)
		goto free_srx;
	err = srx_open(domain->nic, (uint32_t)srx->rx_size, srx->caps & FI_TAGGED, &srx->rx_dev);
	if (err)
		goto put_domain;
	srx->primary = srx;
	srx->open_caps = srx->caps;
	srx->fid.fid.fclass = FI_CLASS_SRX_CTX;
	srx->fid.fid.context = context;
	srx->fid.fid.ops = &srx_fid_ops;
	srx->fid.ops = &emu_ep_ops.base;
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
