/* SPDX-License-Identifier: BSD-2-Clause */
/* cq.c - completion queue.
 *
 * Order between completions and errors is kept by counting: an error notes how many completions came before it, and
 * is next when so many have been taken. The overflow list is empty unless the ring is full: so of the completions that
 * are unread as many as fit are in the ring, and a push counts once. */
#include "emu/nic/queues/cq.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/tsan.h"
#include "emu/nic/queues/cq_impl.h"

int cq_open(struct cq **out, size_t size, void (*wake)(void *arg), void *arg)
{
	struct cq *cq;

	if (size > LIMIT_CQ_SIZE_MAX)
		return -EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->size = cq->room = size ? size : LIMIT_CQ_SIZE;
	cq->ring = malloc(cq->size * sizeof(*cq->ring)); /* pages that no entry has come to cost nothing */
	if (!cq->ring) {
		free(cq);
		return -ENOMEM;
	}
	cq->wake = wake;
	cq->arg = arg;
	*out = cq;
	return 0;
}

void cq_overrun_at(struct cq *cq, size_t most)
{
	assert(most && !load_relaxed(&cq->unread) && !load_relaxed(&cq->error_count) && !cq->taken);
	cq->bounded = true;
	cq->most = most;
	if (cq->size > most)
		cq->size = cq->room = most;
}

void cq_tell_overrun(struct cq *cq, void (*overrun)(void *arg), void *arg)
{
	cq->overrun = overrun;
	cq->overrun_arg = arg;
}

void cq_break(struct cq *cq)
{
	futex_lock(&cq->lock);
	cq->room = cq->most = 0;
	cq->overrun_told = true;
	futex_unlock(&cq->lock);
}

bool cq_overruns(const struct cq *cq)
{
	return cq->bounded;
}

size_t cq_lost(const struct cq *cq)
{
	return load_relaxed(&cq->lost);
}

bool cq_bound(const struct cq *cq)
{
	return atomic_load(&cq->users);
}

int cq_close(struct cq *cq)
{
	if (cq_bound(cq))
		return -EBUSY;
	release_all(cq->first);
	free_errors(cq, cq->first_error);
	free(cq->ring);
	free(cq);
	return 0;
}

void cq_get(struct cq *cq)
{
	atomic_fetch_add(&cq->users, 1);
}

void cq_put(struct cq *cq)
{
	unsigned int before = atomic_fetch_sub(&cq->users, 1);

	assert(before);
}

void cq_look(struct cq *cq, struct cq_view *view)
{
	futex_lock(&cq->lock);
	view->size = cq->size;
	view->unread = load_relaxed(&cq->unread);
	view->errors = load_relaxed(&cq->error_count);
	view->taken = cq->taken;
	futex_unlock(&cq->lock);
	view->users = atomic_load(&cq->users);
}

/* --- writers --- */

bool cq_is_notified(const struct cq *cq)
{
	return atomic_load_explicit(&cq->notify, memory_order_relaxed);
}

/* Lock held; something that `tell` depends on has changed. While readers are about to look, cq_reader_exit() does the waking. */
static void set_tell(struct cq *cq) REQUIRES(cq->lock)
{
	cq->tell = !cq->readers && (cq->armed || cq_is_notified(cq)) && cq->wake;
}

/* Flags of an error, and of entries that are there already: any waiter wants to know of it. */
#define ANY_FLAGS UINT64_MAX

/* Lets go of the lock: an entry with these flags has come. */
__attribute__((noinline)) static void unlock_and_tell(struct cq *cq, uint64_t flags) RELEASE(cq->lock)
{
	if (!cq->armed && cq->only && !(flags & cq->only)) {
		futex_unlock(&cq->lock);
		return;
	}
	if (!cq->armed) /* an armed waiter may take the signal for itself, and the notified one needs the next */
		atomic_store_explicit(&cq->notify, false, memory_order_relaxed);
	set_tell(cq);
	futex_unlock(&cq->lock);
	cq->wake(cq->arg);
}

