/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.c - a queue pair gets its number and its peer. */
#include "emu/nic/endpoint/pair.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/session.h"

int pairing_open(struct ep *ep)
{
	struct ep *through = ep->attr.through;
	struct pairs *pairs = through->pairs;
	uint8_t index = pairs->next;

	nic_role(ep->nic);
	while (pairs->at[index])
		if (++index == pairs->next)
			return -EADDRINUSE;
	ep->pairing = calloc(1, sizeof(*ep->pairing));
	if (!ep->pairing)
		return -ENOMEM;
	ep->pairing->qpn = (uint32_t)address_port(&through->name) << 8 | index;
	ep->name = through->name;
	address_set_qpn(&ep->name, ep->pairing->qpn);
	pairs->at[index] = ep;
	/* A number that was in use lately is the last to come again: late peers know it. */
	pairs->next = (uint8_t)(index + 1);
	return 0;
}

void pairing_hide(struct ep *ep)
{
	nic_role(ep->nic);
	if (ep->pairing)
		ep->attr.through->pairs->at[ep->pairing->qpn & 0xff] = NULL;
}

void nic_each_pair(struct nic *nic, void (*each)(void *owner, void *arg), void *arg)
{
	nic_role(nic);
	for (struct ep *ep = nic->eps; ep; ep = ep->next)
		if (ep->pairing)
			each(ep->attr.owner, arg);
}

static void port_down(struct session *session)
{
	if (session->fault_until_ns != UINT64_MAX)
		session->fault_then_ns = session->fault_until_ns;
	session->fault_until_ns = UINT64_MAX;
}

static void unplug(struct session *session)
{
	port_down(session);
	if (session->question)
		conn_close(session->question, 0, true);
	if (session->conn)
		conn_close(session->conn, ECONNRESET, false);
}

static void plug_in(struct session *session)
{
	if (session->fault_until_ns != UINT64_MAX)
		return;
	session->fault_until_ns = session->fault_then_ns;
	if (session->state != SESSION_BACKOFF)
		return;
	session->retry_ns = nic_now(session->ep->nic);
	session_time(session, session->retry_ns);
}

void nic_unplug(struct nic *nic, bool unplugged)
{
	nic_role(nic);
	if (nic->unplugged == unplugged)
		return;
	nic->unplugged = unplugged;
	for (struct ep *ep = nic->eps; ep; ep = ep->next)
		if (ep->pairing && ep->cm.peer)
			(unplugged ? unplug : plug_in)(ep->cm.peer);
}

uint32_t ep_qpn(const struct ep *ep)
{
	return ep->pairing->qpn;
}

int ep_pair(struct ep *ep, const struct ep_pair *pair)
{
	struct pairing *pairing = ep->pairing;
	struct sockaddr_storage own, peer;
	struct session *session;

	nic_role(ep->nic);
	if (ep->attr.datagrams) {
		cm_enter(ep, CM_UP); /* V140 */
		return 0;
	}
	if (!address_canonical((const struct sockaddr *)&pair->own, &own) ||
	    !address_canonical((const struct sockaddr *)&pair->peer, &peer))
		return -EINVAL;
	address_set_qpn(&own, pairing->qpn);
	address_set_qpn(&peer, pair->peer_qpn);
	session = session_get(ep, &peer);
	if (!session)
		return -ENOMEM;
	ep->name = own;
	pairing->own = (struct wire_pair_fields){ .sq_psn = WIRE_PSN_UNKNOWN, .rq_psn = pair->rq_psn, .path_mtu = pair->path_mtu };
	(ep->nic->unplugged ? port_down : plug_in)(session); /* nic_unplug() may not have met it */
	ep->cm.peer = session;
	cm_enter(ep, CM_UP); /* V57, V58, V133 */
	if (pairing->knocked)
		session_want(session);
	pairing->knocked = false;
	pairing->look_ns = nic_now(ep->nic) + TIME_PAIR_LOOK_NS;
	session_time(session, pairing->look_ns);
	return 0;
}

void ep_pair_send(struct ep *ep, uint32_t sq_psn)
{
	struct session *session = ep->cm.peer;

	nic_role(ep->nic);
	ep->pairing->own.sq_psn = sq_psn;
	if (!session || !session->conn || session->state != SESSION_OPEN)
		return;
	pairing_compare(session);
	session->rsp.due |= DUE_PAIR;
	conn_busy(session->conn);
}

