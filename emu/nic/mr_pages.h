/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_pages.h - which pages of a region the NIC knows, under FI_MR_MMU_NOTIFY: those that were there when it was
 * registered, or last refreshed (S107, S113).
 * Owner: the region; regions within it look into the same table.
 * Thread: one that a region has belongs to the holder of the driver role; before, to who makes it. Where somebody watches,
 * the bits are guarded by their lock, which these calls take. */
#ifndef EMU_NIC_MR_PAGES_H
#define EMU_NIC_MR_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/limits.h"
#include "emu/nic/spans.h"

struct mr_pages;

/* Who hears that the program's memory changes, and has tables forget it (S108). */
struct mr_pages_watch {
	void (*lock)(void);
	void (*unlock)(void);
	void (*end)(struct mr_pages *pages);	/* without the lock: the table is about to go */
};

struct mr_pages {
	const struct mr_pages_watch *watch;	/* NULL: nobody watches */
	struct span span;	/* from its first page to its last: for who watches */
	uint32_t refreshing;	/* fi_mr_refresh() calls at work (S115) */
	uint8_t  runs;
	uint8_t  watched;	/* bits of the runs that are: of who watches */
	struct { uint64_t first, count, bit; } run[LIMIT_IOV];	/* pages by number; the first one's bit */
	size_t   bytes;		/* of the whole */
	uint8_t  known[];	/* one bit a page */
};

/* A table of the segments' pages that knows none. 0; -ENOSYS: the kernel does not tell; -ENOMEM: no memory, or more
 * pages than LIMIT_REGION_PAGES. */
int  mr_pages_open(struct mr_pages **pages, const struct iovec *segments, size_t count);
void mr_pages_close(struct mr_pages *pages);	/* NULL is allowed */
/* Takes in what the kernel says of the range's pages. Takes as long as the range is large. 0 or -EFAULT. */
int  mr_pages_scan(struct mr_pages *pages, uint64_t addr, uint64_t length);
/* What `from`, a table of the same segments, says of the range. */
void mr_pages_take(struct mr_pages *pages, const struct mr_pages *from, uint64_t addr, uint64_t length);
/* Knows nothing of the range any more. With the lock. */
void mr_pages_forget(struct mr_pages *pages, uint64_t addr, uint64_t length);
/* Has it a page of the range, known or not? */
bool mr_pages_touch(const struct mr_pages *pages, uint64_t addr, uint64_t length);
/* Does it know all pages of these bytes? */
bool mr_pages_know(const struct mr_pages *pages, const struct iovec *bytes, size_t count);

#endif
