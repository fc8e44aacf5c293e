/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_cancel.c - kfi_cancel(). */
#include "emu/kfi/ep/kemu_data.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_objects.h"

/* Of an operation in a window libfabric knows another context. */
static void *known_context(const struct kemu_ep *ep, void *context)
{
	void *known = ep->rx_cq ? kemu_cq_lent(ep->rx_cq, context) : context;

	if (known == context && ep->tx_cq && ep->tx_cq != ep->rx_cq)
		known = kemu_cq_lent(ep->tx_cq, context);
	return known;
}

ssize_t kemu_cancel(struct kfid *fid, void *context)
{
	struct kemu_ep *ep = kemu_ep(container_of(fid, struct kfid_ep, fid));

	return fi_cancel(&ep->fi->fid, known_context(ep, context));
}
