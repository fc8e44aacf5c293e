/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.h - counts of durations in buckets whose width grows with the duration: each is right to 1 in 64.
 * Thread: the one that measures; others look after it has ended. Nothing here allocates or fails. */
#ifndef PERF_HISTOGRAM_H
#define PERF_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BITS = 6, HISTOGRAM_BUCKETS = (64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS };

struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t total, sum, least, most; /* least is meaningless while total is 0 */
};

/* Durations below 64 have a bucket each; from there on each power of two has 64. */
static inline unsigned histogram_bucket(uint64_t ns)
{
	unsigned shift;

	if (ns < 1u << HISTOGRAM_BITS)
		return (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - HISTOGRAM_BITS;
	return ((shift + 1) << HISTOGRAM_BITS) + (unsigned)((ns >> shift) - (1u << HISTOGRAM_BITS));
}

static inline void histogram_add(struct histogram *h, uint64_t ns)
{
	h->counts[histogram_bucket(ns)]++;
	h->sum += ns;
	h->least = h->total == 0 || ns < h->least ? ns : h->least;
	h->most = ns > h->most ? ns : h->most;
	h->total++;
}

void histogram_clear(struct histogram *h);
/* Adds all of other's. */
void histogram_merge(struct histogram *h, const struct histogram *other);
/* The duration that a share of all, 0 to 1, does not exceed: the upper end of its bucket, and never above the longest. 0: none. */
uint64_t histogram_quantile(const struct histogram *h, double share);

#endif
