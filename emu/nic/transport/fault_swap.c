/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_swap.c - exchanges the fault plan, with the counts of each session, all or nothing. */
#include "emu/nic/transport/fault_swap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

struct fault_loaded {
	struct fault_loaded *next;          /* in nic->plans_left */
	atomic_uint_fast64_t registrations; /* so far, while it was in force; any thread, relaxed */
	/* Of each kind of post, receives behind: how many went on, and in the lower half how often the next one found the queue
	 * full. Any thread, relaxed. */
	atomic_uint_fast64_t posts[FAULT_KINDS + 1];
	struct fault_plan plan;
};

static struct fault_loaded *loaded_new(const struct fault_plan *plan)
{
	struct fault_loaded *loaded = calloc(1, sizeof(*loaded));

	if (loaded)
		loaded->plan = *plan;
	return loaded;
}

int fault_plan_begin(struct nic *nic, const struct fault_plan *plan)
{
	struct fault_loaded *loaded = loaded_new(plan);

	atomic_store(&nic->plan, loaded);
	return loaded ? 0 : -ENOMEM;
}

static void free_left(struct nic *nic)
{
	struct fault_loaded *left;

	while ((left = nic->plans_left)) {
		nic->plans_left = left->next;
		free(left);
	}
}

void fault_plan_end(struct nic *nic)
{
	free(atomic_exchange(&nic->plan, NULL));
	free_left(nic);
}

/* Puts it in force, and frees those before it, unless somebody reads now. A later reader finds the new one: a reader counts
 * itself before it looks, and the count is looked at after the plan was exchanged; all four in one order. */
static void plan_exchange(struct nic *nic, struct fault_loaded *next)
{
	struct fault_loaded *before = atomic_exchange(&nic->plan, next);

	if (before) {
		before->next = nic->plans_left;
		nic->plans_left = before;
	}
	if (!atomic_load(&nic->plan_readers))
		free_left(nic);
}

const struct fault_plan *fault_plan_of(const struct nic *nic)
{
	const struct fault_loaded *loaded = atomic_load_explicit(&nic->plan, memory_order_relaxed);

	nic_role(nic);
	return loaded ? &loaded->plan : NULL;
}

const struct fault_plan *fault_plan_hold(struct nic *nic)
{
	const struct fault_loaded *loaded;

	if (!atomic_load_explicit(&nic->plan, memory_order_relaxed))
		return NULL;
	atomic_fetch_add(&nic->plan_readers, 1);
	loaded = atomic_load(&nic->plan);
	if (loaded)
		return &loaded->plan;
	fault_plan_release(nic);
	return NULL;
}

static struct fault_loaded *loaded_of(const struct fault_plan *held)
{
	return (void *)((uintptr_t)held - offsetof(struct fault_loaded, plan));
}

uint64_t fault_plan_registers(const struct fault_plan *held)
{
	return atomic_fetch_add_explicit(&loaded_of(held)->registrations, 1, memory_order_relaxed) + 1;
}

void fault_plan_release(struct nic *nic)
{
	atomic_fetch_sub(&nic->plan_readers, 1);
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
static struct fault_peer **counts_new(struct nic *nic, const struct fault_loaded *next)
{
	struct fault_peer **counts;
	size_t sessions = 0, made = 0;

	for (struct session *session = session_behind(nic, NULL); session; session = session_behind(nic, session))
		sessions++;
	counts = calloc(sessions + 1, sizeof(struct fault_peer *));
	if (!counts || !next)
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
	struct fault_loaded *next = plan ? loaded_new(plan) : NULL;
	struct fault_peer **counts = next || !plan ? counts_new(nic, next) : NULL;
	size_t at = 0;

	nic_role(nic);
	if (!counts) {
		free(next);
		return -ENOMEM;
	}
	held_release_all(nic);
	nic_set_polling(nic, false); /* the NIC thread turns it on again where there is no plan */
	for (struct session *session = session_behind(nic, NULL); session; session = session_behind(nic, session)) {
		if (session->fault != &fault_watching)
			free(session->fault);
		session->fault = !next && (nic->trace || nic->config.reports || nic->config.races || session->ep->attr.xrc)
					 ? &fault_watching
					 : counts[at];
		session->rsp.hold = (struct hold){ 0 };
		at++;
		if (session->conn)
			conn_busy(session->conn); /* ops that waited by the plan before may leave */
	}
	free(counts);
	plan_exchange(nic, next);
	nic->alarm_ns = 0;
	nic_arm_timer(nic, nic_now(nic));
	return 0;
}

bool nic_fault_is_loaded(const struct nic *nic)
{
	return fault_plan_of(nic);
}

size_t nic_fault_queue(struct nic *nic, size_t entries)
{
	const struct fault_plan *plan = fault_plan_hold(nic);

	if (plan) {
		entries = fault_queue(plan, entries);
		fault_plan_release(nic);
	}
	return entries;
}

int nic_fault_register(struct nic *nic)
{
	const struct fault_plan *plan = fault_plan_hold(nic);
	const struct fault_rule *rule;
	int err;

	if (!plan)
		return 0;
	rule = fault_registration(plan, fault_plan_registers(plan));
	err = rule ? -rule->err : 0;
	fault_plan_release(nic);
	return err;
}

bool nic_fault_fills(struct nic *nic)
{
	const struct fault_plan *plan = fault_plan_hold(nic);
	bool fills = plan && fault_fills(plan);

	if (plan)
		fault_plan_release(nic);
	return fills;
}

/* A post that finds it full is the next one of its kind still. */
static bool finds_full(const struct fault_plan *plan, unsigned int kind)
{
	enum { HALF = 32 };
	atomic_uint_fast64_t *posts = &loaded_of(plan)->posts[kind];
	uint_fast64_t seen = atomic_load_explicit(posts, memory_order_relaxed), next;
	bool full;

	do {
		const struct fault_rule *rule = fault_full(plan, kind, (seen >> HALF) + 1);

		full = rule && (uint32_t)seen < rule->times;
		next = full ? seen + 1 : ((seen >> HALF) + 1) << HALF;
	} while (!atomic_compare_exchange_weak_explicit(posts, &seen, next, memory_order_relaxed, memory_order_relaxed));
	return full;
}

int nic_fault_full(struct nic *nic, unsigned int kind)
{
	const struct fault_plan *plan = fault_plan_hold(nic);
	bool full = plan && finds_full(plan, kind);

	if (plan)
		fault_plan_release(nic);
	return full ? -EAGAIN : 0;
}
