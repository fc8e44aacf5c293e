/* SPDX-License-Identifier: BSD-2-Clause */
/* open_access.c - answers that wait. */
#include "emu/nic/requests/open_access.h"

#include <stdlib.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/memory/place.h"
#include "emu/nic/messages/message_calls.h"
#include "emu/nic/messages/rx_match.h"
#include "emu/nic/ops/races.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "wire/codec.h"

struct open_access {
	struct open_access *next;
	struct session *session;
	uint64_t seq, mr_id;
	uint64_t until_ns; /* not before that of an earlier one of the session, but for one that waits, if no order says so */
	bool passes;       /* it is that */
	bool waits;        /* its time is over when open_access_go_on() says so */
	bool apart;        /* its bytes come by open_access_store() */
	bool answered;     /* its initiator knows no more by that than that its source is free */
	bool executed;     /* told; a READ may be asked again */
	bool late;         /* its bytes are held (held.h) */
	bool changes;      /* its bytes; else what comes behind it in its session says nothing of it: that would have waited */
	bool atomic;
	bool message;                /* of which the program knows */
	struct verdict *park, *done; /* WIRE-192: not sent yet; NULL: it is acknowledged with others */
	void *open;
};

/* The session's answers may go up to the first one that is not answered: the list is by time. */
static void session_goes_on(struct session *session)
{
	uint64_t first = 0;

	for (const struct open_access *open = session->ep->nic->opens; open; open = open->next)
		if (open->session == session && !open->answered && (!first || open->seq < first))
			first = open->seq;
	session->rsp.open_seq = first;
	session->rsp.ack_now = true;
	if (session->conn)
		conn_busy(session->conn);
}

static void let_go(struct open_access **at)
{
	struct open_access *first = *at;
	struct session *session = first->session;
	struct nic *nic = session->ep->nic;

	if (first->late)
		held_release(session);
	*at = first->next;
	nic->config.races->closed(first->open);
	session->rsp.opens--;
	if (first->done && !first->park)
		verdict_keep(session, first->done, first->seq);
	else
		free(first->done);
	free(first->park);
	if (!first->answered)
		session_goes_on(session);
	free(first);
}

static void let_go_those(struct session *session, bool (*over)(const struct open_access *open))
{
	struct open_access **at = &session->ep->nic->opens;

	while (*at && session->rsp.opens) {
		if ((*at)->session == session && over(*at))
			let_go(at);
		else
			at = &(*at)->next;
	}
}

static bool open_is_any(const struct open_access *open)
{
	return open;
}

static bool open_changes(const struct open_access *open)
{
	return open->changes;
}

void open_access_let_go(struct session *session)
{
	nic_role(session->ep->nic);
	let_go_those(session, open_is_any);
}

static struct open_access **find_open(struct session *session, uint64_t seq)
{
	struct open_access **at = &session->ep->nic->opens;

	while (*at && ((*at)->session != session || (*at)->seq != seq))
		at = &(*at)->next;
	return at;
}

void open_access_go_on(struct session *session, uint64_t seq)
{
	const struct open_access *own = *find_open(session, seq);
	struct open_access **at = &session->ep->nic->opens;
	bool alone = own && own->passes, stays = own && own->apart;

	nic_role(session->ep->nic);
	if (own && !own->waits) { /* it was late */
		session->ep->nic->config.races->due(own->open);
		return;
	}
	while (*at) {
		if ((*at)->session == session && (*at == own ? !stays : (*at)->changes && !alone))
			let_go(at);
		else
			at = &(*at)->next;
	}
}

static bool open_is_unseen(const struct open_access *open)
{
	return open->seq > open->session->rsp.seen;
}

