/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_cache.h - which local buffers have been found usable, so that they need not be looked at again (S188).
 *
 * A region here is a range of bytes and whether it was found writable. Regions are disjoint: a new one takes the place of
 * those that it overlaps, or is merged with them. The cache does not see memory change: its user calls mr_cache_drop()
 * when it hears of a change, or else gets a stale answer.
 * Owner: the opener. Thread: one at a time, see to it; nothing allocates or frees but open and close. */
#ifndef EMU_NIC_MR_CACHE_H
#define EMU_NIC_MR_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"

struct mr_cache_attr {
	uint64_t bytes_max; /* of all regions together, from 0 (S189) */
	uint32_t count_max; /* regions, from 1 to LIMIT_CACHED (S190) */
	bool merge;         /* with regions that overlap or adjoin and have the same rights (S192) */
	/* A region is held no more, after the table is as it will be; the bytes may be another one's now. Must not call back
	 * but mr_cache_holds(). */
	void (*forgot)(void *arg, uint64_t addr, uint64_t length);
	void *arg;
};

/* Counts since it was opened, and the present contents. */
struct mr_cache_counts {
	uint32_t regions;      /* held */
	uint64_t bytes;        /* of them */
	uint64_t hits, misses; /* mr_cache_find() */
	uint64_t evicted;      /* regions that went to keep the limits, or since a new one overlaps them */
	uint64_t merged;       /* regions that went into another */
	uint64_t changed;      /* regions that went as their memory changed */
};

struct mr_cache;

MUST_USE int mr_cache_open(struct mr_cache **cache, const struct mr_cache_attr *attr); /* 0 or -ENOMEM */
void mr_cache_close(struct mr_cache *cache);                                           /* tells forgot() nothing */

/* Does one region hold all of the range, with the right? Counted; the region is then the last to be evicted. `length` is not 0, and
 * the range does not wrap, here and below. */
bool mr_cache_find(struct mr_cache *cache, uint64_t addr, uint64_t length, bool writable);
/* The range was looked at and found usable. Limits evict the regions used longest ago. False, and nothing changed, if it
 * is longer than bytes_max. */
bool mr_cache_add(struct mr_cache *cache, uint64_t addr, uint64_t length, bool writable);
/* The memory has changed: regions that have a byte of it go. */
void mr_cache_drop(struct mr_cache *cache, uint64_t addr, uint64_t length);
/* Has any region a byte of it? Not counted. */
bool mr_cache_holds(const struct mr_cache *cache, uint64_t addr, uint64_t length);

void mr_cache_count(const struct mr_cache *cache, struct mr_cache_counts *counts);

#endif
