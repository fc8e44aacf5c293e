/* SPDX-License-Identifier: BSD-2-Clause */
/* test_histogram.c - percentiles of emu_perf and the bench. */
#include <criterion/criterion.h>

#include "tools/perf/core/histogram.h"

static struct histogram h;

Test(perf_histogram, buckets_grow_with_the_duration_and_none_is_passed_over)
{
	unsigned before = 0;

	for (uint64_t ns = 1; ns < 1u << 20; ns++) {
		unsigned bucket = histogram_bucket(ns);

		cr_assert(bucket == before || bucket == before + 1, "%lu ns: %u, then %u", (unsigned long)ns, before, bucket);
		before = bucket;
	}
	cr_assert_lt(histogram_bucket(UINT64_MAX), (unsigned)HISTOGRAM_BUCKETS);
}

Test(perf_histogram, short_durations_are_exact)
{
	for (uint64_t ns = 1; ns <= 100; ns++)
		histogram_add(&h, ns <= 50 ? ns : 60);
	cr_assert_eq(histogram_quantile(&h, .5), 50u);
	cr_assert_eq(histogram_quantile(&h, .1), 10u);
	cr_assert_eq(histogram_quantile(&h, 1), 60u);
	cr_assert_eq(h.least, 1u);
}

Test(perf_histogram, a_percentile_is_right_to_one_in_64)
{
	for (uint64_t ns = 1; ns <= 1000000; ns += 7)
		histogram_add(&h, ns);
	for (double share = .01; share < 1; share += .01) {
		double right = share * 1000000, found = (double)histogram_quantile(&h, share);

		cr_assert(found >= right - 7 && found <= right * (1 + 1 / 64.0) + 7, "%f: %f, not %f", share, found, right);
	}
}

Test(perf_histogram, no_percentile_is_above_the_longest)
{
	histogram_add(&h, 1000001);
	cr_assert_eq(histogram_quantile(&h, .5), 1000001u);
	cr_assert_eq(histogram_quantile(&h, 1), 1000001u);
}

Test(perf_histogram, an_empty_one_has_none)
{
	cr_assert_eq(histogram_quantile(&h, .5), 0u);
}

Test(perf_histogram, a_merged_one_has_all_of_both)
{
	static struct histogram other;

	histogram_add(&h, 10);
	histogram_add(&other, 5);
	histogram_add(&other, 4000);
	histogram_merge(&h, &other);
	cr_assert_eq(h.total, 3u);
	cr_assert_eq(h.least, 5u);
	cr_assert_eq(h.most, 4000u);
	cr_assert_eq(h.sum, 4015u);
	cr_assert_eq(histogram_quantile(&h, .5), 10u);
}
