/* SPDX-License-Identifier: BSD-2-Clause */
/* deferred.c - deferred ops: they wait for a counter. */
#include "emu/nic/endpoint/deferred.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/pool.h"
#include "emu/nic/endpoint/ep.h"
#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/requests/completer.h"

static bool is_met(const struct when *when)
{
	uint64_t value = cntr_read(when->cntr);

	if (when->errors)
		value += cntr_read_error(when->cntr);
	return value >= when->threshold;
}

int deferred_add(struct nic *nic, const struct deferred *what)
{
	struct submit *submit = &nic->submit;
	struct deferred *held, **at;

	if (submit->deferred_count >= LIMIT_DEFERRED)
		return -EAGAIN;
	held = malloc(sizeof(*held));
	if (!held)
		return -EAGAIN;
	*held = *what;
	for (at = &submit->held; *at && (*at)->when.threshold <= held->when.threshold; at = &(*at)->next)
		;
	held->next = *at;
	*at = held;
	submit->deferred_count++;
	cntr_get(held->when.cntr);
	cntr_hold(held->when.cntr, deferred_reached, nic);
	return 0;
}

/* With the lock: takes it out of the list. It is the caller's. */
static struct deferred *cut(struct submit *submit, struct deferred **at) REQUIRES(submit->lock)
{
	struct deferred *held = *at;

	*at = held->next;
	held->next = NULL;
	submit->deferred_count--;
	cntr_unhold(held->when.cntr);
	cntr_put(held->when.cntr);
	return held;
}

/* With the lock: into the submit queue. */
static void let_go(struct submit *submit, struct deferred *held) REQUIRES(submit->lock)
{
	unsigned int count = 0;
	struct op *op;

	while ((op = op_list_pop(&held->ops))) {
		op_list_push(&submit->ops, op);
		count++;
	}
	if (held->rx) {
		submit_push_rx(submit, held->rx);
		count++;
	}
	if (held->change.cntr) {
		*submit->changes_end = held;
		submit->changes_end = &held->next;
		count++;
	} else {
		free(held);
	}
	atomic_fetch_add(&submit->waiting, count);
}

void deferred_reached(struct nic *nic, struct cntr *cntr)
{
	struct submit *submit = &nic->submit;
	bool any = false;

	futex_lock(&submit->lock);
	for (struct deferred **at = &submit->held; *at;) {
		if ((*at)->when.cntr == cntr && is_met(&(*at)->when)) {
			let_go(submit, cut(submit, at));
			any = true;
		} else {
			at = &(*at)->next;
		}
	}
	futex_unlock(&submit->lock);
	/* The holder of the role looks at the queue again before it lets go of it (D2). */
	if (any && !driver_mine(&nic->driver))
		driver_run(&nic->driver);
}

static bool is_of(const struct deferred *held, const struct ep *ep, const struct srx *srx)
{
	return (ep && held->ep == ep) || (srx && held->rx && held->rx->srx == srx);
}

void deferred_release(struct nic *nic, const struct ep *ep, const struct srx *srx)
{
	struct submit *submit = &nic->submit;

	futex_lock(&submit->lock);
	for (struct deferred **at = &submit->held; *at;) {
		if (is_of(*at, ep, srx))
			let_go(submit, cut(submit, at));
		else
			at = &(*at)->next;
	}
	futex_unlock(&submit->lock);
}

void deferred_changes(struct deferred *list)
{
	role_assert();
	while (list) {
		struct deferred *held = list;

		list = held->next;
		(held->change.set ? cntr_set : cntr_add)(held->change.cntr, held->change.value);
		cntr_put(held->change.cntr);
		free(held);
	}
}

/* The op that reports for a post. */
static const void *context_of(const struct deferred *held)
{
	return held->rx ? held->rx->done.c.context : held->ops.last ? held->ops.last->done.c.context : NULL;
}

static void end(struct deferred *held, enum refusal_cause cause)
{
	struct op *op;

	while ((op = op_list_pop(&held->ops)))
		complete_refused(op, cause, NULL);
	if (held->rx)
		complete_receive_failed(held->rx, cause);
	free(held);
}

bool deferred_cancel(struct nic *nic, const struct ep *ep, const struct srx *srx, const void *context)
{
	struct submit *submit = &nic->submit;
	struct deferred *held = NULL;

	nic_role(nic);
	futex_lock(&submit->lock);
	for (struct deferred **at = &submit->held; *at && !held; at = &(*at)->next) {
		if (is_of(*at, ep, srx) && context_of(*at) == context && !(*at)->when.work) {
			held = cut(submit, at);
			break;
		}
	}
	futex_unlock(&submit->lock);
	if (!held)
		return false;
	end(held, REFUSAL_CANCELLED);
	return true;
}

static bool names(const struct deferred *held, uint64_t desc)
{
	const struct op *op = held->ops.first;

	return held->rx ? rx_names(held->rx, desc) : op && op_names(op, desc);
}

static struct deferred *cut_named(struct submit *submit, uint64_t desc)
{
	struct deferred *held = NULL, **at;

	futex_lock(&submit->lock);
	for (at = &submit->held; *at && !names(*at, desc); at = &(*at)->next)
		;
	if (*at)
		held = cut(submit, at);
	futex_unlock(&submit->lock);
	return held;
}

void deferred_recall(struct nic *nic, uint64_t desc)
{
	struct deferred *held;

	while ((held = cut_named(&nic->submit, desc)))
		end(held, REFUSAL_LOCAL_CLOSED);
}

/* Without a completion: the canceller knows. */
static void drop(struct deferred *held)
{
	struct op *op;

	while ((op = op_list_pop(&held->ops))) {
		if (op->counted)
			cntr_put(op->counted);
		pool_give(op->pool, op);
	}
	if (held->rx) {
		if (held->rx->counted)
			cntr_put(held->rx->counted);
		pool_give(held->rx->pool, held->rx);
	}
	if (held->change.cntr)
		cntr_put(held->change.cntr);
	free(held);
}

int nic_cancel_work(struct nic *nic, const void *work)
{
	struct submit *submit = &nic->submit;
	struct deferred *held = NULL, **at;

	futex_lock(&submit->lock);
	for (at = &submit->held; *at && (*at)->when.work != work; at = &(*at)->next)
		;
	if (*at)
		held = cut(submit, at);
	futex_unlock(&submit->lock);
	if (held)
		drop(held);
	return held ? 0 : -ENOENT;
}

void nic_flush_work(struct nic *nic, const void *owner, const struct cntr *cntr)
{
	struct submit *submit = &nic->submit;
	struct deferred *gone = NULL, *held;

	futex_lock(&submit->lock);
	for (struct deferred **at = &submit->held; *at;) {
		if ((*at)->when.work && (*at)->when.owner == owner && (!cntr || (*at)->when.cntr == cntr)) {
			held = cut(submit, at);
			held->next = gone;
			gone = held;
		} else {
			at = &(*at)->next;
		}
	}
	futex_unlock(&submit->lock);
	while ((held = gone)) {
		gone = held->next;
		drop(held);
	}
}

int nic_change_counter(struct nic *nic, const struct when *when, const struct deferred_change *change)
{
	struct deferred held = { .when = *when, .change = *change };
	int err;

	cntr_get(change->cntr);
	futex_lock(&nic->submit.lock);
	err = deferred_add(nic, &held);
	futex_unlock(&nic->submit.lock);
	if (err)
		cntr_put(change->cntr);
	else
		deferred_reached(nic, when->cntr);
	return err;
}
