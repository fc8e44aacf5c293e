/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep_bind.c - the objects that an endpoint is bound to: each class has its own rules. */
#include <rdma/fi_errno.h>

#include "emu/fi/av/fi_av.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/fi/queues/fi_eq.h"

static const struct {
	uint64_t flag;
	enum ep_counter counter;
} counted[] = {
	{ FI_SEND, EP_CNTR_SEND },
	{ FI_RECV, EP_CNTR_RECV },
	{ FI_READ, EP_CNTR_READ },
	{ FI_WRITE, EP_CNTR_WRITE },
	{ FI_REMOTE_READ, EP_CNTR_REMOTE_READ },
	{ FI_REMOTE_WRITE, EP_CNTR_REMOTE_WRITE },
};
enum { COUNTED = sizeof(counted) / sizeof(counted[0]) };

static int other_domain(const char *what)
{
	return REFUSE(EP_CTRL, -FI_EDOMAIN, "fi_ep_bind: the %s is of another domain than the endpoint. Open both from one.", what);
}

static int bind_cq(struct emu_ep *ep, struct emu_cq *cq, uint64_t flags)
{
	bool tx = flags & FI_TRANSMIT, rx = flags & FI_RECV, selective = flags & FI_SELECTIVE_COMPLETION;

	if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION))
		return REFUSE_FLAGS(EP_CTRL, "fi_ep_bind of a completion queue",
				    flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
	if (!tx && !rx)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_ep_bind: a completion queue is bound with FI_TRANSMIT, FI_RECV or both.");
	if ((tx && ep->tx_cq) || (rx && ep->rx_cq))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_ep_bind: the endpoint has a completion queue for %s already.",
			      tx && ep->tx_cq ? "FI_TRANSMIT" : "FI_RECV");
	if (cq->domain != ep->domain)
		return other_domain("completion queue");
	if (tx) {
		cq_get(cq->cq);
		ep->tx_cq = cq;
		ep->tx_selective = selective;
	}
	if (rx) {
		cq_get(cq->cq);
		ep->rx_cq = cq;
		ep->rx_selective = selective;
	}
	return 0;
}

static int bind_av(struct emu_ep *ep, struct emu_av *av, uint64_t flags)
{
	if (flags)
		return REFUSE_FLAGS(EP_CTRL, "fi_ep_bind of an address vector", flags);
	if (ep->av || ep->scalable || ep->type == FI_EP_MSG)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_ep_bind: the endpoint takes no address vector: %s.",
			      ep->scalable ? "a context has that of its scalable endpoint"
			      : ep->av     ? "it has one"
					   : "FI_EP_MSG has one peer, named by fi_connect");
	if (av->domain != ep->domain)
		return other_domain("address vector");
	av_get(av->av);
	ep->av = av;
	return 0;
}

/* Remote reads and writes are counted for endpoints opened with FI_RMA_EVENT. If the endpoint's capabilities exclude them,
 * their counter never moves. */
static int bind_cntr(struct emu_ep *ep, struct emu_cntr *cntr, uint64_t flags)
{
	uint64_t known = 0;

	for (int i = 0; i < COUNTED; i++) {
		known |= counted[i].flag;
		if (flags & counted[i].flag && ep->cntr[counted[i].counter])
			return REFUSE(EP_CTRL, -FI_EINVAL,
				      "fi_ep_bind: the endpoint has a counter for one of the flags %#llx "
				      "already.",
				      (unsigned long long)flags);
	}
	if ((flags & ep->caps & (FI_REMOTE_READ | FI_REMOTE_WRITE)) && !(ep->caps & FI_RMA_EVENT))
		return REFUSE(EP_CTRL, -FI_ENOSYS,
			      "fi_ep_bind: a counter of remote reads or writes needs FI_RMA_EVENT. Ask for "
			      "it in hints->caps.");
	if (flags & ~known)
		return REFUSE_FLAGS(EP_CTRL, "fi_ep_bind of a counter", flags & ~known);
	if (!flags)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_ep_bind: flags is 0. It says what the counter counts: FI_SEND, FI_RECV, "
			      "FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE.");
	if (cntr->domain != ep->domain)
		return other_domain("counter");
	for (int i = 0; i < COUNTED; i++) {
		if (flags & counted[i].flag) {
			cntr_get(cntr->cntr);
			ep->cntr[counted[i].counter] = cntr;
		}
	}
	return 0;
}

