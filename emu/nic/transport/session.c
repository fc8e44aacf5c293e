/* SPDX-License-Identifier: BSD-2-Clause */
/* session.c - the life of a session: wanted, dialled, open, cut, resumed, ended. */
#include "emu/nic/transport/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/ops/races.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/fault_swap.h"
#include "emu/nic/transport/transport_calls.h"

enum { FAILED_CONNS_MAX = 3 };

static struct nic *nic_of(const struct session *session)
{
	return session->ep->nic;
}

/* Ended, and no user is left that would come back to it. */
static bool session_is_unused(const struct session *session)
{
	const struct ep *ep = session->ep;

	return session->state == SESSION_IDLE && session->peer_is != PEER_KNOWN && !session->conn && !session->messages &&
	       !session->timed && !session->owing && !session->rsp.commits_open && !session->late && !session_busy(session) &&
	       ep->last != session && ep->cm.asked != session && ep->cm.peer != session;
}

/* Peers come and go under ever new addresses. Sweeps when there are twice as many as the last sweep left, and at most once a
 * second, as all are looked at and perhaps none goes. */
static void sweep(struct ep *ep)
{
	struct session *session, *next;
	uint64_t now_ns = nic_now(ep->nic);

	if (now_ns - ep->swept_ns < TIME_SWEEP_NS)
		return;
	ep->swept_ns = now_ns;
	for (session = ep->sessions; session; session = next) {
		next = session->next;
		if (session_is_unused(session))
			session_free(session);
	}
	ep->sweep_at = 2 * ep->session_count;
	if (ep->sweep_at < SESSIONS_SWEPT)
		ep->sweep_at = SESSIONS_SWEPT;
	if (ep->sweep_at > LIMIT_SESSIONS)
		ep->sweep_at = LIMIT_SESSIONS;
}

static struct session *session_new(struct ep *ep, const struct sockaddr_storage *peer)
{
	struct session *session;

	if (ep->session_count >= ep->sweep_at)
		sweep(ep);
	if (ep->session_count >= LIMIT_SESSIONS)
		return NULL;
	session = calloc(1, sizeof(*session));
	if (!session)
		return NULL;
	if (fault_plan_of(ep->nic)) {
		session->fault = fault_peer_open(fault_plan_of(ep->nic), peer);
		if (!session->fault) {
			free(session);
			return NULL;
		}
	} else if (ep->nic->trace || ep->nic->config.reports || ep->nic->config.races || ep->attr.xrc) {
		session->fault = &fault_watching;
	}
	session->ep = ep;
	session->peer = *peer;
	session->source = AV_NONE;
	session->source_stamp = UINT64_MAX;
	requester_init(&session->req);
	responder_init(&session->rsp);
	ep->session_count++;
	return session;
}

struct session *session_get(struct ep *ep, const struct sockaddr_storage *peer)
{
	uint64_t hash = address_hash(ep->hash_secret, peer);
	struct session *session;

	nic_role(ep->nic);
	for (struct hash_node *node = hash_first(&ep->by_peer, hash); node; node = hash_next(node)) {
		session = (struct session *)((char *)node - offsetof(struct session, by_peer));
		if (address_equal(&session->peer, peer))
			return session;
	}
	session = session_new(ep, peer);
	if (!session)
		return NULL;
	session->next = ep->sessions;
	if (session->next)
		session->next->prev = session;
	ep->sessions = session;
	hash_add(&ep->by_peer, &session->by_peer, hash);
	return session;
}

bool session_dials(const struct ep *ep, uint64_t id)
{
	nic_role(ep->nic);
	for (const struct session *session = ep->sessions; session; session = session->next)
		if (session->id == id && session->conn && session->conn->dialled)
			return true;
	return false;
}

struct session *session_self(struct ep *ep)
{
	nic_role(ep->nic);
	if (!ep->self) {
		ep->self = session_new(ep, &ep->name);
		if (ep->self)
			ep->self->target_only = true;
	}
	return ep->self;
}

