/* SPDX-License-Identifier: BSD-2-Clause */
/* guard.h - touching program memory that may not be there (S18).
 *
 * The CPU touches the bytes of regions and of posted buffers only in here. A SIGSEGV/SIGBUS handler jumps back if this
 * very thread is inside a guard and the address lies in the guarded range; every other fault goes on to the program's
 * own handler (or the default action). Any thread; not from signal handlers. */
#ifndef EMU_NIC_GUARD_H
#define EMU_NIC_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Installs the handler, once a process; idempotent; safe from many threads. 0 or -errno. */
int guard_install(void);
/* Puts the program's handler back if ours is still the one installed. */
void guard_remove(void);

/* Copies; false if `to` cannot be written or `from` cannot be read (then some bytes may have been copied). */
bool guard_copy(void *to, const void *from, size_t length);

/* "Could be pinned" (S79): populates the range; writable says the NIC may write it. 0, or -EFAULT. Works on
 * kernels without MADV_POPULATE too. Never changes the contents. */
int guard_populate(void *addr, size_t length, bool writable);

#endif