void open_access_cut(struct session *session)
{
	nic_role(session->ep->nic);
	let_go_those(session, open_is_unseen);
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
	struct open_access **at = &nic->opens;

	nic_role(nic);
	while (*at && (*at)->until_ns <= nic_now(nic)) {
		if ((*at)->waits)
			at = &(*at)->next;
		else
			let_go(at);
	}
	if (*at)
		nic_arm_timer(nic, (*at)->until_ns);
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

/* Those that wait themselves have their own time. */
static void opens_stay(struct nic *nic, uint64_t until_ns)
{
	struct open_access *open = nic->opens, *next, **at;

	nic->opens = NULL;
	for (; open; open = next) {
		next = open->next;
		if (!open->waits && !open->message && open->until_ns < until_ns)
			open->until_ns = until_ns;
		for (at = &nic->opens; *at && (*at)->until_ns <= open->until_ns;)
			at = &(*at)->next;
		open->next = *at;
		*at = open;
	}
}

/* Is the one that comes later open so long at least, too? */
static bool stays_behind(const struct open_access *first, const struct open_access *later)
{
	return (first->changes || !later->waits) && !first->done && !later->done;
}

/* When it is over; 0: it is not open. */
static uint64_t open_access_add(struct session *session, const struct open_access *what)
{
	struct nic *nic = session->ep->nic;
	struct open_access *added = malloc(sizeof(*added)), **at = &nic->opens;
	uint64_t until_ns = what->until_ns;

	if (!added) {
		nic->config.races->closed(what->open);
		free(what->park);
		free(what->done);
		return 0;
	}
	for (const struct open_access *before = nic->opens; before && !what->passes; before = before->next)
		if (before->session == session && before->until_ns > until_ns && stays_behind(before, what))
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

/* Does the answer say that the bytes are in their place? A READ and an atomic that returns something have them in it. A peer that
 * holds nothing back itself does not say what its program has asked for. */
static bool answer_delivers(const struct conn *conn, const struct access *ask, const struct access_effect *effect)
{
	bool says = conn->ep->pairing ? !ep_loses(conn->ep) : !conn->session->peer_holds || conn->in.head.flags & WIRE_F_DELIVERED;

	return says || ask->op == OP_READ || effect->returns;
}

/* May it be answered apart (WIRE-192)? At most half of the verdicts are for such. */
static bool may_be_parked(const struct session *session, const struct race_access *access)
{
	const uint32_t no_order = WIRE_NO_RAW | WIRE_NO_WAW | WIRE_NO_MIXED | WIRE_NO_ATOMIC | WIRE_TAKES_PARK;
	const struct responder *rsp = &session->rsp;

	return (session->peer_needs_no & no_order) == no_order && access->changes && !access->returns && access->whole &&
	       !access->tells && access->op != OP_SEND && rsp->verdict_count + 2 * rsp->opens < LIMIT_VERDICTS / 2;
}

static void park(struct open_access *what)
{
	what->park = malloc(sizeof(*what->park));
	what->done = malloc(sizeof(*what->done));
	if (!what->park || !what->done) {
		free(what->park);
		free(what->done);
		what->park = what->done = NULL;
		return;
	}
	*what->park = (struct verdict){ .op = WIRE_PARK };
	*what->done = (struct verdict){ .op = WIRE_DONE };
	what->answered = true;
}

static bool open_is_atomic(const struct open_access *open)
{
	return open->atomic;
}

/* When it is to be executed, if it waits; 0: now. */
static uint64_t access_open(struct session *session, struct race_access *access, struct open_access *what, bool *apart)
{
	uint32_t needs_no = session->peer_needs_no;
	struct nic *nic = session->ep->nic;
	struct race_opened opened;
	uint64_t until_ns;
	char name[64];

	access->session = session;
	access->peer = session_name(session, name, sizeof(name));
	access->waw = !(needs_no & WIRE_NO_WAW);
	access->raw = !(needs_no & WIRE_NO_RAW);
	access->mixed = !(needs_no & WIRE_NO_MIXED);
	access->atomic = !(needs_no & WIRE_NO_ATOMIC);
	access->was = !(needs_no & WIRE_NO_WAS);
	access->saw = !(needs_no & WIRE_NO_SAW);
	access->now_ns = nic_now(nic);
	opened = nic->config.races->arrived(access);
	*apart = what->apart = opened.apart;
	if (opened.stay_ns) {
		opens_stay(nic, access->now_ns + opened.stay_ns);
		held_stay(nic, access->now_ns + opened.stay_ns / 4 * 3);
		fault_late_stay(nic, access->now_ns + opened.stay_ns);
	}
	if (!opened.open)
		return 0;
	what->session = session;
	what->until_ns = access->now_ns + opened.late_ns + opened.hold_ns;
	what->waits = opened.hold_ns && access->waits && access->tells;
	what->open = opened.open;
	if (!what->answered && may_be_parked(session, access))
		park(what);
	until_ns = open_access_add(session, what);
	if (what->waits)
		return until_ns;
	return until_ns && opened.late_ns ? access->now_ns + opened.late_ns : 0;
}

struct open_way open_access_begin(struct conn *conn, const struct access *ask, const struct mr *mr, const struct mr_place *place,
				  const struct access_effect *effect)
{
	struct session *session = conn->session;
	struct open_access what = { .seq = wire_get64(conn->in.head.seq),
				    .mr_id = mr->id,
				    .changes = effect->changes,
				    .atomic = effect->element,
				    .answered = !answer_delivers(conn, ask, effect) };
	struct race_access access = {
		.key = ask->to.key,
		.op = ask->op,
		.changes = effect->changes,
		.returns = effect->returns,
		.tells = access_tells(conn, mr),
		.waits = effect->waits,
		.whole = ask->op != OP_WRITE || (conn->in.head.flags & WIRE_F_FIRST && conn->in.head.flags & WIRE_F_LAST),
		.pinned = mr->pin,
		.element = effect->element,
		.run = place->run,
		.count = place->count,
	};
	bool keeps = !(session->peer_needs_no & (effect->element ? WIRE_NO_MIXED : WIRE_NO_WAW));
	struct open_way way;

	nic_role(conn->nic);
	what.passes = access.tells && access.waits && !keeps && conn->in.head.flags & WIRE_F_FIRST;
	/* Others may learn of it by atomics of theirs, as of a lock that is let go. */
	if (effect->changes && effect->element && !(session->peer_needs_no & WIRE_NO_ATOMIC))
		let_go_those(session, keeps ? open_changes : open_is_atomic);
	conn->in.waits_ns = access_open(session, &access, &what, &way.apart);
	way.waits = conn->in.waits_ns;
	way.late = way.waits && !what.waits;
	if (access.tells && effect->changes && keeps && !way.waits)
		let_go_those(session, open_changes);
	return way;
}

void open_access_message(struct session *session, uint64_t seq, const struct rx *rx, uint64_t length)
{
	struct open_access what = { .seq = seq, .changes = true, .message = true };
	struct iovec runs[LIMIT_IOV];
	struct place place;
	struct race_access access = {
		.op = OP_SEND,
		.changes = true,
		.tells = true,
		.told = session->peer_needs_no & WIRE_NO_WAS && session->rsp.write.ask.length,
		.run = runs,
	};
	bool apart;

	nic_role(session->ep->nic);
	rx_place(rx, &place);
	access.count = (size_t)place_runs(&place, length, runs, LIMIT_IOV);
	(void)access_open(session, &access, &what, &apart);
}

static bool store(const struct nic *nic, const struct open_access *open, const struct place *to, const uint8_t *bytes,
		  uint32_t length)
{
	struct iovec runs[LIMIT_IOV];
	int count = place_runs(to, length, runs, LIMIT_IOV);
	bool stored = true;

	for (int i = 0; i < count; bytes += runs[i++].iov_len)
		if (!(open && nic->config.races->store(open->open, runs[i].iov_base, bytes, runs[i].iov_len)) &&
		    !guard_copy(runs[i].iov_base, bytes, runs[i].iov_len))
			stored = false;
	return stored;
}

void open_access_store(struct conn *conn, const uint8_t *bytes, uint32_t length)
{
	struct open_access **at = find_open(conn->session, wire_get64(conn->in.head.seq));

	nic_role(conn->nic);
	if (!store(conn->nic, *at, &conn->in.place, bytes, length))
		conn->in.fault = true;
	if (*at && (*at)->waits)
		let_go(at);
}

void open_access_late(struct session *session, uint64_t seq)
{
	struct open_access *open = *find_open(session, seq);

	nic_role(session->ep->nic);
	if (open)
		open->late = true;
}

bool open_access_show(struct session *session, uint64_t seq, const struct place *to, const uint8_t *bytes, uint32_t length)
{
	const struct nic *nic = session->ep->nic;
	struct open_access *open = *find_open(session, seq);
	bool stored = store(nic, open, to, bytes, length);

	nic_role(nic);
	if (open) {
		open->late = false;
		open->executed = true;
		nic->config.races->executed(open->open);
	}
	return stored;
}

void open_access_executed(struct session *session)
{
	struct open_access **at = find_open(session, session->rsp.seen), *open = *at;
	const struct nic *nic = session->ep->nic;

	nic_role(nic);
	if (open && open->park) {
		verdict_keep(session, open->park, open->seq);
		open->park = NULL;
	}
	if (!open || open->executed || open->late) /* after a cut it comes again */
		return;
	open->executed = true;
	nic->config.races->executed(open->open);
	if (open->waits)
		let_go(at);
}

void open_access_post(struct nic *nic)
{
	struct open_access **at = &nic->opens;

	nic_role(nic);
	while (*at) {
		if ((*at)->message)
			let_go(at);
		else
			at = &(*at)->next;
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
		let_go_those(session, open_changes);
}
