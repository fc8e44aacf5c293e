/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_window.h - memory windows: names under which a program gives peers a part of a region, and takes it back, by requests in a
 * send queue. While a window is bound, one of its keys is that of a region within the region (struct mr, `window`). So an access
 * by it is judged as any other.
 *
 * Owner:  the protection domain (struct pd), one set each.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_MR_WINDOW_H
#define EMU_NIC_MR_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/hash.h"
#include "emu/nic/base/must_use.h"

struct mr;
struct mr_table;

enum { MR_WINDOW_TAG_BITS = 8, MR_WINDOW_NAME_BITS = 24, MR_WINDOW_KEY_BYTES = 4 };

struct mr_window {
	struct hash_node node;
	struct mr *mr;  /* while it is bound; else NULL */
	uint32_t name;  /* its keys have it above MR_WINDOW_TAG_BITS, which are their user's */
	bool of_one_ep; /* it is reached through the endpoint that has bound it, and not bound anew until it is invalidated */
};

struct mr_windows {
	struct hash names; /* without buckets until the first is opened */
	uint64_t secret[2];
};

/* What a window is to be from now on. */
struct mr_bind {
	uint32_t key;    /* of the window, and from then on of its region: the tag is the caller's */
	uint32_t access; /* remote rights of enum mr_access */
	uint64_t desc;   /* of the region; 0: none */
	uint64_t addr;   /* where the window begins, as peers address the region */
	uint64_t length; /* 0: it is bound no more */
	bool zero_based; /* peers address the window by offset from 0 */
};

/* Opens one that is not bound, under a name that no key in the table has. 0 or -ENOMEM. */
MUST_USE int mr_window_open(struct mr_windows *windows, const struct mr_table *table,
			    void (*random)(void *arg, void *bytes, size_t length), void *arg, struct mr_window **window);
/* It is not bound. */
void mr_window_close(struct mr_windows *windows, struct mr_window *window);
void mr_windows_fini(struct mr_windows *windows); /* none is open */
/* The window to which a key belongs, whatever its tag; NULL: none. */
struct mr_window *mr_window_find(const struct mr_windows *windows, uint64_t key);

#endif
