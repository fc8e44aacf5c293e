/* SPDX-License-Identifier: BSD-2-Clause */
/* huge.h - zeroed memory for large tables, in huge pages where the kernel has them: a table of a million entries that is
 * looked into at random costs a walk of the page tables a look otherwise. Any thread. */
#ifndef EMU_NIC_HUGE_H
#define EMU_NIC_HUGE_H

#include <stddef.h>

/* NULL: no memory. What is shorter than a huge page comes from the heap. */
void *huge_zalloc(size_t bytes);
void  huge_free(void *memory, size_t bytes);	/* bytes as asked for; NULL is allowed */

#endif
