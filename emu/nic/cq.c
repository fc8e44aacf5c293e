/* SPDX-License-Identifier: BSD-2-Clause */
/* cq.c - completion queue.
 *
 * Order between completions and errors is kept by counting: an error notes how many completions came before it, and
 * is next when so many have been taken. The overflow list is empty unless the ring is full. */
#include "emu/nic/cq.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/nic/errno.h"
#include "emu/nic/leaf.h"

struct error_node {
	struct error_node *next;
	uint64_t after;		/* completions pushed before it */
	struct cq_error error;
};

struct cq {
	/* Written under the lock. Read without it by polls that would find nothing, and by writers, whose own pushes
	 * they contain: relaxed, since whoever acts on them takes the lock. */
	atomic_size_t pending;		/* completions and errors to be read */
	atomic_size_t used;		/* entries in the ring */
	atomic_size_t error_count;
	atomic_bool notify;		/* readers: for those who are told themselves */

	struct leaf lock;		/* guards what follows */
	struct completion *ring;
	size_t size, head;		/* head: the oldest entry */
	uint64_t pushed, taken;		/* completions, ever */
	struct cq_node *first, *last;	/* overflow */
	struct error_node *first_error, *last_error;
	struct error_node spare;	/* takes an error when there is no memory */
	uint64_t spare_lost;		/* errors for which not even the spare was free */
	bool spare_used;
	unsigned int armed;
	unsigned int looking;		/* cq_look_begin() */
	unsigned int signals;

	atomic_uint users;
	void (*wake)(void *arg);	/* may be NULL; constant, as is arg */
	void *arg;
};

static size_t load(const atomic_size_t *number)
{
	return atomic_load_explicit(number, memory_order_relaxed);
}

/* Lock held: nobody else writes, so it takes no atomic addition. */
static void bump(atomic_size_t *number, size_t by)
{
	atomic_store_explicit(number, load(number) + by, memory_order_relaxed);
}

int cq_open(struct cq **out, size_t size, void (*wake)(void *arg), void *arg)
{
	struct cq *cq;

	if (size > LIMIT_CQ_SIZE_MAX)
		return -EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->size = size ? size : LIMIT_CQ_SIZE;
	cq->ring = calloc(cq->size, sizeof(*cq->ring));
	if (!cq->ring) {
		free(cq);
		return -ENOMEM;
	}
	cq->wake = wake;
	cq->arg = arg;
	*out = cq;
	return 0;
}

static void release_all(struct cq_node *node)
{
	while (node) {
		struct cq_node *next = node->next;

		node->release(node);
		node = next;
	}
}

