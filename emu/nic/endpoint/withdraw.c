/* SPDX-License-Identifier: BSD-2-Clause */
/* withdraw.c - what the program takes from the device under its hands: a region that posts name, a receive, an op. */
#include <errno.h>

#include "emu/nic/collectives/coll_impl.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/transport/conn.h"

void recall_region(struct nic *nic, uint64_t desc)
{
	nic_role(nic);
	if (!nic->submit.names)
		return;
	while (submit_take(nic))
		;
	deferred_recall(nic, desc);
	for (struct ep *ep = nic->eps; ep; ep = ep->next) {
		recall_of_ep(ep, desc);
		coll_recall(ep, desc);
	}
	for (struct srx *srx = nic->srxs; srx; srx = srx->next)
		srx_recall(srx, desc);
}

void pd_added_region(struct pd *pd, const struct mr *mr)
{
	nic_role(pd->nic);
	if (pd->nic->trace)
		trace_region(pd->nic, mr, TRACE_REGION_OPENED);
}

void pd_remove_region(struct pd *pd, struct mr *mr)
{
	struct nic *nic = pd->nic;
	uint64_t desc = mr->desc;

	nic_role(pd->nic);
	if (mr->persistent)
		commits_close_region(nic, mr);
	access_end(pd, mr);
	recall_region(nic, desc);
}

int srx_cancel(struct srx *srx, void *context)
{
	role_assert();
	if (srx->ep && srx->ep->attr.rx_cq && cq_choked(srx->ep->attr.rx_cq))
		return -EAGAIN;
	if (deferred_cancel(srx->nic, NULL, srx, context))
		return 0;
	while (submit_take(srx->nic))
		;
	return srx_take_back(srx, context) ? 0 : -ENOENT;
}

int ep_cancel(struct ep *ep, void *context)
{
	int err = -ENOENT;

	nic_role(ep->nic);
	if (deferred_cancel(ep->nic, ep, NULL, context))
		return 0;
	if (!ep->srx->shared) /* else its receives are not the endpoint's */
		err = srx_cancel(ep->srx, context);
	return err == -ENOENT ? recall_post(ep, context) : err;
}
