/* SPDX-License-Identifier: BSD-2-Clause */
/* cq_impl.h - what the files of the completion queue share: its fields, and the ways of an entry. */
#ifndef EMU_NIC_CQ_IMPL_H
#define EMU_NIC_CQ_IMPL_H

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "emu/nic/base/futex_lock.h"
#include "emu/nic/queues/cq.h"

struct error_node {
	struct error_node *next;
	uint64_t after; /* completions pushed before it */
	struct cq_error error;
};

struct cq {
	/* Written under the lock. Read without it by polls that would find nothing, and by writers, whose own pushes
	 * they contain: relaxed, since a thread that acts on them takes the lock. */
	atomic_size_t unread; /* completions */
	atomic_size_t error_count;
	atomic_size_t lost;
	atomic_bool notify; /* readers: see cq_notify(), cq_notify_flagged() */

	bool bounded;           /* cq_overrun_at(): constant, and read without the lock */
	bool tell;              /* the next push wakes: set by set_tell() */
	struct futex_lock lock; /* guards the fields below, and `tell` */
	struct completion *ring;
	size_t size, head;            /* head: the oldest entry; size changes under the driver role, too */
	size_t room;                  /* as size; 0 once it takes no entry any more (cq_break()) */
	size_t most;                  /* with `bounded`: unread entries and errors */
	uint64_t only;                /* with `notify`: of these flags; 0: of any entry */
	uint64_t taken;               /* completions, ever */
	struct cq_node *first, *last; /* overflow */
	struct error_node *first_error, *last_error;
	struct error_node spare; /* takes an error when there is no memory */
	uint64_t spare_lost;     /* errors for which not even the spare was free */
	bool spare_used;
	bool overrun_told; /* or none is to be told: cq_break() */
	unsigned int armed;
	unsigned int readers; /* cq_reader_enter() */
	unsigned int signals;

	atomic_uint users;
	void (*wake)(void *arg); /* may be NULL; constant, as is arg */
	void *arg;
	void (*overrun)(void *arg); /* likewise, with its own */
	void *overrun_arg;
};

static inline size_t load_relaxed(const atomic_size_t *number)
{
	return atomic_load_explicit(number, memory_order_relaxed);
}

/* Lock held: no other thread writes, so it takes no atomic addition. */
static inline void bump(atomic_size_t *number, size_t by)
{
	atomic_store_explicit(number, load_relaxed(number) + by, memory_order_relaxed);
}

/* Lock held; behind the `used` entries that the ring has. */
static inline void slot_put(struct cq *cq, size_t used, const struct completion *c) REQUIRES(cq->lock)
{
	size_t at = cq->head + used;

	assert(used < cq->size);
	cq->ring[at < cq->size ? at : at - cq->size] = *c;
}

/* Lock held. Fills the ring, which has `used` entries, from the overflow list; returns the nodes copied, to be released without
 * the lock. */
struct cq_node *cq_refill(struct cq *cq, size_t used) REQUIRES(cq->lock);

/* Lock held, the error is out of its list. Returns the node to free, without the lock; NULL: none. */
static inline struct error_node *error_end(struct cq *cq, struct error_node *node)
{
	if (node != &cq->spare)
		return node;
	cq->spare_used = false;
	cq->spare_lost = 0;
	return NULL;
}

/* Those of a list that nothing else refers to, but not the spare. */
static inline void free_errors(const struct cq *cq, struct error_node *list)
{
	while (list) {
		struct error_node *next = list->next;

		if (list != &cq->spare)
			free(list);
		list = next;
	}
}

static inline void release_all(struct cq_node *node)
{
	while (node) {
		struct cq_node *next = node->next;

		node->release(node);
		node = next;
	}
}

#endif
