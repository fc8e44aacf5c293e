/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pattern.c - what --verify of emu_perf finds: planted wrong bytes. */
#include <criterion/criterion.h>

#include "tools/perf/core/perf_clock.h"

enum { SIZE = 1000, SEED = 7 };

static uint8_t bytes[SIZE];

Test(perf_pattern, right_bytes_are_right_from_any_place_on)
{
	pattern_fill(bytes, SIZE, SEED);
	for (size_t from = 0; from < 20; from++)
		cr_assert_eq(pattern_differs(bytes + from, SIZE - from, SEED, from), 0u, "from %zu", from);
}

Test(perf_pattern, each_wrong_byte_is_counted)
{
	pattern_fill(bytes, SIZE, SEED);
	bytes[0] ^= 1;
	bytes[3] ^= 0x80;
	bytes[SIZE - 1] ^= 0xff;
	cr_assert_eq(pattern_differs(bytes, SIZE, SEED, 0), 3u);
	cr_assert_eq(pattern_differs(bytes + 3, SIZE - 3, SEED, 3), 2u);
}

Test(perf_pattern, bytes_of_another_seed_or_place_are_wrong)
{
	pattern_fill(bytes, SIZE, SEED);
	cr_assert_gt(pattern_differs(bytes, SIZE, SEED + 1, 0), (size_t)SIZE / 2);
	cr_assert_gt(pattern_differs(bytes, SIZE, SEED, 8), (size_t)SIZE / 2);
}
