/* SPDX-License-Identifier: BSD-2-Clause */
/* held.c - what waits for a counter. */
#include "emu/nic/held.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/completer.h"
#include "emu/nic/ep.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/pool.h"

static bool is_met(const struct when *when)
{
	uint64_t value = cntr_read(when->cntr);

	if (when->errors)
		value += cntr_read_error(when->cntr);
	return value >= when->threshold;
}

int held_add(struct nic *nic, const struct held *what)
{
	struct submit *submit = &nic->submit;
	struct held *held, **at;

	if (submit->held_count >= LIMIT_HELD)
		return -EAGAIN;
	held = malloc(sizeof(*held));
	if (!held)
		return -EAGAIN;
	*held = *what;
	for (at = &submit->held; *at && (*at)->when.threshold <= held->when.threshold; at = &(*at)->next)
		;
	held->next = *at;
	*at = held;
	submit->held_count++;
	cntr_get(held->when.cntr);
	cntr_hold(held->when.cntr, held_reached, nic);
	return 0;
}

/* With the lock: takes it out of the list. It is the caller's. */
static struct held *cut(struct submit *submit, struct held **at)
{
	struct held *held = *at;

	*at = held->next;
	held->next = NULL;
	submit->held_count--;
	cntr_unhold(held->when.cntr);
	cntr_put(held->when.cntr);
	return held;
}

/* With the lock: into the submit queue. */
static void let_go(struct submit *submit, struct held *held)
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

void held_reached(struct nic *nic, struct cntr *cntr)
{
	struct submit *submit = &nic->submit;
	bool any = false;

	leaf_lock(&submit->lock);
	for (struct held **at = &submit->held; *at;) {
		if ((*at)->when.cntr == cntr && is_met(&(*at)->when)) {
			let_go(submit, cut(submit, at));
			any = true;
		} else {
			at = &(*at)->next;
		}
	}
	leaf_unlock(&submit->lock);
	/* Who holds the role looks at the queue again before he lets go of it (D2). */
	if (any && !driver_mine(&nic->driver))
		driver_run(&nic->driver);
}

static bool is_of(const struct held *held, const struct ep *ep, const struct srx *srx)
{
	return (ep && held->ep == ep) || (srx && held->rx && held->rx->srx == srx);
}

void held_release(struct nic *nic, const struct ep *ep, const struct srx *srx)
{
	struct submit *submit = &nic->submit;

	leaf_lock(&submit->lock);
	for (struct held **at = &submit->held; *at;) {
		if (is_of(*at, ep, srx))
			let_go(submit, cut(submit, at));
		else
			at = &(*at)->next;
	}
	leaf_unlock(&submit->lock);
}

void held_changes(struct held *list)
{
	while (list) {
		struct held *held = list;

		list = held->next;
		(held->change.set ? cntr_set : cntr_add)(held->change.cntr, held->change.value);
		cntr_put(held->change.cntr);
		free(held);
	}
}

/* The op that reports for a post. */
static const void *context_of(const struct held *held)
{
	return held->rx ? held->rx->done.c.context : held->ops.last ? held->ops.last->done.c.context : NULL;
}

bool held_cancel(struct nic *nic, const struct ep *ep, const struct srx *srx, const void *context)
{
	struct submit *submit = &nic->submit;
	struct held *held = NULL;
	struct op *op;

	leaf_lock(&submit->lock);
	for (struct held **at = &submit->held; *at && !held; at = &(*at)->next) {
		if (is_of(*at, ep, srx) && context_of(*at) == context && !(*at)->when.work) {
			held = cut(submit, at);
			break;
		}
	}
	leaf_unlock(&submit->lock);
	if (!held)
		return false;
	while ((op = op_list_pop(&held->ops)))
		complete_refused(op, REFUSAL_CANCELLED, NULL);
	if (held->rx)
		complete_receive_failed(held->rx, REFUSAL_CANCELLED);
	free(held);
	return true;
}

/* Without a word: whoever cancels knows. */
static void drop(struct held *held)
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
	struct held *held = NULL, **at;

	leaf_lock(&submit->lock);
	for (at = &submit->held; *at && (*at)->when.work != work; at = &(*at)->next)
		;
	if (*at)
		held = cut(submit, at);
	leaf_unlock(&submit->lock);
	if (held)
		drop(held);
	return held ? 0 : -ENOENT;
}

void nic_flush_work(struct nic *nic, const void *owner, const struct cntr *cntr)
{
	struct submit *submit = &nic->submit;
	struct held *gone = NULL, *held;

	leaf_lock(&submit->lock);
	for (struct held **at = &submit->held; *at;) {
		if ((*at)->when.work && (*at)->when.owner == owner && (!cntr || (*at)->when.cntr == cntr)) {
			held = cut(submit, at);
			held->next = gone;
			gone = held;
		} else {
			at = &(*at)->next;
		}
	}
	leaf_unlock(&submit->lock);
	while ((held = gone)) {
		gone = held->next;
		drop(held);
	}
}

int nic_change_counter(struct nic *nic, const struct when *when, const struct held_change *change)
{
	struct held held = { .when = *when, .change = *change };
	int err;

	cntr_get(change->cntr);
	leaf_lock(&nic->submit.lock);
	err = held_add(nic, &held);
	leaf_unlock(&nic->submit.lock);
	if (err)
		cntr_put(change->cntr);
	else
		held_reached(nic, when->cntr);
	return err;
}
