/* SPDX-License-Identifier: BSD-2-Clause */
/* requester_rnr.c - requests that were dropped, as the receiver was not ready: how long they wait, and how often. */
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/transport/transport_calls.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The first wait that a peer asks for, within bounds: it may ask for nothing, or for hours. */
static uint64_t rnr_first(uint64_t asked_ns)
{
	return least(asked_ns > TIME_RNR_MIN_NS ? asked_ns : TIME_RNR_MIN_NS, TIME_RNR_MAX_NS);
}

static uint64_t rnr_wait(const struct ep *ep, uint64_t last_ns, uint64_t asked_ns)
{
	uint64_t first = rnr_first(asked_ns);

	if (ep->attr.rules & EP_RULE_RECEIVE_FIRST)
		return first;
	return last_ns ? least(least(2 * last_ns, RNR_DOUBLED * first), TIME_RNR_MAX_NS) : first;
}

/* V91: so often in a row a receiver may be not ready for an op; 0: without end. */
static uint32_t rnr_tries(const struct ep *ep)
{
	if (ep->timing.rnr_most == RNR_AS_DEVICE)
		return ep->nic->config.rnr_most;
	return ep->timing.rnr_most >= RNR_EVER ? 0 : ep->timing.rnr_most + 1u;
}

/* The op that the receiver was not ready for, which waits again; NULL: it has ended, as it has been sent often enough. */
static struct op *rnr_count(struct requester *req, uint32_t most)
{
	struct op *op = req->current ? NULL : req->pending.first; /* `current`: it has been taken in part */

	if (!op)
		return NULL;
	op->rnrs += op->rnrs < UINT8_MAX;
	if (!most || op->rnrs < most)
		return op;
	op_list_pop(&req->pending);
	req->rnr_wait_ns = 0; /* of the next op it is the first */
	complete_refused(op, REFUSAL_NOT_READY, NULL);
	return NULL;
}

/* All ops to this peer wait, but for those that may pass. */
static void rnr_hold_all(struct session *session, uint64_t now_ns, uint64_t asked_ns)
{
	struct requester *req = &session->req;

	req->rnr_wait_ns = rnr_wait(session->ep, req->rnr_wait_ns, asked_ns);
	req->rnr_until_ns = now_ns + req->rnr_wait_ns + 1;
}

/* EP_ORDER_NONE: the op waits alone. */
static void rnr_hold_one(struct requester *req, struct op *op, uint64_t now_ns, uint64_t asked_ns)
{
	uint64_t doubled = least(1ull << least(op->rnrs - 1u, 32), RNR_DOUBLED);

	op->again_ns = now_ns + least(doubled * rnr_first(asked_ns), TIME_RNR_MAX_NS) + 1;
	if (!req->rnr_until_ns || op->again_ns < req->rnr_until_ns)
		req->rnr_until_ns = op->again_ns;
}

bool requester_rnr(struct session *session, uint64_t ref, uint32_t wait_us)
{
	struct requester *req = &session->req;
	struct op *op;

	nic_role(session->ep->nic);
	if (ref <= req->acked || ref <= req->executed || ref >= req->next_seq)
		return false;
	requester_rewind(session, ref);
	op = rnr_count(req, rnr_tries(session->ep));
	if (!(session->ep->attr.order & EP_ORDER_NONE))
		rnr_hold_all(session, nic_now(session->ep->nic), (uint64_t)wait_us * 1000);
	else if (op)
		rnr_hold_one(req, op, nic_now(session->ep->nic), (uint64_t)wait_us * 1000);
	if (req->rnr_until_ns)
		session_time(session, req->rnr_until_ns);
	if (session->conn) /* some of the dropped ops may pass */
		conn_busy(session->conn);
	return true;
}
