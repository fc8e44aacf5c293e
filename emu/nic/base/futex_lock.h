/* SPDX-License-Identifier: BSD-2-Clause */
/* futex_lock.h - a lock that is held for some tens of instructions: submit queue, completion queue, table of regions. While one of
 * these is held, no other lock is taken, and nothing is allocated or freed. The submit lock is the exception (submit.h): ops come
 * out of their pool under it, which grows until it has one for each that was ever out at once, and injected or deferred data is
 * copied. A free lock costs one atomic operation each way and no call; a mutex's two calls are half of the cost of a completion.
 * A thread that finds it taken sleeps (a futex). The driver role is one, too: held for a slice, and the others are taken under it.
 * Any thread; not in a signal handler, but for futex_trylock(). */
#ifndef EMU_NIC_FUTEX_LOCK_H
#define EMU_NIC_FUTEX_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/nic/base/thread_safety.h"

enum futex_state { FUTEX_FREE, FUTEX_TAKEN, FUTEX_WAITED }; /* WAITED: taken, and perhaps a thread sleeps */

/* All zero is free. */
struct CAPABILITY("lock") futex_lock {
	atomic_uint state; /* a futex */
};

__attribute__((cold)) void futex_lock_slow(struct futex_lock *lock); /* takes it */
__attribute__((cold)) void futex_wake(struct futex_lock *lock);

static inline void futex_lock(struct futex_lock *lock) ACQUIRE(*lock) UNCHECKED
{
	unsigned int state = FUTEX_FREE;

	/* Pairs with the release in futex_unlock(). */
	if (!atomic_compare_exchange_strong_explicit(&lock->state, &state, FUTEX_TAKEN, memory_order_acquire, memory_order_relaxed))
		futex_lock_slow(lock);
}

/* False: a thread has it. This and futex_unlock() are sequentially consistent, on which driver.c rests. */
static inline bool futex_trylock(struct futex_lock *lock) TRY_ACQUIRE(true, *lock) UNCHECKED
{
	unsigned int state = FUTEX_FREE;

	return atomic_compare_exchange_strong(&lock->state, &state, FUTEX_TAKEN);
}

static inline void futex_unlock(struct futex_lock *lock) RELEASE(*lock) UNCHECKED
{
	if (atomic_exchange(&lock->state, FUTEX_FREE) == FUTEX_WAITED)
		futex_wake(lock);
}

#endif
