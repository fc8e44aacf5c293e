/* SPDX-License-Identifier: BSD-2-Clause */
/* deferred.c - deferred ops: they wait for a counter. */
#include "emu/nic/endpoint/ep_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/pool.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/completer.h"

static bool is_met(const struct trigger *when)
{
	uint64_t value = cntr_read(when->cntr);

	if (when->errors)
		value += cntr_read_error(when->cntr);
	return value >= when->threshold;
}

int deferred_add(struct nic *nic, const struct deferred *what)
{
	struct submit *submit = &nic->submit;
	struct deferred *deferred, **at;

	if (submit->deferred_count >= LIMIT_DEFERRED)
		return -EAGAIN;
	deferred = malloc(sizeof(*deferred));
	if (!deferred)
		return -EAGAIN;
	*deferred = *what;
	for (at = &submit->deferred; *at && (*at)->when.threshold <= deferred->when.threshold; at = &(*at)->next)
		;
	deferred->next = *at;
	*at = deferred;
	submit->deferred_count++;
	cntr_get(deferred->when.cntr);
	cntr_hold(deferred->when.cntr, deferred_reached, nic);
	return 0;
}

/* With the lock: takes it out of the list. It is the caller's. */
static struct deferred *deferred_unlink(struct submit *submit, struct deferred **at) REQUIRES(submit->lock)
{
	struct deferred *deferred = *at;

	*at = deferred->next;
	deferred->next = NULL;
	submit->deferred_count--;
	cntr_unhold(deferred->when.cntr);
	cntr_put(deferred->when.cntr);
	return deferred;
}

/* With the lock: into the submit queue. */
static void deferred_submit(struct submit *submit, struct deferred *deferred) REQUIRES(submit->lock)
{
	unsigned int count = 0;
	struct op *op;

	while ((op = op_list_pop(&deferred->ops))) {
		op_list_push(&submit->ops, op);
		count++;
	}
	if (deferred->rx) {
		submit_push_rx(submit, deferred->rx);
		count++;
	}
	if (deferred->change.cntr) {
		*submit->changes_end = deferred;
		submit->changes_end = &deferred->next;
		count++;
	} else {
		free(deferred);
	}
	atomic_fetch_add(&submit->waiting, count);
}

