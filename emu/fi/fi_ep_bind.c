/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep_bind.c - what an endpoint is bound to: a table of classes, each with its own rules. */
#include <rdma/fi_errno.h>

#include "emu/fi/fi_av.h"
#include "emu/fi/fi_cntr.h"
#include "emu/fi/fi_cq.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_ep.h"
#include "emu/fi/fi_eq.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_shared.h"

static const struct { uint64_t flag; enum ep_counter counter; } counted[] = {
	{ FI_SEND, EP_CNTR_SEND }, { FI_RECV, EP_CNTR_RECV }, { FI_READ, EP_CNTR_READ }, { FI_WRITE, EP_CNTR_WRITE },
	{ FI_REMOTE_READ, EP_CNTR_REMOTE_READ }, { FI_REMOTE_WRITE, EP_CNTR_REMOTE_WRITE },
};
enum { COUNTED = sizeof(counted) / sizeof(counted[0]) };

static int bind_cq(struct emu_ep *ep, struct emu_cq *cq, uint64_t flags)
{
	bool tx = flags & FI_TRANSMIT, rx = flags & FI_RECV, selective = flags & FI_SELECTIVE_COMPLETION;

	if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION))
		return -FI_EBADFLAGS;
	if ((!tx && !rx) || (tx && ep->tx_cq) || (rx && ep->rx_cq))
		return -FI_EINVAL;
	if (cq->domain != ep->domain)
		return -FI_EDOMAIN;
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
		return -FI_EBADFLAGS;
	if (ep->av || ep->scalable || ep->type == FI_EP_MSG)
		return -FI_EINVAL; /* contexts have that of their scalable endpoint, and one peer needs no address */
	if (av->domain != ep->domain)
		return -FI_EDOMAIN;
	av_get(av->av);
	ep->av = av;
	return 0;
}

/* Remote reads and writes are counted for endpoints opened with FI_RMA_EVENT. Where there are none by its capabilities,
 * a counter of them stays as it is. */
static int bind_cntr(struct emu_ep *ep, struct emu_cntr *cntr, uint64_t flags)
{
	uint64_t known = 0;

	for (int i = 0; i < COUNTED; i++) {
		known |= counted[i].flag;
		if (flags & counted[i].flag && ep->cntr[counted[i].counter])
			return -FI_EINVAL;
	}
	if ((flags & ep->caps & (FI_REMOTE_READ | FI_REMOTE_WRITE)) && !(ep->caps & FI_RMA_EVENT)) {
		EMU_WARN(EP_CTRL, "counters of remote reads and writes need FI_RMA_EVENT in info->caps\n");
		return -FI_ENOSYS;
	}
	if (flags & ~known)
		return -FI_EBADFLAGS;
	if (!flags)
		return -FI_EINVAL;
	if (cntr->domain != ep->domain)
		return -FI_EDOMAIN;
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
		return -FI_EBADFLAGS;
	if (ep->eq)
		return -FI_EINVAL;
	if (emu_eq_fabric(eq) != ep->domain->fabric)
		return -FI_EINVAL;
	emu_eq_get(eq);
	ep->eq = eq;
	return 0;
}

int emu_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct emu_ep *ep = ((struct emu_ep *)fid)->whole;

	if (!bfid)
		return -FI_EINVAL;
	if (!domain_usable(ep->domain))
		return -FI_ENODEV;
	if (ep->dev)
		return -FI_EOPBADSTATE; /* before fi_enable only */
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
		return -FI_EINVAL;
	}
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
