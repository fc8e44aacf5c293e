/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_post.c - a fault plan's rules for own ops. */
#include "emu/nic/requests/fault_ops.h"

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/ops/races.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/transport_calls.h"

/* Else their times are not set. */
static bool numbers_posts(const struct session *session)
{
	return session->fault != &fault_watching || session->ep->nic->config.races;
}

/* Ops keep their order, as on a line: a slow one holds those behind it, unless a rule lets them pass. */
static __attribute__((noinline)) void number_post(struct session *session, struct op *op)
{
	struct fault_op what = { .ours = true, .kind = op->kind, .key = op->remote.key, .cq_data = op->flags & POST_CQ_DATA };
	struct fault_peer *peer = session->fault;
	const struct fault_rule *rule;

	op->depart_ns = op->late_ns = 0;
	if (op->flags & POST_LOCAL) /* nobody is sent it */
		return;
	rule = fault_next(peer, PLAN_LATENCY, &what);
	op->depart_ns = rule ? nic_now(session->ep->nic) + fault_wait(peer, rule, &what) : 0;
	if (!rule) {
		rule = fault_next(peer, PLAN_REORDER, &what);
		op->depart_ns = rule ? nic_now(session->ep->nic) + fault_wait(peer, rule, &what) : 0;
		op->passed = rule;
	}
	if (ep_loses(op->ep) && fault_next(peer, PLAN_LOSE, &what))
		op->flags |= POST_LOST;
	rule = fault_next(peer, PLAN_COMPLETION, &what);
	op->late_ns = rule ? fault_wait(peer, rule, &what) : 0;
	fault_count(peer, &what);
}

/* Others may meet it before it leaves (races.h), by the plan in force or without one. */
static void stay(struct session *session, struct op *op)
{
	struct nic *nic = session->ep->nic;
	void *watch = op->leader->flags & POST_WATCHED ? op->leader->watch : NULL;
	uint64_t now_ns = nic_now(nic);

	if (nic->opens)
		open_access_post(nic);
	if (session->fault == &fault_watching) {
		op->depart_ns = op->late_ns = 0;
		op->passed = false;
	}
	/* fi_cq(3) names no level for a write that asks for none: its program may rely on any. */
	if ((op->kind == OP_WRITE || op->kind == OP_ATOMIC) && !(op->flags & POST_SENT) && !op->ep->pairing)
		op->flags |= POST_DELIVERED;
	if (op->flags & POST_LOCAL)
		return;
	if (!op->depart_ns)
		op->depart_ns = now_ns + nic->config.races->leaves(session, watch, now_ns);
	if (!op->late_ns && op->kind != OP_SEND && !(op->flags & POST_SENT))
		op->late_ns = nic->config.races->completes(session, (uint8_t)op->kind, now_ns);
}

void fault_post(struct session *session, struct op *op)
{
	const struct front_reports *reports = session->ep->nic->config.reports;

	if (session->ep->nic->trace)
		trace_posted(op);
	if (reports && op->leader == op && op->kind < OP_POSTED_KINDS)
		reports->begun(op->kind);
	if (session->fault != &fault_watching)
		number_post(session, op);
	if (session->ep->nic->config.races)
		stay(session, op);
}

void fault_set_timer(struct session *session, uint64_t at_ns)
{
	if (!session->fault_wake_ns || at_ns < session->fault_wake_ns)
		session->fault_wake_ns = at_ns;
	session_time(session, at_ns);
}

bool fault_waits(struct session *session, const struct op *op)
{
	if (!numbers_posts(session) || op->depart_ns <= nic_now(session->ep->nic))
		return false;
	fault_set_timer(session, op->depart_ns);
	return true;
}

static __attribute__((noinline)) bool fill_slowly(struct session *session, struct conn *conn)
{
	const struct fault_rule *rule = fault_always(session->fault, PLAN_BANDWIDTH);
	uint64_t now_ns = nic_now(conn->nic), before = sendq_waiting(&conn->out), bytes;

	if (rule && session->fault_sent_ns > now_ns) {
		fault_set_timer(session, session->fault_sent_ns);
		return false;
	}
	if (!session_fill(session, conn))
		return false;
	bytes = sendq_waiting(&conn->out) - before;
	if (rule)
		session->fault_sent_ns = now_ns + bytes * TIME_MS(1000) / rule->rate;
	return true;
}

bool fault_fill(struct session *session, struct conn *conn)
{
	return session->fault == &fault_watching ? session_fill(session, conn) : fill_slowly(session, conn);
}

void fault_ended(struct op *op)
{
	struct op *leader = op->leader;

	nic_role(op->ep->nic);
	if (op->ep->nic->trace)
		trace_ended(op);
	/* They have one session; a group is as late as its latest. */
	if (numbers_posts(op->session) && op->late_ns > leader->late_ns)
		leader->late_ns = op->late_ns;
}

static void late_insert(struct nic *nic, struct op *op)
{
	struct op **at = &nic->late;

	while (*at && (*at)->depart_ns <= op->depart_ns)
		at = &(*at)->next;
	op->next = *at;
	*at = op;
}

void fault_late_stay(struct nic *nic, uint64_t until_ns)
{
	struct op *op = nic->late, *next;

	nic_role(nic);
	nic->late = NULL;
	for (; op; op = next) {
		next = op->next;
		if (op->depart_ns < until_ns)
			op->depart_ns = until_ns;
		late_insert(nic, op);
	}
}

static bool is_late(struct op *op)
{
	struct nic *nic = op->ep->nic;

	if (!numbers_posts(op->session) || !op->late_ns || op->ep->closing || (op->ep->pairing && op->ep->pairing->silent))
		return false;
	if (op->ep->pairing)
		op->first_seq = 0; /* it is resolved: another session's request may have that number */
	op->depart_ns = nic_now(nic) + op->late_ns;
	op->late_ns = 0;
	late_insert(nic, op);
	op->session->late++;
	nic_arm_timer(nic, op->depart_ns);
	return true;
}

bool fault_late(struct op *op)
{
	const struct front_reports *reports = op->ep->nic->config.reports;

	nic_role(op->ep->nic);
	if (is_late(op))
		return true;
	/* A queue pair's op comes again, in its turn. */
	if (reports && op->kind < OP_POSTED_KINDS && op->why.cause == REFUSAL_NONE && !(op->flags & POST_IN_ORDER))
		reports->done(op->kind, op->total);
	return false;
}

static void fault_report_late(struct op **at)
{
	struct op *op = *at;
	struct session *session = op->session;

	*at = op->next;
	session->late--;
	op_report(op);
	if (session->conn) /* a fence may be free */
		conn_busy(session->conn);
}

bool fault_tick(struct nic *nic)
{
	bool any = false;

	nic_role(nic);
	for (; nic->late && nic->late->depart_ns <= nic_now(nic); any = true)
		fault_report_late(&nic->late);
	if (nic->late)
		nic_arm_timer(nic, nic->late->depart_ns);
	return any;
}

void fault_flush(struct ep *ep)
{
	struct op **at = &ep->nic->late;

	nic_role(ep->nic);
	while (*at) {
		if ((*at)->ep == ep)
			fault_report_late(at);
		else
			at = &(*at)->next;
	}
}