static int bind_eq(struct emu_ep *ep, struct emu_eq *eq, uint64_t flags)
{
	if (flags)
		return REFUSE_FLAGS(EP_CTRL, "fi_ep_bind of an event queue", flags);
	if (ep->eq)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_ep_bind: the endpoint has an event queue already.");
	if (emu_eq_fabric(eq) != ep->domain->fabric)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_ep_bind: the event queue is of another fabric object. Open it from the "
			      "fabric of the endpoint's domain.");
	emu_eq_get(eq);
	ep->eq = eq;
	return 0;
}

static int ep_bind_object(struct emu_ep *ep, struct fid *bfid, uint64_t flags)
{
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct emu_cq *)bfid, flags);
	case FI_CLASS_AV:
		return bind_av(ep, (struct emu_av *)bfid, flags);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, (struct emu_cntr *)bfid, flags);
	case FI_CLASS_EQ:
		return bind_eq(ep, (struct emu_eq *)bfid, flags);
	case FI_CLASS_STX_CTX:
		return shared_bind_tx(ep, (struct emu_stx *)bfid, flags);
	case FI_CLASS_SRX_CTX:
		return shared_bind_rx(ep, (struct emu_ep *)bfid, flags);
	default:
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_ep_bind: to an object of no kind that an endpoint is bound to. Those "
			      "are completion and event queues, counters, address vectors, shared contexts.");
	}
}

/* The classes that may be bound late where the personality allows it: the device can take them in while it is at work. */
static bool may_come_late(const struct emu_ep *ep, size_t class)
{
	return ep->domain->attr->binds_late && (class == FI_CLASS_CNTR || class == FI_CLASS_STX_CTX);
}

static int too_late(size_t class)
{
	static const struct {
		size_t class;
		const char *what;
	} classes[] = {
		{ FI_CLASS_CQ, "a completion queue" },
		{ FI_CLASS_AV, "an address vector" },
		{ FI_CLASS_EQ, "an event queue" },
		{ FI_CLASS_CNTR, "a counter" },
		{ FI_CLASS_STX_CTX, "a shared transmit context" },
		{ FI_CLASS_SRX_CTX, "a shared receive context" },
	};
	const char *what = "this object";

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		what = classes[i].class == class ? classes[i].what : what;
	return REFUSE(EP_CTRL, -FI_EOPBADSTATE, "fi_ep_bind: the endpoint is enabled already, %s is bound before fi_enable%s.",
		      what,
		      class == FI_CLASS_CNTR || class == FI_CLASS_STX_CTX ? "; FI_EMU_PERSONALITY=lax allows it afterwards" : "");
}

/* Passes an object that has just been bound on to the device's endpoint. */
static void tell_device(struct emu_ep *ep, struct fid *bfid, uint64_t flags) REQUIRES(driver_role)
{
	if (bfid->fclass == FI_CLASS_STX_CTX)
		ep_share_tx(ep->dev, ep->stx->dev);
	for (int i = 0; i < COUNTED && bfid->fclass == FI_CLASS_CNTR; i++)
		if (flags & counted[i].flag)
			ep_count(ep->dev, counted[i].counter, ep->cntr[counted[i].counter]->cntr);
}

static int bind_late(struct emu_ep *ep, struct fid *bfid, uint64_t flags)
{
	struct driver *driver = nic_driver(ep->domain->nic);
	int err;

	if (!may_come_late(ep, bfid->fclass))
		return too_late(bfid->fclass);
	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = ep_bind_object(ep, bfid, flags);
	if (!err)
		tell_device(ep, bfid, flags);
	driver_leave(driver);
	return err;
}

int emu_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct emu_ep *ep = ((struct emu_ep *)fid)->primary;

	if (!bfid)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_ep_bind: bfid is NULL.");
	if (!domain_usable(ep->domain))
		return refuse_inherited("fi_ep_bind");
	return ep->dev ? bind_late(ep, bfid, flags) : ep_bind_object(ep, bfid, flags);
}

void ep_unbind(struct emu_ep *ep)
{
	shared_unbind(ep);
	if (ep->tx_cq)
		cq_put(ep->tx_cq->cq);
	if (ep->rx_cq)
		cq_put(ep->rx_cq->cq);
	if (ep->av)
		av_put(ep->av->av);
	for (int i = 0; i < EP_CNTRS; i++) {
		if (ep->cntr[i])
			cntr_put(ep->cntr[i]->cntr);
	}
	if (ep->eq)
		emu_eq_put(ep->eq);
}
