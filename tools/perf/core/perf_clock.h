/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_clock.h - what measuring code shares: the clock, a bounded spin, bytes that both sides can derive from a seed.
 * Times are nanoseconds of CLOCK_MONOTONIC. Thread: any; a patience belongs to one. Nothing here fails. */
#ifndef PERF_CLOCK_H
#define PERF_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MSEC 1000000ull
#define HANG_GUARD_NS (30000 * MSEC) /* nothing here is slow enough to meet it unless it hangs */

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* A bounded spin. It looks at the clock now and then only, and gives the core away after some tens of empty
 * looks, so that a provider's own thread on the same core gets its turn. */
struct patience {
	uint64_t deadline_ns;
	unsigned looks;
};

static inline struct patience patience_for(uint64_t ns)
{
	return (struct patience){ .deadline_ns = now_ns() + ns };
}

/* False once the deadline has passed. Call it after each look that found nothing. */
bool patience_left(struct patience *p);

uint64_t pattern_word(uint64_t seed, uint64_t nth);
void pattern_fill(void *buf, size_t size, uint64_t seed);
/* How many of these bytes are not those that pattern_fill() puts `from` bytes behind its beginning. */
size_t pattern_differs(const void *buf, size_t size, uint64_t seed, size_t from);

#endif
