/* SPDX-License-Identifier: BSD-2-Clause */
/* huge_pages.h - zeroed memory for large tables, in huge pages where the kernel has them: a table of a million entries that is
 * looked into at random costs a walk of the page tables a look otherwise. Any thread. */
#ifndef EMU_NIC_HUGE_PAGES_H
#define EMU_NIC_HUGE_PAGES_H

#include <stddef.h>

#include "emu/nic/base/must_use.h"

/* NULL: no memory. A request shorter than a huge page is served from the heap. */
MUST_USE void *huge_pages_alloc(size_t bytes);
void huge_pages_free(void *memory, size_t bytes); /* bytes as asked for; NULL is allowed */

#endif
