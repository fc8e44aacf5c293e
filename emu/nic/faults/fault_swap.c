/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_swap.c - exchanges the fault plan, with the counts of each session, all or nothing. */
#include "emu/nic/faults/fault_swap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "emu/nic/endpoint/ep.h"
#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

static struct fault_plans *plans_new(const struct fault_plan *plan)
{
	struct fault_plans *next = calloc(1, sizeof(*next));

	if (!next)
		return NULL;
	next->none = !plan;
	if (plan)
		next->plan = *plan;
	return next;
}

static void plans_push(struct fault_plans *_Atomic *plans, struct fault_plans *next)
{
	next->before = atomic_load_explicit(plans, memory_order_relaxed);
	atomic_store_explicit(plans, next, memory_order_release); /* pairs with fault_plan_of() */
}

int fault_plans_add(struct fault_plans *_Atomic *plans, const struct fault_plan *plan)
{
	struct fault_plans *next = plans_new(plan);

	if (!next)
		return -ENOMEM;
	plans_push(plans, next);
	return 0;
}

void fault_plans_free(struct fault_plans *_Atomic *plans)
{
	struct fault_plans *at = atomic_load(plans), *before;

	atomic_store(plans, NULL);
	for (; at; at = before) {
		before = at->before;
		free(at);
	}
}

const struct fault_plan *fault_plan_of(const struct nic *nic)
{
	const struct fault_plans *first = atomic_load_explicit(&nic->plans, memory_order_acquire);

	return first && !first->none ? &first->plan : NULL;
}

/* The sessions of all endpoints, one after the other; `before` NULL: the first. NULL: there are no more. */
static struct session *session_behind(struct nic *nic, struct session *before)
{
	struct ep *ep = before ? before->ep : nic->eps;

	if (before && before != ep->self && before->next)
		return before->next;
	if (before && before != ep->self && ep->self)
		return ep->self;
	for (ep = before ? ep->next : ep; ep; ep = ep->next)
		if (ep->sessions || ep->self)
			return ep->sessions ? ep->sessions : ep->self;
	return NULL;
}

/* Counts for each session, in their order, and NULL behind; NULL: no memory. */
static struct fault_peer **counts_new(struct nic *nic, const struct fault_plans *next)
{
	struct fault_peer **counts;
	size_t sessions = 0, made = 0;

	for (struct session *session = session_behind(nic, NULL); session; session = session_behind(nic, session))
		sessions++;
	counts = calloc(sessions + 1, sizeof(struct fault_peer *));
	if (!counts || next->none)
		return counts;
	for (struct session *session = session_behind(nic, NULL); session; session = session_behind(nic, session)) {
		counts[made] = fault_peer_open(&next->plan, &session->peer);
		if (!counts[made++])
			goto free_counts;
	}
	return counts;

free_counts:
	while (made)
		free(counts[--made]);
	free(counts);
	return NULL;
}

int nic_fault_load(struct nic *nic, const struct fault_plan *plan)
{
	struct fault_plans *next = plans_new(plan);
	struct fault_peer **counts = next ? counts_new(nic, next) : NULL;
	size_t at = 0;

	nic_role(nic);
	if (!counts) {
		free(next);
		return -ENOMEM;
	}
	nic_set_polling(nic, false); /* the NIC thread turns it on again where there is no plan */
	plans_push(&nic->plans, next);
	atomic_store_explicit(&nic->registrations, 0, memory_order_relaxed);
	for (struct session *session = session_behind(nic, NULL); session; session = session_behind(nic, session)) {
		if (session->fault != &fault_watching)
			free(session->fault);
		session->fault = next->none && nic->trace ? &fault_watching : counts[at];
		at++;
		if (session->conn)
			conn_busy(session->conn); /* ops that waited by the plan before may leave */
	}
	free(counts);
	return 0;
}
