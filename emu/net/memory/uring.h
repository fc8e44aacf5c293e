/* SPDX-License-Identifier: BSD-2-Clause */
/* uring.h - pin.h by io_uring: a registered buffer keeps its pages whatever becomes of the mapping, and a fixed read or
 * write goes to them. One ring a process, never closed.
 *
 * Any thread, without the driver role; the calls may sleep. Errors are negative errnos. */
#ifndef EMU_NET_URING_H
#define EMU_NET_URING_H

#include <stddef.h>
#include <sys/uio.h>

#include "emu/nic/memory/pin.h"

/* Idempotent. 0; -EPERM: the kernel's setting or a container's profile forbids io_uring; -ENOSYS: there is none, or one
 * before 5.13; -ENOMEM, -EMFILE and the like: as for any descriptor. */
int uring_start(void);
/* Pins the segments, which are backed, after uring_start(). Takes as long as the kernel needs. 0 and *pin;
 * -ENOMEM: no memory, or RLIMIT_MEMLOCK; -ENOSPC: LIMIT_PINNED pieces are pinned; -EFAULT, -EOPNOTSUPP: io_uring does not pin
 * memory that the program may not write, nor mappings of files, unless they are in memory. */
int uring_pin(const struct iovec *segments, size_t count, struct pin **pin);
/* Does pin_ops.changed tell when its mapping changes? As far as remap.c can; call remap_start() before. */
bool uring_watched(const struct pin *pin);
/* Unpins the pages and frees the object; in a fork's child, where the pages are the parent's, frees only. NULL is allowed. */
void uring_unpin(struct pin *pin);

#endif
