/* SPDX-License-Identifier: BSD-2-Clause */
/* srx.c - a receive context's life. */
#include "emu/nic/messages/srx.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/pool.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/ops/watch.h"

int srx_open(struct nic *nic, uint32_t size, bool tags, struct srx **out)
{
	struct srx *srx = calloc(1, sizeof(*srx));
	int err = srx ? 0 : -ENOMEM;

	if (err)
		return err;
	srx->nic = nic;
	srx->shared = true;
	srx->envelopes = nic->config.envelopes;
	err = pool_open(&srx->rxs, sizeof(struct rx), size ? size : LIMIT_RX_OPS);
	if (!err)
		err = pool_open(&srx->pieces, sizeof(struct rx), LIMIT_PIECES);
	if (!err)
		err = rx_match_init(&srx->match, tags);
	srx->next = nic->srxs;
	nic->srxs = srx;
	if (err)
		srx_free(srx);
	else
		*out = srx;
	return err;
}

void srx_free(struct srx *srx)
{
	struct srx **at = &srx->nic->srxs;
	struct rx *rx;

	role_assert();
	while (*at != srx)
		at = &(*at)->next;
	*at = srx->next;

	while ((rx = rx_match_any(&srx->match)))
		complete_receive_failed(rx, REFUSAL_CANCELLED);
	pool_close(srx->rxs);
	pool_close(srx->pieces);
	rx_match_fini(&srx->match);
	free(srx);
}

void srx_join(struct srx *srx, struct ep *ep)
{
	nic_role(ep->nic);
	srx->users++;
	if (ep->attr.rules & EP_RULE_RECEIVE_FIRST)
		srx->envelopes = 0;
	if (!srx->ep)
		srx->ep = ep;
}

void srx_leave(struct srx *srx, struct ep *ep)
{
	nic_role(ep->nic);
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
	role_assert();
	return rx->ep ? rx->ep : rx->srx->ep;
}

/* Tells it once. */
static void check_low(struct srx *srx)
{
	if (srx->match.posts - srx->gone >= srx->low)
		return;
	srx->low = 0;
	srx->tell(srx->tell_arg);
}

void srx_tell_low(struct srx *srx, uint32_t low, void (*tell)(void *arg), void *arg)
{
	nic_role(srx->nic);
	srx->low = low;
	srx->tell = tell;
	srx->tell_arg = arg;
	srx->gone = srx->match.posts - rx_match_waiting(&srx->match);
	if (low)
		check_low(srx);
}

void srx_took(struct srx *srx)
{
	srx->gone++;
	check_low(srx);
}

void srx_gave_back(struct srx *srx)
{
	srx->gone--;
}

/* It was posted, and is in no queue any more. */
static void take_back(struct rx *rx, enum refusal_cause cause)
{
	if (rx->srx->low)
		srx_took(rx->srx);
	if (rx->flags & POST_MULTI)
		multi_cancel(rx, cause);
	else
		complete_receive_failed(rx, cause);
}

void srx_recall(struct srx *srx, uint64_t desc)
{
	struct rx *rx;

	role_assert();
	rx_match_shorten(&srx->match, desc);
	while ((rx = rx_match_named(&srx->match, desc)))
		take_back(rx, REFUSAL_LOCAL_CLOSED);
}

bool srx_take_back(struct srx *srx, const void *context)
{
	struct rx *rx = rx_match_cancel(&srx->match, context);

	role_assert();
	if (!rx)
		return false;
	if (rx->flags & POST_WATCHED)
		srx->nic->config.watch->cancelled(rx->watch);
	take_back(rx, REFUSAL_CANCELLED);
	return true;
}