void deferred_reached(struct nic *nic, struct cntr *cntr)
{
	struct submit *submit = &nic->submit;
	bool any = false;

	futex_lock(&submit->lock);
	for (struct deferred **at = &submit->deferred; *at;) {
		if ((*at)->when.cntr == cntr && is_met(&(*at)->when)) {
			deferred_submit(submit, deferred_unlink(submit, at));
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

static bool is_of(const struct deferred *deferred, const struct ep *ep, const struct srx *srx)
{
	return (ep && deferred->ep == ep) || (srx && deferred->rx && deferred->rx->srx == srx);
}

void deferred_release(struct nic *nic, const struct ep *ep, const struct srx *srx)
{
	struct submit *submit = &nic->submit;

	futex_lock(&submit->lock);
	for (struct deferred **at = &submit->deferred; *at;) {
		if (is_of(*at, ep, srx))
			deferred_submit(submit, deferred_unlink(submit, at));
		else
			at = &(*at)->next;
	}
	futex_unlock(&submit->lock);
}

void deferred_changes(struct deferred *list)
{
	role_assert();
	while (list) {
		struct deferred *deferred = list;

		list = deferred->next;
		(deferred->change.set ? cntr_set : cntr_add)(deferred->change.cntr, deferred->change.value);
		cntr_put(deferred->change.cntr);
		free(deferred);
	}
}

/* The op that reports for a post. */
static const void *deferred_op_context(const struct deferred *deferred)
{
	return deferred->rx ? deferred->rx->done.c.context : deferred->ops.last ? deferred->ops.last->done.c.context : NULL;
}

static void deferred_refuse(struct deferred *deferred, enum refusal_cause cause)
{
	struct op *op;

	while ((op = op_list_pop(&deferred->ops)))
		complete_refused(op, cause, NULL);
	if (deferred->rx)
		complete_receive_failed(deferred->rx, cause);
	free(deferred);
}

bool deferred_cancel(struct nic *nic, const struct ep *ep, const struct srx *srx, const void *context)
{
	struct submit *submit = &nic->submit;
	struct deferred *deferred = NULL;

	nic_role(nic);
	futex_lock(&submit->lock);
	for (struct deferred **at = &submit->deferred; *at && !deferred; at = &(*at)->next) {
		if (is_of(*at, ep, srx) && deferred_op_context(*at) == context && !(*at)->when.work) {
			deferred = deferred_unlink(submit, at);
			break;
		}
	}
	futex_unlock(&submit->lock);
	if (!deferred)
		return false;
	deferred_refuse(deferred, REFUSAL_CANCELLED);
	return true;
}

static bool names(const struct deferred *deferred, uint64_t desc)
{
	const struct op *op = deferred->ops.first;

	return deferred->rx ? rx_names(deferred->rx, desc) : op && op_names(op, desc);
}

static struct deferred *cut_named(struct submit *submit, uint64_t desc)
{
	struct deferred *deferred = NULL, **at;

	futex_lock(&submit->lock);
	for (at = &submit->deferred; *at && !names(*at, desc); at = &(*at)->next)
		;
	if (*at)
		deferred = deferred_unlink(submit, at);
	futex_unlock(&submit->lock);
	return deferred;
}

void deferred_recall(struct nic *nic, uint64_t desc)
{
	struct deferred *deferred;

	while ((deferred = cut_named(&nic->submit, desc)))
		deferred_refuse(deferred, REFUSAL_LOCAL_CLOSED);
}

/* Without a completion: the canceller knows. */
static void drop(struct deferred *deferred)
{
	struct op *op;

	while ((op = op_list_pop(&deferred->ops))) {
		if (op->counted)
			cntr_put(op->counted);
		pool_give(op->pool, op);
	}
	if (deferred->rx) {
		if (deferred->rx->counted)
			cntr_put(deferred->rx->counted);
		pool_give(deferred->rx->pool, deferred->rx);
	}
	if (deferred->change.cntr)
		cntr_put(deferred->change.cntr);
	free(deferred);
}

int nic_cancel_work(struct nic *nic, const void *work)
{
	struct submit *submit = &nic->submit;
	struct deferred *deferred = NULL, **at;

	futex_lock(&submit->lock);
	for (at = &submit->deferred; *at && (*at)->when.work != work; at = &(*at)->next)
		;
	if (*at)
		deferred = deferred_unlink(submit, at);
	futex_unlock(&submit->lock);
	if (deferred)
		drop(deferred);
	return deferred ? 0 : -ENOENT;
}

void nic_flush_work(struct nic *nic, const void *owner, const struct cntr *cntr)
{
	struct submit *submit = &nic->submit;
	struct deferred *gone = NULL, *deferred;

	futex_lock(&submit->lock);
	for (struct deferred **at = &submit->deferred; *at;) {
		if ((*at)->when.work && (*at)->when.owner == owner && (!cntr || (*at)->when.cntr == cntr)) {
			deferred = deferred_unlink(submit, at);
			deferred->next = gone;
			gone = deferred;
		} else {
			at = &(*at)->next;
		}
	}
	futex_unlock(&submit->lock);
	while ((deferred = gone)) {
		gone = deferred->next;
		drop(deferred);
	}
}

int nic_change_counter(struct nic *nic, const struct trigger *when, const struct deferred_change *change)
{
	struct deferred deferred = { .when = *when, .change = *change };
	int err;

	cntr_get(change->cntr);
	futex_lock(&nic->submit.lock);
	err = deferred_add(nic, &deferred);
	futex_unlock(&nic->submit.lock);
	if (err)
		cntr_put(change->cntr);
	else
		deferred_reached(nic, when->cntr);
	return err;
}
