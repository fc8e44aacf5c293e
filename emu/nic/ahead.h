/* SPDX-License-Identifier: BSD-2-Clause */
/* ahead.h - a look at the requests behind the one that is being taken: what their keys lead to is fetched meanwhile,
 * since a table of a million regions is in no cache. Reads bytes that nobody has checked yet, and does nothing with
 * them but fetch.
 * Owner: the loop over received bytes, for as long as these are there. */
#ifndef EMU_NIC_AHEAD_H
#define EMU_NIC_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

struct mr_table;

enum { AHEAD_FRAMES = 8 };	/* power of two */

struct ahead {
	const uint8_t *at;	/* the first frame not looked at; NULL to begin with: the rest need not be set */
	uint64_t keys[AHEAD_FRAMES];
	uint32_t first, count;
};

/* Is the table so large that it is worth while? */
bool ahead_pays(const struct mr_table *regions);
/* If so: a frame has begun whose last byte is before `next`, or one begins there and is the first of these bytes; what follows
 * goes to `end`. */
void ahead_look(struct ahead *ahead, const struct mr_table *regions, const uint8_t *next, const uint8_t *end);

#endif