/* Likewise, and mostly nothing waits. */
static inline void unlock_and_wake(struct cq *cq, uint64_t flags) RELEASE(cq->lock)
{
	if (cq->tell)
		unlock_and_tell(cq, flags);
	else
		futex_unlock(&cq->lock);
}

bool cq_has_room(const struct cq *cq)
{
	return load_relaxed(&cq->unread) < cq->room;
}

/* Lock held: would one more entry be lost? */
static bool overruns(const struct cq *cq) REQUIRES(cq->lock)
{
	return unlikely(cq->bounded) && load_relaxed(&cq->unread) + load_relaxed(&cq->error_count) >= cq->most;
}

/* An entry is lost. */
static void unlock_and_lose(struct cq *cq) RELEASE(cq->lock)
{
	bool first = !cq->overrun_told;

	cq->overrun_told = true;
	bump(&cq->lost, 1);
	futex_unlock(&cq->lock);
	if (first && cq->overrun)
		cq->overrun(cq->overrun_arg);
}

/* Lock held: the ring is full. */
__attribute__((noinline)) static void cq_keep(struct cq *cq, struct cq_node *node) RELEASE(cq->lock)
{
	if (overruns(cq)) {
		unlock_and_lose(cq);
		node->release(node);
		return;
	}
	node->next = NULL;
	if (cq->first)
		cq->last->next = node;
	else
		cq->first = node;
	cq->last = node;
	bump(&cq->unread, 1);
	unlock_and_wake(cq, node->c.flags); /* from now on it is the readers' */
}

void cq_push(struct cq *cq, struct cq_node *node)
{
	size_t unread;

	futex_lock(&cq->lock);
	unread = load_relaxed(&cq->unread);
	if (unread >= cq->room) {
		cq_keep(cq, node);
		return;
	}
	slot_put(cq, unread, &node->c);
	bump(&cq->unread, 1);
	unlock_and_wake(cq, node->c.flags);
	node->release(node);
}

void cq_push_now(struct cq *cq, const struct completion *c)
{
	futex_lock(&cq->lock);
	slot_put(cq, load_relaxed(&cq->unread), c);
	bump(&cq->unread, 1);
	unlock_and_wake(cq, c->flags);
}

/* Lock held, no memory for one more error: the spare, or NULL if this error only adds to those that the spare speaks of. */
static struct error_node *spare_node(struct cq *cq) REQUIRES(cq->lock)
{
	if (!cq->spare_used) {
		cq->spare_used = true;
		return &cq->spare;
	}
	cq->spare_lost++;
	return NULL;
}

void cq_push_error(struct cq *cq, const struct cq_error *error)
{
	struct error_node *node = malloc(sizeof(*node));

	futex_lock(&cq->lock);
	if (overruns(cq)) {
		unlock_and_lose(cq);
		free(node);
		return;
	}
	if (!node)
		node = spare_node(cq);
	if (node) {
		*node = (struct error_node){ NULL, cq->taken + load_relaxed(&cq->unread), *error };
		if (cq->first_error)
			cq->last_error->next = node;
		else
			cq->first_error = node;
		cq->last_error = node;
		bump(&cq->error_count, 1);
	}
	unlock_and_wake(cq, ANY_FLAGS);
}

/* --- readers --- */

__attribute__((noinline)) struct cq_node *cq_refill(struct cq *cq, size_t used) REQUIRES(cq->lock)
{
	struct cq_node *copied = cq->first, *last = NULL;

	for (; cq->first && used < cq->size; used++) {
		last = cq->first;
		slot_put(cq, used, &last->c);
		cq->first = last->next;
	}
	if (!last)
		return NULL;
	last->next = NULL;
	return copied;
}

