/* SPDX-License-Identifier: BSD-2-Clause */
/* open_access.c - answers that wait. */
#include "emu/nic/requests/open_access.h"

#include <stdlib.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/memory/place.h"
#include "emu/nic/ops/races.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "wire/codec.h"

struct open_access {
	struct open_access *next;
	struct session *session;
	uint64_t seq, mr_id;
	uint64_t until_ns; /* not before that of an earlier one of the session */
	bool answered;     /* its initiator knows no more by that than that its source is free */
	bool executed;     /* told; a READ may be asked again */
	void *open;
};

/* The session's answers may go up to its next one that is not answered. */
static void session_goes_on(struct session *session, const struct open_access *next)
{
	while (next && (next->session != session || next->answered))
		next = next->next;
	session->rsp.open_seq = next ? next->seq : 0;
	session->rsp.ack_now = true;
	if (session->conn)
		conn_busy(session->conn);
}

static void let_go(struct open_access **at)
{
	struct open_access *first = *at;
	struct session *session = first->session;
	struct nic *nic = session->ep->nic;

	*at = first->next;
	nic->config.races->closed(first->open);
	session->rsp.opens--;
	if (!first->answered)
		session_goes_on(session, first->next);
	free(first);
}

void open_access_let_go(struct session *session)
{
	struct open_access **at = &session->ep->nic->opens;

	nic_role(session->ep->nic);
	while (*at && session->rsp.opens) {
		if ((*at)->session == session)
			let_go(at);
		else
			at = &(*at)->next;
	}
}

void open_access_cut(struct session *session)
{
	struct open_access **at = &session->ep->nic->opens;

	nic_role(session->ep->nic);
	while (*at) {
		if ((*at)->session == session && (*at)->seq > session->rsp.seen)
			let_go(at);
		else
			at = &(*at)->next;
	}
}

/* Those before it in their sessions, too. */
void open_access_end_region(struct nic *nic, const struct mr *mr)
{
	struct open_access *last = NULL;

	nic_role(nic);
	do {
		if (last)
			open_access_let_go(last->session);
		for (last = nic->opens; last && last->mr_id != mr->id; last = last->next)
			;
	} while (last);
}

void open_access_tick(struct nic *nic)
{
	nic_role(nic);
	while (nic->opens && nic->opens->until_ns <= nic_now(nic))
		let_go(&nic->opens);
	if (nic->opens)
		nic_arm_timer(nic, nic->opens->until_ns);
}

static bool keeps_waw(const struct session *session)
{
	return !(session->peer_needs_no & WIRE_NO_WAW);
}

/* Does the access tell the program of itself? A write does so with its last segment. */
static bool access_tells(const struct conn *conn, const struct mr *mr)
{
	const struct wire_head *head = &conn->in.head;
	const struct ep_attr *attr = &conn->session->ep->attr;
	bool counted = attr->caps & EP_RMA_EVENT && (attr->cntr[EP_CNTR_REMOTE_WRITE] || attr->cntr[EP_CNTR_REMOTE_READ]);

	if (head->op == WIRE_WRITE && !(head->flags & WIRE_F_LAST))
		return false;
	return counted || binding_to_counter(mr) || attr->caps & EP_REGION_EVENTS ||
	       head->flags & (WIRE_F_CQ_DATA | WIRE_F_COMMIT | WIRE_F_TAGGED);
}

/* When it is over; 0: it is not open. */
static uint64_t open_access_add(struct session *session, const struct open_access *what)
{
	struct nic *nic = session->ep->nic;
	struct open_access *added = malloc(sizeof(*added)), **at = &nic->opens;
	uint64_t until_ns = what->until_ns;

	if (!added) {
		nic->config.races->closed(what->open);
		return 0;
	}
	for (const struct open_access *before = nic->opens; before; before = before->next)
		if (before->session == session && before->until_ns > until_ns)
			until_ns = before->until_ns;
	while (*at && (*at)->until_ns <= until_ns)
		at = &(*at)->next;
	*added = *what;
	added->until_ns = until_ns;
	added->next = *at;
	*at = added;
	session->rsp.opens++;
	if (!what->answered && !session->rsp.open_seq)
		session->rsp.open_seq = what->seq;
	nic_arm_timer(nic, nic->opens->until_ns);
	return until_ns;
}

