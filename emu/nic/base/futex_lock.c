/* SPDX-License-Identifier: BSD-2-Clause */
/* futex_lock.c - the lock where it is taken already: sleeping and waking. */
#include "emu/nic/base/futex_lock.h"

#include <assert.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static_assert(sizeof(atomic_uint) == 4, "a futex");

/* A thread that has slept takes it as WAITED, since others may still sleep. */
void futex_lock_slow(struct futex_lock *lock)
{
	while (atomic_exchange_explicit(&lock->state, FUTEX_WAITED, memory_order_acquire) != FUTEX_FREE)
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, FUTEX_WAITED, NULL, NULL, 0);
}

void futex_wake(struct futex_lock *lock)
{
	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
