/* SPDX-License-Identifier: BSD-2-Clause */
/* leaf.c - the leaf lock where it is taken: sleeping and waking. */
#include "emu/nic/leaf.h"

#include <assert.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static_assert(sizeof(atomic_uint) == 4, "a futex");

/* Who has slept takes it as WAITED, since others may sleep still. */
void leaf_wait(struct leaf *leaf)
{
	while (atomic_exchange_explicit(&leaf->state, LEAF_WAITED, memory_order_acquire) != LEAF_FREE)
		syscall(SYS_futex, &leaf->state, FUTEX_WAIT_PRIVATE, LEAF_WAITED, NULL, NULL, 0);
}

void leaf_wake(struct leaf *leaf)
{
	syscall(SYS_futex, &leaf->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