void session_free(struct session *session)
{
	struct ep *ep = session->ep;
	struct nic *nic = ep->nic;
	struct session **at;

	nic_role(nic);
	for (at = &nic->timed; session->timed && *at; at = &(*at)->next_timed) {
		if (*at == session) {
			*at = session->next_timed;
			break;
		}
	}
	for (at = &nic->owing; session->owing && *at; at = &(*at)->next_owing) {
		if (*at == session) {
			*at = session->next_owing;
			break;
		}
	}
	if (session != ep->self) {
		*(session->prev ? &session->prev->next : &ep->sessions) = session->next;
		if (session->next)
			session->next->prev = session->prev;
		hash_remove(&ep->by_peer, &session->by_peer);
	}
	ep->session_count--;
	if (session->fault != &fault_watching)
		free(session->fault);
	free(session);
}

void session_time(struct session *session, uint64_t at_ns)
{
	struct nic *nic = nic_of(session);

	nic_role(session->ep->nic);
	nic_arm_timer(nic, at_ns);
	if (session->timed)
		return;
	session->timed = true;
	session->next_timed = nic->timed;
	nic->timed = session;
}

void session_owe(struct session *session)
{
	struct nic *nic = nic_of(session);
	struct responder *rsp = &session->rsp;

	nic_role(session->ep->nic);
	if (session->conn && (rsp->owed_requests >= ACK_REQUESTS || rsp->owed_bytes >= ACK_BYTES || rsp->due & DUE_ACK)) {
		rsp->ack_now = true;
		conn_busy(session->conn);
	}
	if (session->owing)
		return;
	nic_kick(nic);
	session->owing = true;
	session->next_owing = nic->owing;
	nic->owing = session;
}

