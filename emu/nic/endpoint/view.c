/* SPDX-License-Identifier: BSD-2-Clause */
/* view.c - copies of what the device knows, a bounded part at a time. */
#include "emu/nic/device/view.h"

#include <stdatomic.h>
#include <stdio.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

static struct ep *ep_at(struct nic *nic, uint32_t index)
{
	struct ep *ep = nic->eps;

	for (; ep && index; ep = ep->next)
		index--;
	return ep;
}

bool view_ep(struct nic *nic, uint32_t index, struct view_ep *view)
{
	struct ep *ep = ep_at(nic, index);

	nic_role(nic);
	if (!ep)
		return false;
	*view = (struct view_ep){
		.type = ep->attr.datagrams ? "dgram"
			: ep->attr.passive ? "passive"
			: ep->attr.cm      ? "msg"
					   : "rdm",
		.domain = ep->attr.pd->number,
		.caps = ep->attr.caps,
		.sessions = ep->session_count,
		.unexpected = ep->srx->match.envelopes,
		.unexpected_bytes = ep->srx->match.bytes,
		.tx_cq = ep->attr.tx_cq,
		.rx_cq = ep->attr.rx_cq,
		.shared_rx = ep->srx->shared,
	};
	address_text(&ep->name, view->name, sizeof(view->name));
	if (view->tx_cq)
		cq_look(ep->attr.tx_cq, &view->tx);
	if (view->rx_cq)
		cq_look(ep->attr.rx_cq, &view->rx);
	return true;
}

static void session_look(struct session *session, uint32_t ep, struct view_session *view)
{
	static const char *const states[SESSION_STATES] = {
		[SESSION_IDLE] = "idle",
		[SESSION_DIALING] = "dialing",
		[SESSION_OPEN] = "open",
		[SESSION_BACKOFF] = "backoff",
	};
	struct nic *nic = session->ep->nic;

	*view = (struct view_session){
		.ep = ep,
		.stands = states[session->state],
		.sent = session->req.next_seq - 1,
		.acked = session->req.acked,
		.seen = session->rsp.seen,
		.epoch = session->epoch,
		.reads_open = session->req.reads_open,
		.verdicts = session->rsp.verdict_count,
		.refused_dials = session->refused_dials,
		.failed_conns = session->failed_conns,
		.waits = session->req.pending.first || session->req.current,
		.not_ready = session->req.rnr_until_ns,
		.target_only = session->target_only,
	};
	session_name(session, view->peer, sizeof(view->peer));
	if (session->conn && session->conn->line && nic->link.kind)
		view->transport = nic->link.kind(session->conn->line);
}

/* The session that the cursor stands at, `self` being the last; NULL: the endpoint has no more. */
static struct session *session_at(struct ep *ep, uint32_t index)
{
	struct session *session = ep->sessions;

	for (; session && index; session = session->next)
		index--;
	return session ? session : index ? NULL : ep->self;
}

size_t view_sessions(struct nic *nic, struct view_cursor *cursor, struct view_session *out, size_t room, bool *end)
{
	struct ep *ep = ep_at(nic, cursor->first);
	size_t count = 0;

	nic_role(nic);
	while (ep && count < room) {
		struct session *session = session_at(ep, cursor->second);

		for (; session && count < room; count++) {
			session_look(session, cursor->first, &out[count]);
			cursor->second++;
			session = session == ep->self ? NULL : session->next ? session->next : ep->self;
		}
		if (session)
			break;
		ep = ep->next;
		cursor->first++;
		cursor->second = 0;
	}
	*end = !ep;
	return count;
}

static void region_look(const struct mr *mr, const struct pd *pd, struct view_region *view)
{
	*view = (struct view_region){
		.id = mr->id,
		.key = mr->key,
		.address = (uintptr_t)mr_segments(mr)->iov_base,
		.length = mr->length,
		.domain = pd->number,
		.segments = mr->iov_count,
		.access = mr->access,
		.subs = mr->subs,
		.virtual_address = mr->virtual_addr,
		.raw = mr->key_tail,
		.persistent = mr->persistent,
		.registering = mr->registering,
		.enabled = mr->enabled,
		.single_use = mr->single,
		.pinned = mr->pin,
	};
}

/* Domains are in the order of their numbers, the newest first: all from `before` on (0: none) are done. */
static struct pd *pd_before(struct nic *nic, uint32_t before)
{
	struct pd *pd = atomic_load_explicit(&nic->pds, memory_order_acquire); /* pairs with pd_enlist() */

	while (pd && before && pd->number >= before)
		pd = pd->next;
	return pd;
}

size_t view_regions(struct nic *nic, struct view_cursor *cursor, struct view_region *out, size_t room, bool *end)
{
	struct pd *pd = pd_before(nic, cursor->first);
	uint32_t looks = VIEW_LOOKS;
	size_t count = 0;

	nic_role(nic);
	while (pd && count < room && looks) {
		const struct mr *mr = mr_walk(pd->regions, &cursor->second, &looks);

		if (mr) {
			region_look(mr, pd, &out[count++]);
		} else if (looks) {
			cursor->first = pd->number;
			cursor->second = 0;
			pd = pd->next;
		}
	}
	*end = !pd;
	return count;
}

void view_counts(struct nic *nic, struct view_counts *counts)
{
	nic_role(nic);
	*counts = nic->counts;
	counts->connections = nic->conn_count;
	for (struct ep *ep = nic->eps; ep; ep = ep->next)
		counts->endpoints++;
	for (struct pd *pd = pd_before(nic, 0); pd; pd = pd->next)
		counts->regions += (uint32_t)mr_count(pd->regions);
}

/* --- bytes --- */

/* The link's own, while those below are in their place. One process has one nic with such a link. */
static ssize_t (*link_send)(struct line *line, const struct iovec *iov, int count);
static ssize_t (*link_recv)(struct line *line, const struct iovec *iov, int count);
static struct view_counts *counted;

static ssize_t send_counted(struct line *line, const struct iovec *iov, int count)
{
	ssize_t sent = link_send(line, iov, count);

	counted->bytes_out += sent > 0 ? (uint64_t)sent : 0;
	return sent;
}

static ssize_t recv_counted(struct line *line, const struct iovec *iov, int count)
{
	ssize_t got = link_recv(line, iov, count);

	counted->bytes_in += got > 0 ? (uint64_t)got : 0;
	return got;
}

void view_count_bytes(struct nic *nic)
{
	struct link_ops *link = trace_beneath(nic);

	nic_role(nic);
	if (nic->counts.bytes_counted)
		return;
	nic->counts.bytes_counted = true;
	counted = &nic->counts;
	link_send = link->send;
	link_recv = link->recv;
	link->send = send_counted;
	link->recv = recv_counted;
}

bool view_log_debug(struct nic *nic, bool on)
{
	bool was = nic->config.debug;

	nic_role(nic);
	nic->config.debug = on;
	return was;
}
