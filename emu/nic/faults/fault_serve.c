/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_serve.c - a fault plan's rules for peers' requests. */
#include "emu/nic/faults/fault_serve.h"

#include <errno.h>

#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/requests/responder.h"

/* Notes the request as rules see it. A frame that continues a message is no request of its own, nor is a READ that was executed
 * before and is asked again. */
static void note(struct conn *conn, const struct wire_head *head)
{
	struct fault_op *op = &conn->in.faulted;
	struct wire_atomic_fields atomic;
	struct wire_target_fields to = { .key = 0 };

	conn->in.counts = !conn->in.repeat;
	switch (head->op) {
	case WIRE_WRITE:
		conn->in.counts = head->flags & WIRE_F_FIRST;
		wire_get_target(&((const struct wire_write *)wire_body(head))->to, &to);
		op->kind = OP_WRITE;
		break;
	case WIRE_READ:
		wire_get_target(&((const struct wire_read *)wire_body(head))->from, &to);
		op->kind = OP_READ;
		break;
	case WIRE_ATOMIC:
		wire_get_atomic(head, &atomic);
		to = atomic.to;
		op->kind = OP_ATOMIC;
		break;
	case WIRE_SEND:
	case WIRE_RTS:
		op->kind = OP_SEND;
		break;
	default:
		conn->in.counts = false;
	}
	op->key = to.key;
	op->cq_data = head->flags & WIRE_F_CQ_DATA;
}

static void cut(struct conn *conn, const struct fault_rule *rule)
{
	struct session *session = conn->session;
	char name[64];

	nic_log(conn->nic, NIC_LOG_INFO, "connection with %s cut by the fault plan", conn_name(conn, name, sizeof(name)));
	session->fault_until_ns = nic_now(conn->nic) + rule->down_ns;
	conn_close(conn, ECONNRESET, false);
}

bool fault_begin(struct conn *conn, const struct wire_head *head)
{
	struct fault_peer *peer = conn->session->fault;
	const struct fault_rule *rule;

	nic_role(conn->nic);
	note(conn, head);
	if (!conn->in.counts)
		return true;
	rule = fault_next(peer, PLAN_CUT, &conn->in.faulted);
	if (rule && rule->before && fault_holds(peer, PLAN_CUT, &conn->in.faulted)) {
		cut(conn, rule);
		return false;
	}
	if (!fault_holds(peer, PLAN_RNR, &conn->in.faulted))
		return true;
	responder_rnr(conn);
	return false;
}

bool fault_refuses(const struct session *session, struct refusal *why)
{
	const struct incoming *in = &session->conn->in;
	const struct fault_rule *rule = in->counts ? fault_next(session->fault, PLAN_REFUSE, &in->faulted) : NULL;

	role_assert();
	if (!rule)
		return false;
	why->cause = rule->cause;
	why->access |= REFUSAL_INJECTED;
	return true;
}

void fault_end(struct conn *conn)
{
	struct fault_peer *peer = conn->session->fault;
	const struct fault_rule *rule;

	nic_role(conn->nic);
	if (!conn->in.counts)
		return;
	rule = fault_next(peer, PLAN_CUT, &conn->in.faulted);
	fault_count(peer, &conn->in.faulted);
	if (rule && !rule->before)
		cut(conn, rule);
}
