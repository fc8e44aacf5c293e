/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_impl.h - what the files of this room do for each other. Any thread. */
#ifndef EMU_KERNEL_IMPL_H
#define EMU_KERNEL_IMPL_H

#include <stdbool.h>
#include <stddef.h>

/* --- what caches.c tells pages.c. Any thread may call; nothing sleeps but for the system's memory. --- */

/* The pages that `memory` touches are of kmalloc() from here on; false without memory for them. Each is let go once. */
bool pages_hold(const void *memory, size_t size);
void pages_let_go(const void *memory, size_t size);

/* --- starts the threads of this room. --- */

/* Detached, and with all signals blocked: those are for the program's threads. 0 or -ENOMEM. */
int threads_start(void *(*run)(void *), void *arg);

#endif
