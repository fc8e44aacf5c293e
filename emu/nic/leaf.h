/* SPDX-License-Identifier: BSD-2-Clause */
/* leaf.h - the lock of what is held for some tens of instructions: submit queue, completion queue, table of regions. While
 * one of these is held, no other lock is taken. Free, it costs one atomic operation each way and no call, where those of a mutex
 * are half of what a completion costs. Whoever finds it taken sleeps (a futex). The driver role is one, too, held for a slice,
 * under which the others are taken. Any thread; not in a signal handler, but for leaf_try(). */
#ifndef EMU_NIC_LEAF_H
#define EMU_NIC_LEAF_H

#include <stdatomic.h>
#include <stdbool.h>

enum leaf_state { LEAF_FREE, LEAF_TAKEN, LEAF_WAITED };	/* WAITED: taken, and perhaps somebody sleeps */

/* All zero is free. */
struct leaf {
	atomic_uint state;	/* a futex */
};

__attribute__((cold)) void leaf_wait(struct leaf *leaf);	/* takes it */
__attribute__((cold)) void leaf_wake(struct leaf *leaf);

static inline void leaf_lock(struct leaf *leaf)
{
	unsigned int state = LEAF_FREE;

	/* Pairs with the release in leaf_unlock(). */
	if (!atomic_compare_exchange_strong_explicit(&leaf->state, &state, LEAF_TAKEN, memory_order_acquire,
						     memory_order_relaxed))
		leaf_wait(leaf);
}

/* False: somebody has it. This and leaf_unlock() are sequentially consistent, on which driver.c rests. */
static inline bool leaf_try(struct leaf *leaf)
{
	unsigned int state = LEAF_FREE;

	return atomic_compare_exchange_strong(&leaf->state, &state, LEAF_TAKEN);
}

static inline void leaf_unlock(struct leaf *leaf)
{
	if (atomic_exchange(&leaf->state, LEAF_FREE) == LEAF_WAITED)
		leaf_wake(leaf);
}

#endif