bool session_busy(const struct session *session)
{
	nic_role(session->ep->nic);
	return !requester_idle(session) || session->rsp.pulls || session->rsp.tagged || session->awaited;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void session_backoff(struct session *session, uint64_t wait_ns)
{
	session_enter(session, SESSION_BACKOFF);
	session->retry_ns = nic_now(nic_of(session)) + wait_ns;
	session_time(session, session->retry_ns);
}

static uint64_t retry_budget_ns(const struct session *session)
{
	const struct ep *ep = session->ep;

	return ep->timing.budget_ns ? ep->timing.budget_ns : ep->nic->config.retry_budget_ns;
}

/* Begins an outage, unless one lasts already. An outage before a connection that brought nothing counts as part of it: else a
 * peer that greets and closes would be dialled for ever. */
static void session_down(struct session *session)
{
	struct nic *nic = nic_of(session);

	if (session->down_since_ns == 0) {
		session->down_since_ns = nic_now(nic) > session->down_ns ? nic_now(nic) - session->down_ns : 1;
		session->seen_running_ns = nic_now(nic);
	}
	session_time(session, time_coarse(earlier(session->down_since_ns + retry_budget_ns(session), nic_now(nic) + TIME_DOWN_NS)));
}

/* A process that was stopped (by a debugger, with its container) has not tried meanwhile, and its peer may have been
 * stopped with it: so that time is not taken out of the budget. */
static void forgive_stopped_time(struct session *session, uint64_t now_ns)
{
	if (now_ns - session->seen_running_ns > TIME_STOPPED_NS)
		session->down_since_ns += now_ns - session->seen_running_ns;
	session->seen_running_ns = now_ns;
}

static void session_dial(struct session *session)
{
	struct nic *nic = nic_of(session);

	if (session->fault_until_ns > nic_now(nic)) {
		session_down(session);
		session_backoff(session, session->fault_until_ns - nic_now(nic));
		return;
	}
	if (nic->link.dials_most && nic->dials >= nic->link.dials_most(nic->link_arg)) {
		session_backoff(session, TIME_DIAL_TURN_NS); /* no outage begins */
		return;
	}
	if (session->id == 0)
		nic->link.random(nic->link_arg, &session->id, sizeof(session->id));
	session->id |= session->id == 0; /* zero means none */
	session->epoch++;
	session_enter(session, SESSION_DIALING);
	session_down(session); /* a dial that hangs uses up the budget */
	session->conn = conn_dial(session);
	if (!session->conn)
		session_cut(session, EAGAIN);
}

bool session_walled(const struct session *session)
{
	struct av *av = session->ep->attr.av;

	nic_role(session->ep->nic);
	return av && av_walled(av, &session->peer);
}

/* May this side dial? */
static bool session_dials_out(const struct session *session)
{
	return !session->target_only && !session_walled(session);
}

static __attribute__((noinline)) void session_begin(struct session *session)
{
	if (!session_dials_out(session)) {
		session->walled = true;
		session_time(session, nic_now(nic_of(session)));
		return;
	}
	session->down_since_ns = session->down_ns = 0; /* no dial was tried while it was idle */
	session->dialled_idle = true;
	session_dial(session);
}

void session_want(struct session *session)
{
	nic_role(session->ep->nic);
	if (likely(session->state == SESSION_OPEN))
		conn_busy(session->conn);
	else if (session->state == SESSION_IDLE && !session->target_only)
		session_begin(session);
}

/* Ends the session, and begins another one with the ops of `again`. */
static void begin_anew(struct session *session, struct op_list again)
{
	uint32_t failed_conns = session->failed_conns + 1;

	session_end(session, REFUSAL_PEER_GONE);
	if (!again.first)
		return;
	session->req.pending = again;
	session->failed_conns = failed_conns;
	session_want(session);
}

void session_forgotten(struct session *session)
{
	struct op_list pending = session->req.pending;

	nic_role(session->ep->nic);
	if (session->failed_conns + 1 >= FAILED_CONNS_MAX) {
		session_end(session, REFUSAL_PROTOCOL);
		return;
	}
	session->req.pending = (struct op_list){ NULL, NULL };
	begin_anew(session, pending);
}

void session_left(struct session *session)
{
	struct op_list unbegun = { NULL, NULL };

	nic_role(session->ep->nic);
	if (!ep_has_one_peer(session->ep) && session->failed_conns + 1 < FAILED_CONNS_MAX)
		unbegun = requester_unbegun(session);
	begin_anew(session, unbegun);
	if (session->state == SESSION_DIALING && !session->ep->pairing) /* nobody else is there: no need to ask again */
		session->refused_dials = nic_of(session)->config.refused_dials - 1;
}

const char *session_resume(struct session *session, struct conn *conn, const struct wire_hello_fields *hello)
{
	struct requester *req = &session->req;
	uint32_t segment = conn->nic->config.segment;

	nic_role(conn->nic);
	if (segment > hello->segment)
		segment = hello->segment;
	/* The size may not change under a message that is half sent. */
	if (req->segment != 0 && (req->segment != segment || req->requests != hello->requests || req->reads_max != hello->reads))
		return "HELLO grants something else than before (WIRE-25)";
	if (!requester_resume(session, hello->seen) || !responder_resume(session, hello->verdict_seen))
		return "HELLO goes on where this session never was (WIRE-65)";
	req->segment = segment;
	req->eager = segment < conn->nic->config.eager ? segment : (uint32_t)conn->nic->config.eager;
	req->requests = hello->requests;
	req->reads_max = hello->reads;
	conn->seen_at_open = session->rsp.seen;
	session->opened = conn->epoch;
	session_enter(session, SESSION_OPEN);
	session->rsp.due = session->ep->pairing ? DUE_PAIR : 0;
	session->refused_dials = 0;
	if (session->down_since_ns)
		session->down_ns = nic_now(conn->nic) - session->down_since_ns + 1; /* not 0 */
	session->down_since_ns = 0;
	session->dialled_idle = session->walled = false;
	/* An acknowledgement on the old connection may not have arrived. */
	session->rsp.owed_requests = session->rsp.seen > 0;
	session_owe(session);
	conn_busy(conn);
	return NULL;
}

/* Ops of this side, or a connected endpoint. */
static bool wants_connection(const struct session *session)
{
	return session_busy(session) || cm_holds(session);
}

void session_cut(struct session *session, int error)
{
	bool was_open = session->state == SESSION_OPEN;

	nic_role(session->ep->nic);
	session_enter(session, SESSION_IDLE);
	session->refused_dials = error == ECONNREFUSED ? session->refused_dials + 1 : 0;
	session_down(session);
	if (session->answer_lost)
		session_end(session, REFUSAL_NO_SESSION);
	else if (session->refused_dials >= pairing_dials_most(session->ep))
		session_end(session, REFUSAL_PEER_GONE);
	else if (session->failed_conns >= FAILED_CONNS_MAX)
		session_end(session, REFUSAL_PROTOCOL);
	else if (!wants_connection(session) && !session->dials_for_both)
		return;
	else if (session_dials_out(session))
		session_backoff(session, was_open && !session->down_ns ? 0 : TIME_REDIAL_NS);
	else
		session->walled = !session->target_only;
}

void session_end(struct session *session, enum refusal_cause cause)
{
	struct conn *conn = session->conn;

	nic_role(session->ep->nic);
	if (conn)
		conn_close(conn, 0, true);
	if (session->question)
		conn_close(session->question, 0, true);
	nic_of(session)->counts.acked += session->req.acked;
	nic_of(session)->counts.seen += session->rsp.seen;
	requester_flush(session, cause);
	responder_flush(session, cause);
	if (nic_of(session)->config.races)
		nic_of(session)->config.races->ended(session);
	session_enter(session, SESSION_IDLE);
	session_meet(session, PEER_STRANGER);
	session->answer_lost = session->walled = session->dials_for_both = false;
	session->id = session->epoch = session->opened = 0;
	session->refused_dials = session->failed_conns = 0;
	session->down_since_ns = session->down_ns = 0;
	cm_ended(session, cause);
	if (session->awaited)
		coll_peer_lost(session, cause);
}

void session_replaced(struct session *session)
{
	nic_role(session->ep->nic);
	if (session->dialled_idle)
		session_forgotten(session);
	else
		session_end(session, REFUSAL_PEER_GONE);
}

/* av_wall() may have come since it was to dial. */
static void heed_wall(struct session *session)
{
	if (session->state != SESSION_BACKOFF || session_dials_out(session))
		return;
	session_enter(session, SESSION_IDLE);
	session->walled = true;
}

uint64_t session_tick(struct session *session, uint64_t now_ns)
{
	uint64_t budget = retry_budget_ns(session), due = UINT64_MAX;
	struct requester *req = &session->req;

	nic_role(session->ep->nic);
	requester_tick(session, now_ns);
	if (session->fault_wake_ns && session->fault_wake_ns <= now_ns) {
		session->fault_wake_ns = 0;
		if (session->conn)
			conn_busy(session->conn);
	}
	heed_wall(session);
	/* A peer that was connected before may come back within the budget of an outage. */
	if (session->walled && session->state == SESSION_IDLE && !session->down_since_ns) {
		session_end(session, REFUSAL_FIREWALL);
		return UINT64_MAX;
	}
	if (session->down_since_ns)
		forgive_stopped_time(session, now_ns);
	if (session->ep->pairing && session->state == SESSION_IDLE && !session_busy(session)) /* it may wait for ever */
		session->down_since_ns = 0;
	/* Twice the budget: the peer, if it is alive, has given up by then. */
	if (session->down_since_ns && (session->state == SESSION_IDLE || (session->dials_for_both && !wants_connection(session))))
		budget *= 2;
	if (session->down_since_ns && now_ns - session->down_since_ns >= budget) {
		session_end(session, session->walled ? REFUSAL_FIREWALL : REFUSAL_UNREACHABLE);
		return UINT64_MAX;
	}
	if (session->state == SESSION_BACKOFF && session->retry_ns <= now_ns)
		session_dial(session);
	if (req->rnr_until_ns)
		due = req->rnr_until_ns;
	if (session->fault_wake_ns)
		due = earlier(due, session->fault_wake_ns);
	if (session->state == SESSION_BACKOFF)
		due = earlier(due, session->retry_ns);
	if (session->down_since_ns)
		due = earlier(due, time_coarse(earlier(session->down_since_ns + budget, now_ns + TIME_DOWN_NS)));
	return earlier(due, cm_tick(session, now_ns));
}

/* Verdicts go before the acknowledgement that covers their requests. */
static __attribute__((noinline, cold)) uint64_t ack_held(const struct session *session)
{
	uint64_t sent = session->conn->ack_sent;

	return session->rsp.unsent || session->rsp.open_seq <= sent ? sent : session->rsp.open_seq - 1;
}

uint64_t session_ack(const struct session *session)
{
	nic_role(session->ep->nic);
	return unlikely((uintptr_t)session->rsp.unsent | session->rsp.open_seq) ? ack_held(session) : session->rsp.seen;
}

static bool ack_owed(const struct session *session)
{
	bool owed = unlikely(session->rsp.open_seq) ? session->conn && session_ack(session) > session->conn->ack_sent
						    : session->rsp.owed_requests > 0;

	return owed || session->req.verdict_seen > session->req.verdict_said;
}

void session_flush_ack(struct session *session)
{
	nic_role(session->ep->nic);
	if (session->conn)
		(void)conn_store_ack(session->conn);
	session->rsp.ack_now = ack_owed(session);
	if (session->rsp.ack_now && session->conn)
		conn_busy(session->conn);
}

static bool fill_ack(struct session *session, struct conn *conn)
{
	struct requester *req = &session->req;
	void *at = ack_owed(session) ? conn_frame_begin(conn, 0, 0) : NULL;

	if (!at)
		return false;
	conn_frame_end(conn, wire_put_ack(at, req->verdict_seen));
	req->verdict_said = req->verdict_seen;
	session->rsp.due &= (uint8_t)~DUE_ACK;
	return true;
}

void session_say_owed(struct session *session)
{
	struct conn *conn = session->conn;

	nic_role(session->ep->nic);
	while (responder_fill_control(session, conn))
		;
	(void)fill_ack(session, conn);
}

static bool request_due(const struct requester *req)
{
	return req->pending.first || requester_urgent(req);
}

/* For a session with answers to send: verdicts, PULL and RNR go first, data and requests take turns. */
static __attribute__((noinline)) bool fill_answers(struct session *session, struct conn *conn)
{
	if ((session->rsp.due & DUE_ACK && fill_ack(session, conn)) || responder_fill_control(session, conn))
		return true;
	conn->turn = !conn->turn;
	if (conn->turn && read_response_fill(session, conn))
		return true;
	if (request_due(&session->req) && requester_fill(session, conn))
		return true;
	return (!conn->turn && read_response_fill(session, conn)) || (session->rsp.ack_now && fill_ack(session, conn));
}

bool session_fill(struct session *session, struct conn *conn)
{
	const struct responder *rsp = &session->rsp;

	nic_role(conn->nic);
	if (unlikely(rsp->unsent || rsp->due || rsp->pulls_due || rsp->responses))
		return fill_answers(session, conn);
	if (request_due(&session->req) && requester_fill(session, conn))
		return true;
	return rsp->ack_now && fill_ack(session, conn);
}

const char *session_name(const struct session *session, char *text, size_t size)
{
	nic_role(session->ep->nic);
	return address_text(&session->peer, text, size);
}
