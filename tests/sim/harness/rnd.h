/* SPDX-License-Identifier: BSD-2-Clause */
/* rnd.h - the one source of chance in a simulated world (splitmix64): same seed, same run. */
#ifndef TESTS_SIM_RND_H
#define TESTS_SIM_RND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct rnd {
	uint64_t state;
};

static inline uint64_t rnd_next(struct rnd *rnd)
{
	uint64_t z = rnd->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* 0 to n - 1; 0 for n = 0. */
static inline uint64_t rnd_below(struct rnd *rnd, uint64_t n)
{
	return n ? rnd_next(rnd) % n : 0;
}

static inline bool rnd_percent(struct rnd *rnd, unsigned percent)
{
	return rnd_below(rnd, 100) < percent;
}

static inline void rnd_fill(struct rnd *rnd, void *bytes, size_t length)
{
	uint8_t *to = bytes;

	while (length) {
		uint64_t v = rnd_next(rnd);
		size_t n = length < sizeof(v) ? length : sizeof(v);

		memcpy(to, &v, n);
		to += n;
		length -= n;
	}
}

#endif
