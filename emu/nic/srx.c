/* SPDX-License-Identifier: BSD-2-Clause */
/* srx.c - a receive context's life, and what it is told from outside. */
#include "emu/nic/srx.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/completer.h"
#include "emu/nic/ep.h"
#include "emu/nic/held.h"
#include "emu/nic/message.h"
#include "emu/nic/multi_recv.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/pool.h"

int srx_open(struct nic *nic, uint32_t size, bool tags, struct srx **out)
{
	struct srx *srx = calloc(1, sizeof(*srx));
	int err = srx ? 0 : -ENOMEM;

	if (err)
		return err;
	srx->nic = nic;
	srx->shared = true;
	err = pool_open(&srx->rxs, sizeof(struct rx), size ? size : LIMIT_RX_OPS);
	if (!err)
		err = pool_open(&srx->pieces, sizeof(struct rx), LIMIT_PIECES);
	if (!err)
		err = rx_match_init(&srx->match, tags);
	if (err)
		srx_free(srx);
	else
		*out = srx;
	return err;
}

void srx_free(struct srx *srx)
{
	struct rx *rx;

	while ((rx = rx_match_any(&srx->match)))
		complete_receive_failed(rx, REFUSAL_CANCELLED);
	pool_close(srx->rxs);
	pool_close(srx->pieces);
	rx_match_fini(&srx->match);
	free(srx);
}

int srx_close(struct srx *srx)
{
	if (srx->users)
		return -EBUSY;
	held_release(srx->nic, NULL, srx);
	while (submit_take(srx->nic))
		;
	srx_free(srx);
	return 0;
}

void srx_join(struct srx *srx, struct ep *ep)
{
	srx->users++;
	if (!srx->ep)
		srx->ep = ep;
}

void srx_leave(struct srx *srx, struct ep *ep)
{
	message_drop_all(&srx->match, ep);
	srx->users--;
	if (srx->ep != ep)
		return;
	for (srx->ep = srx->nic->eps; srx->ep; srx->ep = srx->ep->next)
		if (srx->ep->srx == srx && srx->ep != ep)
			break;
}

struct ep *srx_reporter(const struct rx *rx)
{
	return rx->ep ? rx->ep : rx->srx->ep;
}

int srx_cancel(struct srx *srx, void *context)
{
	struct rx *rx;

	if (srx->ep && srx->ep->attr.rx_cq && cq_choked(srx->ep->attr.rx_cq))
		return -EAGAIN;
	if (held_cancel(srx->nic, NULL, srx, context))
		return 0;
	while (submit_take(srx->nic))
		;
	rx = rx_match_cancel(&srx->match, context);
	if (!rx)
		return -ENOENT;
	if (rx->flags & POST_MULTI)
		multi_cancel(rx);
	else
		complete_receive_failed(rx, REFUSAL_CANCELLED);
	return 0;
}
