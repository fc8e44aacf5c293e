/* SPDX-License-Identifier: BSD-2-Clause */
/* prefetch.h - scans the requests behind the one that is being processed, and prefetches the regions that their keys name,
 * since a table of a million regions is in no cache. Reads bytes that are not checked yet, and does nothing with them
 * but prefetch.
 * Owner: the loop over received bytes, for as long as these are there. */
#ifndef EMU_NIC_PREFETCH_H
#define EMU_NIC_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

struct mr_table;

enum { PREFETCH_FRAMES = 8 }; /* power of two */

struct prefetch {
	const uint8_t *at; /* the first frame not looked at; NULL to begin with: the rest need not be set */
	uint64_t keys[PREFETCH_FRAMES];
	uint32_t first, count;
};

/* Is the table so large that prefetching pays? */
bool prefetch_pays(const struct mr_table *regions);
/* If so: scans the frames in [next, end) and prefetches their regions. `next` is the first byte behind the frame being processed,
 * or begins the first frame of these bytes. */
void prefetch_frames(struct prefetch *prefetch, const struct mr_table *regions, const uint8_t *next, const uint8_t *end);

#endif
