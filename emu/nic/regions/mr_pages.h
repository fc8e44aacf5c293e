/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_pages.h - which pages of a region the NIC knows, under FI_MR_MMU_NOTIFY: those that were there when it was
 * registered, or last refreshed (S107, S113).
 * Owner: the region; regions within it look into the same table.
 * Thread: the table of a region belongs to the holder of the driver role; before that, to its maker. If it has a watcher,
 * the watcher's lock guards the bits, and these calls take it. */
#ifndef EMU_NIC_MR_PAGES_H
#define EMU_NIC_MR_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/interval_tree.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/must_use.h"

struct mr_pages;

/* The watcher: it hears that the program's memory changes, and has tables forget it (S108). */
struct mr_pages_watch {
	void (*lock)(void);
	void (*unlock)(void);
	void (*end)(struct mr_pages *pages); /* without the lock: the table is about to go */
};

struct mr_pages {
	const struct mr_pages_watch *watch; /* NULL: no watcher */
	struct interval span;               /* from its first page to its last: for the watcher */
	uint8_t runs;
	uint8_t watched; /* bits of the runs that are: the watcher's */
	struct {
		uint64_t first, count, bit;
	} run[LIMIT_IOV]; /* pages by number; the first one's bit */
	size_t bytes;     /* of the whole */
	uint8_t known[];  /* one bit a page */
};

/* One fi_mr_refresh() at work on a region: peers that name that region are kept from the pages of these bytes (S115).
 * Owner: the call; in the region's list with the driver role. */
struct mr_refresh {
	struct mr_refresh *next;
	struct iovec *range; /* the call's */
	size_t count;
};

/* A table of the segments' pages that knows none. 0; -ENOSYS: the kernel does not tell; -ENOMEM: no memory, or more
 * pages than LIMIT_REGION_PAGES. */
MUST_USE int mr_pages_open(struct mr_pages **pages, const struct iovec *segments, size_t count);
void mr_pages_close(struct mr_pages *pages); /* NULL is allowed */
/* Asks the kernel about the range's pages, and notes the answer. Takes as long as the range is large. 0 or -EFAULT. */
MUST_USE int mr_pages_scan(struct mr_pages *pages, uint64_t addr, uint64_t length);
/* Copies the range's bits of `from`, a table of the same segments. Regions within a region have no segments of their own here. */
void mr_pages_take(struct mr_pages *pages, const struct mr_pages *from, uint64_t addr, uint64_t length);
/* Knows nothing of the range any more. With the lock. */
void mr_pages_forget(struct mr_pages *pages, uint64_t addr, uint64_t length);
/* Has it a page of the range, known or not? */
bool mr_pages_touch(const struct mr_pages *pages, uint64_t addr, uint64_t length);
/* Does it know all pages of these bytes? */
bool mr_pages_know(const struct mr_pages *pages, const struct iovec *bytes, size_t count);
/* Does one of these bytes lie on a page that one of the calls is at work on? */
bool mr_refresh_meets(const struct mr_refresh *first, const struct iovec *bytes, size_t count);

#endif
