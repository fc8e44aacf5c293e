/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_serve.c - a fault plan's rules for peers' requests. */
#include "emu/nic/requests/fault_ops.h"

#include <errno.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/requests/responder.h"

/* Notes the request as rules see it. A frame that continues a message is no request of its own, nor is a READ that was executed
 * before and is asked again. */
static void fault_note_request(struct conn *conn, const struct wire_head *head, enum op_kind kind)
{
	const struct wire_form *form = &wire_forms[head->op];
	struct wire_target_fields to = { .key = 0 };
	bool goes_on = form->flags & WIRE_F_FIRST && !(head->flags & WIRE_F_FIRST);

	if (form->targets)
		wire_get_target(wire_body(head), &to);
	conn->in.counts = kind < OP_POSTED_KINDS && !conn->in.repeat && !goes_on;
	conn->in.faulted = (struct fault_op){ .kind = kind, .key = to.key, .cq_data = head->flags & WIRE_F_CQ_DATA };
}

static void fault_cut_conn(struct conn *conn, const struct fault_rule *rule)
{
	struct session *session = conn->session;
	char name[64];

	nic_log(conn->nic, NIC_LOG_INFO, "connection with %s cut by the fault plan", conn_name(conn, name, sizeof(name)));
	session->fault_until_ns = nic_now(conn->nic) + rule->down_ns;
	conn_close(conn, ECONNRESET, false);
}

/* Notes what is reported of the request once it is through. */
static void note_for_report(struct conn *conn, const struct wire_head *head, enum op_kind kind)
{
	const struct wire_form *form = &wire_forms[head->op];

	conn->in.reported = kind < OP_POSTED_KINDS && !conn->in.repeat;
	conn->in.kind = (uint8_t)kind;
	conn->in.starts = !(form->flags & WIRE_F_FIRST) || head->flags & WIRE_F_FIRST;
	conn->in.asks = head->op == WIRE_READ ? wire_get64(((const struct wire_read *)wire_body(head))->length)
					      : wire_get32(head->payload);
}

/* The context that the request names (WIRE-165). One without a number has none. False: the rest of a message names another one. */
static bool turn(struct conn *conn, const struct wire_head *head)
{
	struct responder *rsp = &conn->session->rsp;
	uint64_t number = 0;

	if (head->op == WIRE_RSEND) {
		const struct wire_rsend *rsend = wire_body(head);

		number = wire_get64(rsend->auth);
	} else if (wire_forms[head->op].targets) {
		struct wire_target_fields to;

		wire_get_target(wire_body(head), &to);
		number = to.auth;
	}
	if (!(wire_forms[head->op].flags & WIRE_F_FIRST) || head->flags & WIRE_F_FIRST)
		rsp->named = number;
	if (number != rsp->named)
		return false;
	(void)xrc_turn(conn->ep, number);
	return true;
}

bool fault_begin(struct conn *conn, const struct wire_head *head, enum op_kind kind)
{
	struct fault_peer *peer = conn->session->fault;
	const struct fault_rule *rule;

	nic_role(conn->nic);
	if (conn->ep->attr.xrc && !turn(conn, head)) {
		conn_broken(conn, "a segment names another receive context than the first (WIRE-164)");
		return false;
	}
	note_for_report(conn, head, kind);
	if (conn->session->rsp.held)
		held_before(conn->session, head);
	if (conn->session->rsp.opens)
		open_access_before(conn->session, head);
	if (peer == &fault_watching) {
		conn->in.counts = false;
		return true;
	}
	fault_note_request(conn, head, kind);
	if (!conn->in.counts)
		return true;
	rule = fault_next(peer, PLAN_CUT, &conn->in.faulted);
	if (rule && rule->before && fault_holds(peer, PLAN_CUT, &conn->in.faulted)) {
		fault_cut_conn(conn, rule);
		return false;
	}
	if (ep_loses(conn->ep) || !fault_holds(peer, PLAN_RNR, &conn->in.faulted))
		return true;
	responder_rnr(conn);
	return false;
}

bool fault_refuses(const struct session *session, struct refusal *why)
{
	const struct incoming *in = &session->conn->in;
	const struct fault_rule *rule = in->counts ? fault_next(session->fault, PLAN_REFUSE, &in->faulted) : NULL;

	role_assert();
	if (!rule && in->counts && ep_loses(session->ep))
		rule = fault_next(session->fault, PLAN_RNR, &in->faulted);
	if (!rule)
		return false;
	why->cause = rule->sort == PLAN_RNR ? REFUSAL_NO_RECEIVE : rule->cause;
	why->access |= REFUSAL_INJECTED;
	return true;
}

/* A READ that was granted: its context's turn may be over before it is answered. */
static void note_context(struct session *session)
{
	struct read_response *response = session->rsp.responses_last;

	if (session->rsp.responses)
		response->srx = xrc_named(session->ep);
}

void fault_end(struct conn *conn)
{
	const struct front_reports *reports = conn->nic->config.reports;
	struct fault_peer *peer = conn->session->fault;
	const struct fault_rule *rule;

	nic_role(conn->nic);
	if (conn->ep->attr.xrc && conn->in.head.op == WIRE_READ && conn->in.why.cause == REFUSAL_NONE)
		note_context(conn->session);
	if (reports && conn->in.reported)
		reports->served(conn->in.kind, conn->in.why.cause == REFUSAL_NONE ? conn->in.asks : 0, conn->in.starts);
	if (conn->session->rsp.opens)
		open_access_executed(conn->session);
	if (!conn->in.counts)
		return;
	rule = fault_next(peer, PLAN_CUT, &conn->in.faulted);
	fault_count(peer, &conn->in.faulted);
	if (rule && !rule->before)
		fault_cut_conn(conn, rule);
}
