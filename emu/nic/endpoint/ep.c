/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.c - an endpoint's life, and that of the contexts that it may share. */
#include "emu/nic/endpoint/ep_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/collectives/coll_impl.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/regions/auth_set.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

enum { FIRST_BUCKETS = 64 };

/* --- contexts --- */

int stx_open(uint32_t size, struct stx **out)
{
	struct stx *stx = calloc(1, sizeof(*stx));
	int err;

	if (!stx)
		return -ENOMEM;
	err = pool_open(&stx->ops, sizeof(struct op), size ? size : LIMIT_TX_OPS);
	if (err)
		free(stx);
	else
		*out = stx;
	return err;
}

int stx_close(struct stx *stx)
{
	if (atomic_load(&stx->users))
		return -EBUSY;
	pool_close(stx->ops);
	free(stx);
	return 0;
}

static void stx_join(struct stx *stx)
{
	atomic_fetch_add(&stx->users, 1);
}

static void stx_leave(struct stx *stx)
{
	atomic_fetch_sub(&stx->users, 1);
}

int srx_close(struct srx *srx)
{
	role_assert();
	if (srx->users)
		return -EBUSY;
	if (srx->offer.xrc)
		xrc_withdraw(srx);
	deferred_release(srx->nic, NULL, srx);
	while (submit_take(srx->nic))
		;
	srx_free(srx);
	return 0;
}

/* --- the endpoint --- */

static void ep_references(struct ep *ep, bool take)
{
	struct ep_attr *attr = &ep->attr;

	attr->pd->users += take ? 1 : (uint32_t)-1;
	if (attr->av)
		(take ? av_get : av_put)(attr->av);
	if (attr->tx_cq)
		(take ? cq_get : cq_put)(attr->tx_cq);
	if (attr->rx_cq)
		(take ? cq_get : cq_put)(attr->rx_cq);
	for (int i = 0; i < EP_CNTRS; i++)
		if (attr->cntr[i])
			(take ? cntr_get : cntr_put)(attr->cntr[i]);
}

/* Contexts: those of the attributes, or its own. */
static int ep_open_contexts(struct ep *ep)
{
	const struct ep_attr *attr = &ep->attr;
	int err = 0;

	if (attr->srx && attr->srx->ep && attr->srx->ep->attr.av != attr->av)
		return -EINVAL;
	ep->stx = attr->stx;
	ep->srx = attr->srx;
	if (!ep->stx)
		err = stx_open(attr->tx_size, &ep->stx);
	if (!err && !ep->srx) {
		err = srx_open(ep->nic, attr->rx_size, attr->caps & EP_TRECV, &ep->srx);
		if (!err)
			ep->srx->shared = false;
	}
	if (!err && attr->caps & EP_COLLECTIVE)
		err = collectives_open(ep);
	return err;
}

static void ep_free(struct ep *ep)
{
	collectives_close(ep);
	if (!ep->attr.stx && ep->stx)
		(void)stx_close(ep->stx); /* its own, which no other endpoint uses */
	if (!ep->attr.srx && ep->srx)
		srx_free(ep->srx);
	free(ep->pairing);
	free(ep->pairs);
	hash_fini(&ep->by_peer);
	free(ep);
}

/* From here on peers find it. */
static int ep_listen(struct ep *ep)
{
	struct nic *nic = ep->nic;
	int err;

	if (ep->attr.through) {
		err = ep->attr.datagrams ? dgram_pair_open(ep) : 0;
		return err ? err : pairing_open(ep);
	}
	if (ep->attr.pairs) {
		ep->pairs = calloc(1, sizeof(*ep->pairs));
		if (!ep->pairs)
			return -ENOMEM;
		nic->link.random(nic->link_arg, &ep->pairs->next, sizeof(ep->pairs->next));
	}
	err = ep->attr.datagrams ? dgram_open(ep) : nic->link.listen(nic->link_arg, &ep->name, ep, &ep->listener);
	address_canonical((struct sockaddr *)&ep->name, &ep->name);
	return err;
}

int ep_open(struct nic *nic, const struct ep_attr *attr, struct ep **out)
{
	struct ep *ep = calloc(1, sizeof(*ep));
	int err;

	nic_role(nic);
	if (!ep)
		return -ENOMEM;
	ep->nic = nic;
	ep->attr = *attr;
	ep->apart = attr->cm || attr->datagrams;
	ep->timing.rnr_most = RNR_AS_DEVICE;
	cm_init(ep);
	err = hash_init(&ep->by_peer, FIRST_BUCKETS);
	if (!err)
		err = ep_open_contexts(ep);
	if (err)
		goto free_ep;
	nic->link.random(nic->link_arg, ep->hash_secret, sizeof(ep->hash_secret));
	nic->link.random(nic->link_arg, ep->instance, sizeof(ep->instance));
	if (nic->link.join)
		memcpy(ep->instance, nic->process, sizeof(nic->process));
	ep->instance[0] |= 1; /* all zero means no endpoint */
	ep->name = attr->at;
	err = ep_listen(ep);
	if (err)
		goto free_ep;
	ep_references(ep, true);
	ep->home.srx = ep->srx;
	ep->home.rx_cq = attr->rx_cq;
	ep->home.pd = attr->pd;
	srx_join(ep->srx, ep);
	stx_join(ep->stx);
	ep->next = nic->eps;
	nic->eps = ep;
	*out = ep;
	return 0;

free_ep:
	ep_free(ep);
	return err;
}

