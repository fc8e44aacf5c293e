/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_post.c - a fault plan's rules for own ops. */
#include "emu/nic/fault_post.h"

#include "emu/nic/ep.h"
#include "emu/nic/fault_plan.h"
#include "emu/nic/nic_impl.h"

/* Ops keep their order, as on a line: one that is slow holds those behind it. */
void fault_post(struct session *session, struct op *op)
{
	struct fault_op what = { .ours = true, .kind = op->kind, .key = op->remote.key, .cq_data = op->flags & POST_CQ_DATA };
	struct fault_peer *peer = session->fault;
	const struct fault_rule *rule = fault_next(peer, PLAN_LATENCY, &what);

	op->hold_ns = rule ? nic_now(session->ep->nic) + fault_wait(peer, rule, &what) : 0;
	fault_count(peer, &what);
}

bool fault_waits(struct session *session, const struct op *op)
{
	if (op->hold_ns <= session->ep->nic->now_ns)
		return false;
	session->fault_wake_ns = op->hold_ns;
	session_time(session, op->hold_ns);
	return true;
}
