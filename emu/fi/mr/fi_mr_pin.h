/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_pin.h - FI_EMU_PINNED: the NIC uses the pages that were there at registration, as a NIC that pins them does (S81).
 * Any thread; makes system calls, so not with the driver role. Errors come after a line of log. */
#ifndef EMU_FI_MR_PIN_H
#define EMU_FI_MR_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct pin;

/* Are regions under these rules (mr_mode) pinned, if the setting is on? Under FI_MR_ALLOCATED they are, but not with
 * FI_MR_MMU_NOTIFY: then the program tells of changes, and the NIC follows. */
bool mr_pin_rules(int rules);
/* Before the first domain that pins. If changes of mappings cannot be watched, only a line of log says so. 0, or
 * -FI_EOPNOTSUPP: the kernel or the container forbids pinning by io_uring. */
int mr_pin_start(void);
/* Pins memory that is backed already. 0 and *pin, ended by uring_unpin(); -FI_ENOMEM: RLIMIT_MEMLOCK, or too many pieces;
 * -FI_EFAULT: a kind of memory that io_uring does not pin. */
int mr_pin(const struct iovec *segments, size_t count, struct pin **pin);

#endif
