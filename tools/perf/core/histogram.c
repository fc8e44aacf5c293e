/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.c - percentiles of durations. */
#include "tools/perf/core/histogram.h"

#include <math.h>
#include <string.h>

void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
}

void histogram_merge(struct histogram *h, const struct histogram *other)
{
	if (other->total == 0)
		return;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		h->counts[i] += other->counts[i];
	h->least = h->total == 0 || other->least < h->least ? other->least : h->least;
	h->most = other->most > h->most ? other->most : h->most;
	h->sum += other->sum;
	h->total += other->total;
}

/* The longest duration that belongs to it. */
static uint64_t bucket_end(unsigned bucket)
{
	unsigned shift, within;

	if (bucket < 1u << HISTOGRAM_BITS)
		return bucket;
	shift = (bucket >> HISTOGRAM_BITS) - 1;
	within = bucket & ((1u << HISTOGRAM_BITS) - 1);
	return (((uint64_t)within + (1u << HISTOGRAM_BITS)) << shift) + ((1ull << shift) - 1);
}

uint64_t histogram_quantile(const struct histogram *h, double share)
{
	uint64_t rank = (uint64_t)ceil(share * (double)h->total), seen = 0;

	if (h->total == 0)
		return 0;
	rank = rank == 0 ? 1 : rank;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->counts[i];
		if (seen >= rank)
			return bucket_end(i) < h->most ? bucket_end(i) : h->most;
	}
	return h->most;
}
