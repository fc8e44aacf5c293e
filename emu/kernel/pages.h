/* SPDX-License-Identifier: BSD-2-Clause */
/* pages.h - what caches.c tells pages.c. Any thread may call; nothing sleeps but for the system's memory. */
#ifndef EMU_KERNEL_PAGES_H
#define EMU_KERNEL_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* The pages that `memory` touches are of kmalloc() from here on; false without memory for them. Each is let go once. */
bool pages_hold(const void *memory, size_t size);
void pages_let_go(const void *memory, size_t size);

#endif
