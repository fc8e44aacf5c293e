/* SPDX-License-Identifier: BSD-2-Clause */
/* pagemap.h - which pages of this process are there, as the kernel tells. Any thread. A page counts that is in memory or
 * swapped out; one that was never touched, was dropped, or is not mapped does not. */
#ifndef EMU_NIC_PAGEMAP_H
#define EMU_NIC_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"

enum { PAGE_SHIFT = 12 }; /* the bit of an address at which pages begin; see pagemap_open() */
#define PAGE_BYTES ((uint64_t)1 << PAGE_SHIFT)

/* 0; -ENOSYS if the kernel does not tell, or has pages of another size. */
MUST_USE int pagemap_open(void);
/* In a fork's child: the descriptor tells of the parent's pages. */
void pagemap_forked(void);
/* Asks about pages first .. first + count - 1, numbered by address, at most PAGEMAP_AT_ONCE. 0 and there[], or -EFAULT. */
enum { PAGEMAP_AT_ONCE = 512 };
MUST_USE int pagemap_read(uint64_t first, size_t count, bool there[]);
/* Are all pages of the range there? */
bool pagemap_all(uint64_t addr, uint64_t length);

#endif