static void error_free(struct cq *cq, struct error_node *node)
{
	if (node == &cq->spare) {
		cq->spare_used = false;
		cq->spare_lost = 0;
	} else {
		free(node);
	}
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
	while (cq->first_error) {
		struct error_node *next = cq->first_error->next;

		error_free(cq, cq->first_error);
		cq->first_error = next;
	}
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

/* --- writers --- */

/* Lock held; the ring has room. */
static void ring_put(struct cq *cq, const struct completion *c)
{
	size_t at = cq->head + load(&cq->used);

	assert(load(&cq->used) < cq->size);
	cq->ring[at < cq->size ? at : at - cq->size] = *c;
	bump(&cq->used, 1);
}

static bool is_notified(const struct cq *cq)
{
	return atomic_load_explicit(&cq->notify, memory_order_relaxed);
}

/* Lets go of the lock after an entry came, then wakes; who is about to look sees to that himself. */
static void unlock_and_wake(struct cq *cq)
{
	bool wake = !cq->looking && (cq->armed || is_notified(cq)) && cq->wake;

	if (wake && !cq->armed) /* whoever is armed may take the signal for himself, and the notified one needs the next */
		atomic_store_explicit(&cq->notify, false, memory_order_relaxed);
	leaf_unlock(&cq->lock);
	if (wake)
		cq->wake(cq->arg);
}

bool cq_has_room(const struct cq *cq)
{
	return load(&cq->used) < cq->size;
}

void cq_push(struct cq *cq, struct cq_node *node)
{
	bool kept;

	node->next = NULL;
	leaf_lock(&cq->lock);
	kept = !cq_has_room(cq);
	if (!kept) {
		ring_put(cq, &node->c);
	} else {
		if (cq->first)
			cq->last->next = node;
		else
			cq->first = node;
		cq->last = node;
	}
	cq->pushed++;
	bump(&cq->pending, 1);
	unlock_and_wake(cq);
	/* A node that was kept is the readers' from the moment the lock is free. */
	if (!kept)
		node->release(node);
}

void cq_push_now(struct cq *cq, const struct completion *c)
{
	leaf_lock(&cq->lock);
	ring_put(cq, c);
	cq->pushed++;
	bump(&cq->pending, 1);
	unlock_and_wake(cq);
}

/* Lock held. A node for one more error; NULL if this error only adds to those that the spare speaks of. */
static struct error_node *error_node(struct cq *cq)
{
	struct error_node *node = malloc(sizeof(*node));

	if (node)
		return node;
	if (!cq->spare_used) {
		cq->spare_used = true;
		return &cq->spare;
	}
	cq->spare_lost++;
	return NULL;
}

void cq_push_error(struct cq *cq, const struct cq_error *error)
{
	struct error_node *node;

	leaf_lock(&cq->lock);
	node = error_node(cq);
	if (node) {
		*node = (struct error_node){ NULL, cq->pushed, *error };
		if (cq->first_error)
			cq->last_error->next = node;
		else
			cq->first_error = node;
		cq->last_error = node;
		bump(&cq->error_count, 1);
		bump(&cq->pending, 1);
	}
	unlock_and_wake(cq);
}

/* --- readers --- */

/* Lock held. Fills the ring from the overflow list; returns the nodes copied, to be released without the lock. */
static struct cq_node *refill(struct cq *cq)
{
	struct cq_node *copied = cq->first, *last = NULL;

	while (cq->first && cq_has_room(cq)) {
		last = cq->first;
		ring_put(cq, &last->c);
		cq->first = last->next;
	}
	if (!last)
		return NULL;
	last->next = NULL;
	return copied;
}

/* Lock held. How many completions may be taken before the next error, at most count. */
static size_t takeable(const struct cq *cq, size_t count)
{
	uint64_t before_error = cq->first_error ? cq->first_error->after - cq->taken : UINT64_MAX;
	size_t n = load(&cq->used) < count ? load(&cq->used) : count;

	return before_error < n ? (size_t)before_error : n;
}

ssize_t cq_take(struct cq *cq, struct completion *out, size_t count)
{
	struct cq_node *copied;
	bool error;
	size_t n;

	if (!load(&cq->pending))
		return -EAGAIN;
	leaf_lock(&cq->lock);
	n = takeable(cq, count);
	error = cq->first_error && cq->first_error->after == cq->taken;
	for (size_t i = 0; i < n; i++) {
		out[i] = cq->ring[cq->head];
		cq->head = cq->head + 1 < cq->size ? cq->head + 1 : 0;
	}
	cq->taken += n;
	bump(&cq->used, -n);
	bump(&cq->pending, -n);
	copied = refill(cq);
	leaf_unlock(&cq->lock);
	release_all(copied);
	if (error)
		return -NIC_EAVAIL;
	return n || !count ? (ssize_t)n : -EAGAIN;
}

/* Lock held: the spare's sentence also tells of those that found no memory. */
static void tell_lost(const struct cq *cq, struct cq_error *error)
{
	if (cq->spare_lost)
		snprintf(error->text, sizeof(error->text), "out of memory: %llu more errors could not be kept",
			 (unsigned long long)cq->spare_lost);
}

ssize_t cq_take_error(struct cq *cq, struct cq_error *out)
{
	struct error_node *node;

	if (!load(&cq->error_count))
		return -EAGAIN;
	leaf_lock(&cq->lock);
	node = cq->first_error;
	if (node) {
		*out = node->error;
		if (node == &cq->spare)
			tell_lost(cq, out);
		cq->first_error = node->next;
		bump(&cq->error_count, -(size_t)1);
		bump(&cq->pending, -(size_t)1);
		error_free(cq, node);
	}
	leaf_unlock(&cq->lock);
	return node ? 1 : -EAGAIN;
}

bool cq_ready(const struct cq *cq)
{
	return load(&cq->pending);
}

bool cq_choked(const struct cq *cq)
{
	return load(&cq->error_count) > LIMIT_CQ_ERRORS;
}

void cq_arm(struct cq *cq)
{
	leaf_lock(&cq->lock);
	cq->armed++;
	leaf_unlock(&cq->lock);
}

void cq_disarm(struct cq *cq)
{
	leaf_lock(&cq->lock);
	assert(cq->armed);
	cq->armed--;
	leaf_unlock(&cq->lock);
}

void cq_notify(struct cq *cq)
{
	leaf_lock(&cq->lock);
	atomic_store_explicit(&cq->notify, true, memory_order_relaxed);
	leaf_unlock(&cq->lock);
}

bool cq_look_begin(struct cq *cq)
{
	if (!is_notified(cq))
		return false;
	leaf_lock(&cq->lock);
	cq->looking++;
	leaf_unlock(&cq->lock);
	return true;
}

void cq_look_end(struct cq *cq)
{
	leaf_lock(&cq->lock);
	cq->looking--;
	if (cq_ready(cq))
		unlock_and_wake(cq);
	else
		leaf_unlock(&cq->lock);
}

void cq_signal(struct cq *cq)
{
	leaf_lock(&cq->lock);
	cq->signals++;
	leaf_unlock(&cq->lock);
	if (cq->wake)
		cq->wake(cq->arg);
}

bool cq_signalled(struct cq *cq)
{
	bool signalled;

	leaf_lock(&cq->lock);
	signalled = cq->signals;
	if (signalled)
		cq->signals--;
	leaf_unlock(&cq->lock);
	return signalled;
}