/* Does the answer say that the bytes are in their place? A READ and an atomic that returns something have them in it. */
static bool answer_delivers(const struct conn *conn, const struct access *ask, const struct access_effect *effect)
{
	return conn->ep->pairing || ask->op == OP_READ || effect->returns || conn->in.head.flags & WIRE_F_DELIVERED;
}

struct open_way open_access_begin(struct conn *conn, const struct access *ask, const struct mr *mr, const struct mr_place *place,
				  const struct access_effect *effect)
{
	struct session *session = conn->session;
	struct nic *nic = conn->nic;
	char name[64];
	struct race_access access = {
		.session = session,
		.peer = session_name(session, name, sizeof(name)),
		.key = ask->to.key,
		.op = ask->op,
		.changes = effect->changes,
		.tells = access_tells(conn, mr),
		.waits = effect->waits,
		.waw = keeps_waw(session),
		.raw = !(session->peer_needs_no & WIRE_NO_RAW),
		.pinned = mr->pin,
		.element = effect->element,
		.run = place->run,
		.count = place->count,
		.now_ns = nic_now(nic),
	};
	struct race_opened opened;
	uint64_t until_ns = 0;
	bool waits;

	nic_role(nic);
	if (effect->changes && effect->element &&
	    access.waw) /* others may learn of it by atomics of theirs, as of a lock that is let go */
		open_access_let_go(session);
	opened = nic->config.races->arrived(&access);
	if (opened.open)
		until_ns = open_access_add(session, &(struct open_access){ .session = session,
									   .seq = wire_get64(conn->in.head.seq),
									   .mr_id = mr->id,
									   .until_ns = access.now_ns + opened.hold_ns,
									   .answered = !answer_delivers(conn, ask, effect),
									   .open = opened.open });
	waits = access.tells && access.waits && opened.hold_ns && until_ns;
	conn->in.waits_ns = until_ns;
	if (access.tells && effect->changes && access.waw && !waits)
		open_access_let_go(session);
	return (struct open_way){ .apart = opened.apart, .waits = waits };
}

void open_access_store(struct conn *conn, const uint8_t *bytes, uint32_t length)
{
	const struct race_ops *races = conn->nic->config.races;
	const struct open_access *open = conn->nic->opens;
	struct iovec runs[LIMIT_IOV];
	int count = place_runs(&conn->in.place, length, runs, LIMIT_IOV);

	nic_role(conn->nic);
	while (open && (open->session != conn->session || open->seq != wire_get64(conn->in.head.seq)))
		open = open->next;
	for (int i = 0; i < count; bytes += runs[i++].iov_len)
		if (!(open && races->store(open->open, runs[i].iov_base, bytes, runs[i].iov_len)) &&
		    !guard_copy(runs[i].iov_base, bytes, runs[i].iov_len))
			conn->in.fault = true;
}

void open_access_executed(struct session *session)
{
	const struct nic *nic = session->ep->nic;

	nic_role(nic);
	for (struct open_access *open = nic->opens; open; open = open->next) {
		if (open->session == session && open->seq == session->rsp.seen &&
		    !open->executed) { /* after a cut it comes again */
			open->executed = true;
			nic->config.races->executed(open->open);
		}
	}
}

void open_access_before(struct session *session, const struct wire_head *head)
{
	nic_role(session->ep->nic);
	if (head->flags & WIRE_F_SETTLES)
		open_access_let_go(session);
	if (head->op == WIRE_WRITE || head->op == WIRE_READ || head->op == WIRE_ATOMIC || head->op == WIRE_TAKEN)
		return; /* open_access_begin() */
	if (!(session->peer_needs_no & WIRE_NO_SAW))
		open_access_let_go(session);
}