void ep_count(struct ep *ep, enum ep_counter which, struct cntr *cntr)
{
	nic_role(ep->nic);
	assert(!ep->attr.cntr[which]);
	cntr_get(cntr);
	ep->attr.cntr[which] = cntr;
}

void ep_set_caps(struct ep *ep, uint32_t caps)
{
	nic_role(ep->nic);
	ep->attr.caps = caps;
}

void ep_set_timing(struct ep *ep, const struct ep_timing *timing)
{
	nic_role(ep->nic);
	ep->timing = *timing;
}

void ep_share_tx(struct ep *ep, struct stx *stx)
{
	struct stx *own = ep->stx;

	nic_role(ep->nic);
	assert(!ep->attr.stx);
	stx_join(stx);
	futex_lock(&ep->nic->submit.lock);
	ep->stx = stx;
	futex_unlock(&ep->nic->submit.lock);
	ep->attr.stx = stx;
	stx_leave(own);
	(void)stx_close(own); /* which no other endpoint uses; its memory goes with the last op */
}

static bool session_quiet(struct session *session)
{
	struct responder *rsp = &session->rsp;

	if (rsp->opens)
		open_access_let_go(session);
	if (session->conn && rsp->owed_requests > 0) {
		rsp->ack_now = true;
		conn_busy(session->conn);
		return false;
	}
	return requester_idle(session) && !rsp->responses && (!rsp->commits_open || !session->conn) &&
	       (!rsp->unsent || !session->conn) && (!session->conn || !session->conn->out.buffer);
}

bool ep_quiet(struct ep *ep)
{
	bool quiet = !submit_pending(&ep->nic->submit) && dgram_quiet(&ep->dgram);

	nic_role(ep->nic);
	for (struct session *session = ep->sessions; session; session = session->next)
		quiet &= session_quiet(session);
	return quiet && (!ep->self || session_quiet(ep->self));
}

static void ep_close_session(struct session *session)
{
	if (session->conn)
		conn_bye(session->conn, WIRE_BYE_CLOSED, "the endpoint was closed", true);
	session_end(session, REFUSAL_CANCELLED);
	session_free(session);
}

/* Connections that have said no HELLO yet, and closed ones: nothing refers to the endpoint after this. */
static void ep_close_conns(struct ep *ep)
{
	struct conn *conn, *next;

	for (conn = ep->nic->conns; conn; conn = next) {
		next = conn->next;
		if (conn->ep == ep)
			conn_close(conn, 0, true);
	}
}

void ep_stop_listening(struct ep *ep)
{
	struct nic *nic = ep->nic;

	nic_role(ep->nic);
	if (ep->listener)
		nic->link.unlisten(nic->link_arg, ep->listener);
	ep->listener = NULL;
	pairing_hide(ep);
	dgram_close(ep);
	services_close(ep);
}

bool ep_make_room(struct ep *ep)
{
	nic_role(ep->nic);
	return evict_idle(ep->nic);
}

void ep_close(struct ep *ep)
{
	struct nic *nic = ep->nic;
	struct ep **at;

	nic_role(ep->nic);
	/* Unfindable: no new connection, no new op. */
	ep->closing = ep->apart = true;
	ep_stop_listening(ep);
	deferred_release(nic, ep, NULL);
	while (submit_take(nic))
		;
	/* Quiet: every session says goodbye, every op ends. */
	fault_flush(ep);
	while (ep->sessions)
		ep_close_session(ep->sessions);
	if (ep->self)
		ep_close_session(ep->self);
	xrc_home(ep);
	dgram_flush(ep);
	ep_close_conns(ep);
	cm_flush_receives(ep);
	if (ep->collectives)
		collectives_end(ep);
	srx_leave(ep->srx, ep);
	stx_leave(ep->stx);
	/* Freed: the pools live on until unread completions are read. */
	for (at = &nic->eps; *at != ep; at = &(*at)->next)
		;
	*at = ep->next;
	ep_references(ep, false);
	ep_free(ep);
}

void ep_name(const struct ep *ep, struct sockaddr_storage *name)
{
	*name = ep->name;
}

/* The session is not the one last posted to. */
__attribute__((noinline)) static struct session *look_up_session(struct ep *ep, uint64_t dest, uint64_t generation,
								 enum refusal_cause *cause)
{
	struct sockaddr_storage peer;
	uint64_t stamp;

	*cause = REFUSAL_ADDRESS;
	if (av_lookup(ep->attr.av, dest, &peer, &stamp) != 0)
		return NULL;
	if (ep->attr.port_shift)
		av_move_port(&peer, ep->attr.port_shift);
	*cause = REFUSAL_NO_SESSION;
	ep->last = session_get(ep, &peer);
	ep->last_dest = dest;
	ep->last_stamp = generation;
	return ep->last;
}

struct session *ep_session(struct ep *ep, const struct op *op, enum refusal_cause *cause)
{
	uint64_t generation, dest = op->dest;

	nic_role(ep->nic);
	generation = av_generation(ep->attr.av);
	if (ep->last && ep->last_dest == dest && ep->last_stamp == generation)
		return ep->last;
	return look_up_session(ep, dest, generation, cause);
}

bool ep_takes(const struct ep *ep, uint64_t shown, const struct sockaddr_storage *sender)
{
	const struct ep_attr *attr = &ep->attr;

	nic_role(ep->nic);
	return attr->auths ? auth_set_fits(attr->auths, shown, sender) : auth_fits(attr->auth, shown);
}
