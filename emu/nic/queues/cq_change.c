/* SPDX-License-Identifier: BSD-2-Clause */
/* cq_change.c - completion queue: another size, and entries that leave it unread. */
#include <errno.h>
#include <stdlib.h>

#include "emu/nic/queues/cq_impl.h"

/* Lock held: the oldest entries of the ring, up to `most`, to the beginning of another. Returns how many. */
static size_t copy_ring(const struct cq *cq, struct completion *to, size_t most) REQUIRES(cq->lock)
{
	size_t unread = load_relaxed(&cq->unread), used = unread < cq->size ? unread : cq->size;

	if (used > most)
		used = most;
	for (size_t i = 0, at = cq->head; i < used; i++) {
		to[i] = cq->ring[at];
		at = at + 1 < cq->size ? at + 1 : 0;
	}
	return used;
}

int cq_resize(struct cq *cq, size_t size)
{
	struct completion *old, *ring = size && size <= LIMIT_CQ_SIZE_MAX ? malloc(size * sizeof(*ring)) : NULL;
	struct cq_node *copied = NULL;
	int err = -EINVAL;

	if (!ring)
		return size && size <= LIMIT_CQ_SIZE_MAX ? -ENOMEM : -EINVAL;
	futex_lock(&cq->lock);
	old = ring;
	if (load_relaxed(&cq->unread) + load_relaxed(&cq->error_count) <= size) {
		size_t used = copy_ring(cq, ring, size);

		old = cq->ring;
		cq->ring = ring;
		cq->size = size;
		cq->head = 0;
		if (cq->room)
			cq->room = size;
		if (cq->bounded)
			cq->most = cq->room;
		copied = cq_refill(cq, used);
		err = 0;
	}
	futex_unlock(&cq->lock);
	free(old);
	release_all(copied);
	return err;
}

/* What a purge works on. */
struct purge {
	bool (*of)(const struct completion *c, void *arg);
	void *arg;
	uint64_t seen, kept;                   /* completions looked at, and those of them that stay */
	struct error_node **error;             /* the next error to look at */
	struct error_node *last_kept, *errors; /* taken out */
	struct cq_node *nodes;                 /* likewise */
	size_t errors_out;
};

/* Lock held: the errors that come after `seen` completions are now after `kept`; those that match are taken out. */
static void purge_errors(struct cq *cq, struct purge *purge) REQUIRES(cq->lock)
{
	while (*purge->error && (*purge->error)->after - cq->taken <= purge->seen) {
		struct error_node *node = *purge->error;

		if (purge->of(&node->error.c, purge->arg)) {
			*purge->error = node->next;
			purge->errors_out++;
			bump(&cq->error_count, -(size_t)1);
			if (!error_end(cq, node))
				continue;
			node->next = purge->errors;
			purge->errors = node;
			continue;
		}
		node->after = cq->taken + purge->kept;
		purge->last_kept = node;
		purge->error = &node->next;
	}
}

/* Lock held. Returns how many stay in the ring. */
static size_t purge_ring(struct cq *cq, struct purge *purge) REQUIRES(cq->lock)
{
	size_t unread = load_relaxed(&cq->unread), used = unread < cq->size ? unread : cq->size;

	for (size_t at = cq->head; purge->seen < used; at = at + 1 < cq->size ? at + 1 : 0) {
		purge_errors(cq, purge);
		purge->seen++;
		if (!purge->of(&cq->ring[at], purge->arg))
			slot_put(cq, purge->kept++, &cq->ring[at]);
	}
	return purge->kept;
}

static void purge_overflow(struct cq *cq, struct purge *purge) REQUIRES(cq->lock)
{
	struct cq_node **next = &cq->first, *node;

	while ((node = *next)) {
		purge_errors(cq, purge);
		purge->seen++;
		if (purge->of(&node->c, purge->arg)) {
			*next = node->next;
			node->next = purge->nodes;
			purge->nodes = node;
			continue;
		}
		purge->kept++;
		cq->last = node;
		next = &node->next;
	}
}

size_t cq_purge(struct cq *cq, bool (*of)(const struct completion *c, void *arg), void *arg)
{
	struct purge purge = { .of = of, .arg = arg };
	struct cq_node *copied;
	size_t used, count;

	futex_lock(&cq->lock);
	purge.error = &cq->first_error;
	used = purge_ring(cq, &purge);
	purge_overflow(cq, &purge);
	purge_errors(cq, &purge);
	cq->last_error = purge.last_kept;
	count = purge.seen - purge.kept;
	bump(&cq->unread, -count);
	copied = cq_refill(cq, used);
	futex_unlock(&cq->lock);
	release_all(copied);
	release_all(purge.nodes);
	free_errors(cq, purge.errors);
	return count + purge.errors_out;
}
