/* SPDX-License-Identifier: BSD-2-Clause */
/* xrc.c - receive contexts that requests name by number, and endpoints that have none but these. */
#include "emu/nic/messages/srx.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

struct xrc {
	struct nic *nic;
	struct srx *offered;
};

int xrc_open(struct nic *nic, struct xrc **out)
{
	struct xrc *xrc = calloc(1, sizeof(*xrc));

	if (!xrc)
		return -ENOMEM;
	xrc->nic = nic;
	*out = xrc;
	return 0;
}

void xrc_close(struct xrc *xrc)
{
	nic_role(xrc->nic);
	assert(!xrc->offered);
	free(xrc);
}

void srx_offer(struct srx *srx, const struct srx_offer *offer)
{
	nic_role(srx->nic);
	srx->offer.xrc = offer->xrc;
	srx->offer.number = offer->number;
	srx->offer.cq = offer->cq;
	srx->offer.pd = offer->pd;
	srx->offer.next = offer->xrc->offered;
	srx->envelopes = 0;
	offer->xrc->offered = srx;
}

static void stand_for(struct ep *ep, struct srx *srx, struct cq *cq, struct pd *pd)
{
	ep->srx = srx;
	ep->attr.rx_cq = cq;
	ep->attr.pd = pd;
}

void xrc_home(struct ep *ep)
{
	nic_role(ep->nic);
	if (ep->attr.xrc)
		stand_for(ep, ep->home.srx, ep->home.rx_cq, ep->home.pd);
}

void xrc_turn_to(struct ep *ep, struct srx *srx)
{
	nic_role(ep->nic);
	if (ep->attr.xrc && srx->offer.xrc) /* V187, V191 */
		stand_for(ep, srx, srx->offer.cq, srx->offer.pd);
}

bool xrc_turn(struct ep *ep, uint64_t number)
{
	struct srx *srx = ep->attr.xrc->offered;

	nic_role(ep->nic);
	if (number && xrc_named(ep) == number)
		return true;
	while (srx && srx->offer.number != number)
		srx = srx->offer.next;
	if (srx)
		xrc_turn_to(ep, srx);
	else
		xrc_home(ep);
	return srx;
}

uint32_t xrc_named(const struct ep *ep)
{
	nic_role(ep->nic);
	return ep->srx->offer.number;
}

bool xrc_completes_at(const struct xrc *xrc, const struct cq *cq)
{
	const struct srx *srx = xrc->offered;

	nic_role(xrc->nic);
	while (srx && srx->offer.cq != cq)
		srx = srx->offer.next;
	return srx;
}

/* The message or write whose segments arrive there has lost its receive. */
static void lose_receive(struct session *session, const struct srx *srx)
{
	struct rsend_state *rsend = &session->rsp.rsend;
	struct write_state *write = &session->rsp.write;
	struct conn *conn = session->conn;
	struct rx *rx = rsend->rx && rsend->rx->srx == srx ? rsend->rx : NULL;

	if (rx) {
		rsend->rx = NULL;
		rsend->lost = true;
		if (conn && conn->in.sink == SINK_MESSAGE)
			conn->in.sink = SINK_DROP;
		complete_receive_untold(rx);
	}
	if (write->rx && write->rx->srx == srx) {
		rx = write->rx;
		write->rx = NULL;
		if (conn && conn->in.sink == SINK_WRITE) { /* else its next segment finds no region */
			conn->in.sink = SINK_DROP;
			conn->in.why = (struct refusal){ .cause = REFUSAL_NO_SRX, .op = OP_WRITE, .length = write->ask.length };
		}
		complete_receive_untold(rx);
	}
}

void xrc_withdraw(struct srx *srx)
{
	struct srx **at = &srx->offer.xrc->offered;

	nic_role(srx->nic);
	while (*at != srx)
		at = &(*at)->offer.next;
	*at = srx->offer.next;
	for (struct ep *ep = srx->nic->eps; ep; ep = ep->next) {
		if (ep->attr.xrc != srx->offer.xrc)
			continue;
		for (struct session *session = ep->sessions; session; session = session->next)
			lose_receive(session, srx);
		if (ep->self)
			lose_receive(ep->self, srx);
		if (ep->srx == srx)
			xrc_home(ep);
	}
}
