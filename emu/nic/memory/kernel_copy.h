/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_copy.h - copies by the kernel, which answers where memory is missing and raises no signal. Dearer than the CPU's: the
 * guard's way where a fault might not come to its handler (guard.h). Any thread; no cancellation point. */
#ifndef EMU_NIC_KERNEL_COPY_H
#define EMU_NIC_KERNEL_COPY_H

#include <stdbool.h>
#include <stddef.h>

enum kernel_copied { KERNEL_COPIED, KERNEL_FAULTED, KERNEL_FORBIDDEN };

/* FAULTED: one of the two cannot be reached; some bytes may have been copied. FORBIDDEN: there is no way left here. */
enum kernel_copied kernel_copy(void *to, const void *from, size_t length);
/* Is there a way now? */
bool kernel_copies(void);
/* In a fork's child, which makes a pipe of its own. */
void kernel_copy_forked(void);

#endif