void pairing_heard(struct ep *ep)
{
	struct pairing *pairing = ep->pairing;

	nic_role(ep->nic);
	if (!pairing || pairing->heard || pairing->own.sq_psn != WIRE_PSN_UNKNOWN)
		return;
	pairing->heard = true;
	cm_tell(ep, &(struct cm_event){ .kind = CM_HEARD });
}

/* The op's turn has come. */
static void pairing_start(struct op *op)
{
	struct pairing *pairing = op->ep->pairing;
	enum refusal_cause cause = op->why.cause; /* of the front end */

	op->why.cause = REFUSAL_NONE; /* the rest of it is noted with the cause */
	if (pairing->halting || pairing->stopped || op->ep->closing || !cm_session(op->ep))
		cause = REFUSAL_CANCELLED;
	else if (cause == REFUSAL_NONE)
		cause = pairing_bars(pairing, op);
	if (cause != REFUSAL_NONE)
		complete_refused(op, cause, NULL);
	else if (op->flags & POST_LOCAL)
		requester_local(cm_session(op->ep), op);
	else
		requester_post(cm_session(op->ep), op);
}

void pairing_post(struct op *op)
{
	nic_role(op->ep->nic);
	if (op->ep->attr.rules & EP_RULE_NAMES_SRX)
		op->auth = op->dest; /* WIRE-164 */
	in_order_begin(op);
	pairing_start(op);
}

void pairing_drain(struct ep *ep)
{
	struct pairing *pairing = ep->pairing;
	const struct op *first = pairing->first;

	nic_role(ep->nic);
	if (!pairing->draining || pairing->halting || (first && (first != ep->cm.peer->req.pending.first || first->rnrs)))
		return;
	pairing->draining = false;
	cm_tell(ep, &(struct cm_event){ .kind = CM_DRAINED });
}

void ep_hold(struct ep *ep, bool held)
{
	struct session *session = ep->cm.peer;

	nic_role(ep->nic);
	while (submit_take(ep->nic))
		;
	if (ep->attr.datagrams) {
		dgram_pair_hold(ep, held);
		return;
	}
	session->req.held = ep->pairing->draining = held; /* V64 */
	pairing_drain(ep);
	if (!held && session->conn)
		conn_busy(session->conn);
}

void ep_go_on(struct ep *ep)
{
	nic_role(ep->nic);
	while (submit_take(ep->nic))
		;
	if (ep->pairing->halting)
		return;
	if (ep->attr.datagrams) {
		dgram_pair_go_on(ep);
		return;
	}
	ep->pairing->stopped = ep->pairing->failed = ep->pairing->draining = ep->cm.peer->req.held = false;
}

/* No request of the peer, which may be itself, is carried out any more. */
static void stop_answering(struct ep *ep, bool told)
{
	if (ep->cm.peer)
		responder_halt(ep->cm.peer, told);
	if (ep->self)
		responder_halt(ep->self, told);
}

/* All that is under way ends, once. */
static void end_all(struct ep *ep)
{
	if (ep->pairing->flushed)
		return;
	ep->pairing->flushed = true;
	in_order_cancel(ep);
	stop_answering(ep, true);
	cm_flush_receives(ep); /* V59, V89 */
}

void cm_halted(struct ep *ep)
{
	struct cm_event event = { .kind = CM_HALTED, .cause = ep->pairing->refused };

	nic_role(ep->nic);
	if (ep->cm.state != CM_UP || ep->pairing->silent)
		return;
	cm_enter(ep, CM_DOWN);
	if (event.cause == REFUSAL_NONE && ep->pairing->overran)
		event.cause = REFUSAL_RESOURCE;
	cm_tell(ep, &event);
}

void cm_failed(struct ep *ep)
{
	nic_role(ep->nic);
	if (!ep_loses(ep) || ep->pairing->halting)
		cm_halted(ep);
	else if (ep->cm.state == CM_UP && !ep->pairing->silent)
		cm_tell(ep, &(struct cm_event){ .kind = CM_STOPPED });
}

/* V134: the peer is to find out that nobody answers, when all is told. One that hears of its request's refusal leaves by itself. */
static void leave_settled(struct ep *ep)
{
	struct session *session = ep->cm.peer;

	if (session && session->conn && !ep->pairing->first && (ep->pairing->refused == REFUSAL_NONE || ep_loses(ep)))
		conn_bye(session->conn, WIRE_BYE_UNPAIRED, "the queue pair is in ERR", true);
}

