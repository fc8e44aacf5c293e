/* SPDX-License-Identifier: BSD-2-Clause */
/* emu_pages.h - what a front end asks of the pages behind the buffers that it is given. Any thread; never sleeps.
 *
 * The memory of alloc_pages() and vmalloc() is shared with a child of fork(), which the stand-ins do not know: the child must not
 * touch it. */
#ifndef EMU_PAGES_H
#define EMU_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* Are all pages of these bytes of alloc_pages(), vmalloc() or kmalloc(), and not freed? A page that kmalloc() shares tells only
 * that something in it is not freed. */
bool emu_pages_live(const void *address, size_t length);
/* Are they all of alloc_pages() or vmalloc(), which emu_pages_map() can map? */
bool emu_pages_can_map(const void *address, size_t length);
/* Maps the whole pages that the parts touch a second time, one part behind the other, for reads and writes. Writes how many bytes
 * that are, for munmap(2). NULL: a page that cannot be mapped, or no memory. A page that is freed meanwhile has zeros there. */
void *emu_pages_map(const struct iovec *part, size_t count, size_t *mapped);

#endif
