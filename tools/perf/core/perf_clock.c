/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_clock.c - bounded spins, and the bytes that prove the work. */
#include "tools/perf/core/perf_clock.h"

#include <sched.h>
#include <string.h>

enum { LOOKS_A_YIELD = 100, LOOKS_A_CLOCK = 1000 };

bool patience_left(struct patience *p)
{
	p->looks++;
	if (p->looks % LOOKS_A_YIELD == 0)
		sched_yield();
	return p->looks % LOOKS_A_CLOCK != 0 || now_ns() < p->deadline_ns;
}

uint64_t pattern_word(uint64_t seed, uint64_t nth)
{
	uint64_t x = seed + (nth + 1) * 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

void pattern_fill(void *buf, size_t size, uint64_t seed)
{
	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		uint64_t word = pattern_word(seed, at / sizeof(word));

		memcpy((uint8_t *)buf + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
	}
}

size_t pattern_differs(const void *buf, size_t size, uint64_t seed, size_t from)
{
	const uint8_t *bytes = buf;
	size_t wrong = 0, part;

	for (size_t at = 0; at < size; at += part) {
		size_t within = (from + at) % sizeof(uint64_t);
		uint64_t word = pattern_word(seed, (from + at) / sizeof(word));
		uint8_t expected[sizeof(word)];

		part = sizeof(word) - within < size - at ? sizeof(word) - within : size - at;
		memcpy(expected, &word, sizeof(word));
		if (!memcmp(bytes + at, expected + within, part))
			continue;
		for (size_t i = 0; i < part; i++)
			wrong += bytes[at + i] != expected[within + i];
	}
	return wrong;
}