/* Two that may not send wait for each other, and hardware would never say so. One of them may be late: so this is told when they
 * have been connected for a while. The peer is dialled, as no request does that. Returns when the next look is due. */
static uint64_t look_whether_both_wait(struct ep *ep, uint64_t now_ns)
{
	struct pairing *pairing = ep->pairing;
	bool known = pairing->peer.path_mtu;

	if (!pairing->look_ns || pairing->own.sq_psn != WIRE_PSN_UNKNOWN || (known && pairing->peer.sq_psn != WIRE_PSN_UNKNOWN))
		return UINT64_MAX;
	if (now_ns < pairing->look_ns)
		return pairing->look_ns;
	pairing->look_ns = now_ns + TIME_PAIR_LOOK_NS;
	if (!pairing->asked) {
		pairing->asked = true;
		session_want(ep->cm.peer);
	} else if (known) {
		pairing->look_ns = 0;
		cm_tell(ep, &(struct cm_event){ .kind = CM_WAITS, .peer = &ep->cm.peer->peer });
		return UINT64_MAX;
	}
	return pairing->look_ns;
}

uint64_t pairing_tick(struct ep *ep, uint64_t now_ns)
{
	struct pairing *pairing = ep->pairing;

	nic_role(ep->nic);
	pairing_drain(ep); /* a cut may have sent back what had begun */
	if (!pairing->halting)
		return ep->cm.state == CM_UP ? look_whether_both_wait(ep, now_ns) : UINT64_MAX;
	if (pairing->refused != REFUSAL_NONE || pairing->overran)
		cm_halted(ep);
	if (ep->cm.state != CM_DOWN)
		return UINT64_MAX;
	end_all(ep);
	leave_settled(ep);
	return UINT64_MAX;
}

void ep_halt(struct ep *ep)
{
	nic_role(ep->nic);
	while (submit_take(ep->nic))
		;
	fault_flush(ep);
	if (ep->attr.datagrams) {
		dgram_pair_halt(ep);
		return;
	}
	if (ep->pairing->halting) /* the peer knows that its request was refused, and the program does not yet (V41) */
		cm_halted(ep);
	ep->pairing->halting = true;
	if (ep->cm.state != CM_DOWN)
		cm_enter(ep, CM_DOWN);
	end_all(ep);
	leave_settled(ep);
}

void ep_reset(struct ep *ep)
{
	struct pairing *pairing = ep->pairing;
	struct session *session = ep->cm.peer;

	nic_role(ep->nic);
	pairing->silent = pairing->halting = true;
	while (submit_take(ep->nic))
		;
	fault_flush(ep);
	if (ep->attr.datagrams) {
		dgram_pair_reset(ep);
		return;
	}
	in_order_cancel(ep);
	stop_answering(ep, ep->attr.srx || ep->attr.xrc); /* told, so that its front end has it back */
	cm_drop_receives(ep);
	if (session) {
		session->req.held = false;
		cm_leave(session);
	}
	if (ep->self)
		session_end(ep->self, REFUSAL_CANCELLED);
	xrc_home(ep);
	cm_enter(ep, CM_IDLE);
	ep->cm.peer = NULL;
	*pairing = (struct pairing){ .qpn = pairing->qpn };
	/* The peer's memory of the one before is of another endpoint. */
	ep->nic->link.random(ep->nic->link_arg, ep->instance + sizeof(ep->nic->process), WIRE_ID_LEN - sizeof(ep->nic->process));
}

/* Its receives may be those of any context of its domain. */
static bool completes_at(const struct ep *ep, const struct cq *cq)
{
	return ep->attr.tx_cq == cq || ep->attr.rx_cq == cq || (ep->attr.xrc && xrc_completes_at(ep->attr.xrc, cq));
}

void nic_overran(struct nic *nic, const struct cq *cq)
{
	nic_role(nic);
	for (struct ep *ep = nic->eps; ep; ep = ep->next) {
		if (!ep->pairing || ep->cm.state != CM_UP || !completes_at(ep, cq))
			continue;
		ep->pairing->overran = ep->pairing->halting = true;
		if (ep->attr.datagrams) {
			nic->dgrams_overran = true;
			nic_arm_timer(nic, nic_now(nic)); /* dgram_pairs_tick() goes on */
		} else {
			session_time(ep->cm.peer, nic_now(nic)); /* pairing_tick() goes on */
		}
	}
}
