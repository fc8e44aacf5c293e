/* SPDX-License-Identifier: BSD-2-Clause */
/* in_order.c - the ops of a queue pair: each is told in its turn. The first one that is told to have failed ends the queue pair.
 * Those posted before it are carried out, those posted later are not, and are told as cancelled. One that is unreliable
 * stops its own ops alone. */
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

void in_order_begin(struct op *op)
{
	struct pairing *pairing = op->ep->pairing;

	nic_role(op->ep->nic);
	op->flags |= POST_IN_ORDER;
	op->after = NULL;
	*(pairing->first ? &pairing->last->after : &pairing->first) = op;
	pairing->last = op;
}

/* Ends `op` and all behind it, but for those that have ended, or that another loop is ending. */
static void cancel_from(struct pairing *pairing, struct op *op)
{
	pairing->cancelling = true; /* none is told, and gone, meanwhile */
	for (; op; op = op->after)
		if (!(op->flags & POST_ENDED) && op->session && requester_drop(op->session, op))
			complete_refused(op, REFUSAL_CANCELLED, NULL);
	pairing->cancelling = false;
}

static void tell_one(struct op *op)
{
	struct pairing *pairing = op->ep->pairing;

	op->flags &= ~(uint32_t)(POST_IN_ORDER | POST_ENDED);
	if (pairing->silent) {
		op_discard(op);
		return;
	}
	if (pairing->failed) {
		op->why.cause = REFUSAL_NONE;
		complete_note(op, REFUSAL_CANCELLED, NULL);
	} else if (op->why.cause != REFUSAL_NONE) {
		pairing->failed = true;
		cm_failed(op->ep); /* V88: before the program sees the failure */
	}
	op_report(op);
}

static void tell_those_due(struct ep *ep)
{
	struct pairing *pairing = ep->pairing;
	struct op *op;

	while ((op = pairing->first) && op->flags & POST_ENDED) { /* V83 */
		pairing->first = op->after;
		tell_one(op);
	}
	if (pairing->draining)
		pairing_drain(ep);
	if (pairing->halting && ep->cm.peer && !ep->closing)
		session_time(ep->cm.peer, nic_now(ep->nic)); /* pairing_tick() goes on */
}

void in_order_end(struct op *op)
{
	struct pairing *pairing = op->ep->pairing;

	nic_role(op->ep->nic);
	op->flags |= POST_ENDED;
	if (pairing->cancelling)
		return;
	if (op->why.cause != REFUSAL_NONE && !pairing->halting && !pairing->stopped) {
		*(ep_loses(op->ep) ? &pairing->stopped : &pairing->halting) = true; /* V177, V184 */
		cancel_from(pairing, op->after);                                    /* V74, V87 */
	}
	tell_those_due(op->ep);
}

void in_order_cancel(struct ep *ep)
{
	nic_role(ep->nic);
	ep->pairing->halting = true;
	cancel_from(ep->pairing, ep->pairing->first);
	tell_those_due(ep);
}

void in_order_bar(struct session *session)
{
	struct pairing *pairing = session->ep->pairing;
	enum refusal_cause cause = REFUSAL_NONE;
	struct op *op = pairing->first;

	nic_role(session->ep->nic);
	for (; op; op = op->after) {
		cause = op->session && !(op->flags & POST_ENDED) ? pairing_bars(pairing, op) : REFUSAL_NONE;
		if (cause != REFUSAL_NONE)
			break;
	}
	if (op && requester_drop(session, op))
		complete_refused(op, cause, NULL);
}