ssize_t cq_take(struct cq *cq, struct completion *out, size_t count)
{
	struct cq_node *copied = NULL;
	size_t used, n;
	ssize_t got;

	futex_lock(&cq->lock);
	used = load_relaxed(&cq->unread) < cq->size ? load_relaxed(&cq->unread) : cq->size;
	n = used < count ? used : count;
	got = used ? (ssize_t)n : -EAGAIN;
	if (cq->first_error && cq->first_error->after - cq->taken <= n) {
		n = (size_t)(cq->first_error->after - cq->taken);
		got = n ? (ssize_t)n : -NIC_EAVAIL;
	}
	for (size_t i = 0; i < n; i++) {
		out[i] = cq->ring[cq->head];
		cq->head = cq->head + 1 < cq->size ? cq->head + 1 : 0;
	}
	cq->taken += n;
	bump(&cq->unread, -n);
	if (cq->first)
		copied = cq_refill(cq, used - n);
	futex_unlock(&cq->lock);
	tsan_completion();
	release_all(copied);
	return got;
}

/* Lock held: the spare's sentence also tells of those that found no memory. */
static void tell_lost(const struct cq *cq, struct cq_error *error) REQUIRES(cq->lock)
{
	if (cq->spare_lost)
		snprintf(error->text, sizeof(error->text), "out of memory: %llu more errors could not be kept",
			 (unsigned long long)cq->spare_lost);
}

ssize_t cq_take_error(struct cq *cq, struct cq_error *out)
{
	struct error_node *node, *done = NULL;

	if (!load_relaxed(&cq->error_count))
		return -EAGAIN;
	futex_lock(&cq->lock);
	node = cq->first_error;
	if (node) {
		*out = node->error;
		if (node == &cq->spare)
			tell_lost(cq, out);
		cq->first_error = node->next;
		bump(&cq->error_count, -(size_t)1);
		done = error_end(cq, node);
	}
	futex_unlock(&cq->lock);
	free(done);
	tsan_completion();
	return node ? 1 : -EAGAIN;
}

bool cq_ready(const struct cq *cq)
{
	return load_relaxed(&cq->unread) || load_relaxed(&cq->error_count);
}

bool cq_choked(const struct cq *cq)
{
	return load_relaxed(&cq->error_count) > LIMIT_CQ_ERRORS && !cq->bounded;
}

size_t cq_overfull(const struct cq *cq)
{
	size_t unread = load_relaxed(&cq->unread);

	return unread > cq->size ? unread : 0;
}

void cq_arm(struct cq *cq)
{
	futex_lock(&cq->lock);
	cq->armed++;
	set_tell(cq);
	futex_unlock(&cq->lock);
}

void cq_disarm(struct cq *cq)
{
	futex_lock(&cq->lock);
	assert(cq->armed);
	cq->armed--;
	set_tell(cq);
	futex_unlock(&cq->lock);
}

void cq_notify(struct cq *cq)
{
	futex_lock(&cq->lock);
	atomic_store_explicit(&cq->notify, true, memory_order_relaxed);
	cq->only = 0;
	set_tell(cq);
	futex_unlock(&cq->lock);
}

void cq_notify_flagged(struct cq *cq, uint64_t flags)
{
	futex_lock(&cq->lock);
	if (!cq_is_notified(cq)) {
		atomic_store_explicit(&cq->notify, true, memory_order_relaxed);
		cq->only = flags;
		set_tell(cq);
	}
	futex_unlock(&cq->lock);
}

__attribute__((noinline)) static void reader_enter(struct cq *cq)
{
	futex_lock(&cq->lock);
	cq->readers++;
	set_tell(cq);
	futex_unlock(&cq->lock);
}

bool cq_reader_enter(struct cq *cq)
{
	if (!cq_is_notified(cq))
		return false;
	reader_enter(cq);
	return true;
}

__attribute__((noinline)) void cq_reader_exit(struct cq *cq)
{
	futex_lock(&cq->lock);
	cq->readers--;
	set_tell(cq);
	if (cq_ready(cq))
		unlock_and_wake(cq, ANY_FLAGS);
	else
		futex_unlock(&cq->lock);
}

void cq_signal(struct cq *cq)
{
	futex_lock(&cq->lock);
	cq->signals++;
	futex_unlock(&cq->lock);
	if (cq->wake)
		cq->wake(cq->arg);
}

bool cq_signalled(struct cq *cq)
{
	bool signalled;

	futex_lock(&cq->lock);
	signalled = cq->signals;
	if (signalled)
		cq->signals--;
	futex_unlock(&cq->lock);
	return signalled;
}
