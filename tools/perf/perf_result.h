/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_result.h - what was measured, and how it is told.
 * Thread: the main one. Functions that write return false if not all was written. */
#ifndef PERF_RESULT_H
#define PERF_RESULT_H

#include <stdio.h>

#include "tools/perf/perf_plan.h"

/* A size over a provider. */
struct perf_cell {
	double blocks[BLOCKS_MAX]; /* ns for each op, by which the other units are made */
	unsigned blocks_count, window;
	uint64_t ops, elapsed_ns, bad;
	struct histogram latency;
};

struct perf_result {
	const struct perf_options *options;
	struct perf_cell *cells; /* [provider][size] */
};

struct perf_spread {
	double median, p10, p90; /* ns for each op */
};

void result_init(struct perf_result *r, const struct perf_options *o);
struct perf_cell *result_cell(const struct perf_result *r, unsigned provider, unsigned size);
struct perf_spread result_spread(const struct perf_cell *cell);
/* How many times the first provider's time an op takes: the same three, over pairs of blocks of one round. */
struct perf_spread result_ratio(const struct perf_result *r, unsigned provider, unsigned size);
/* In the unit of the test: microseconds, GB/s, or millions of ops a second. */
double result_shown(const struct perf_result *r, double ns, size_t size);
const char *result_unit(const struct perf_result *r);

/* The head of the table, and then a line as soon as it is known. */
void result_text_head(FILE *out, const struct perf_result *r);
void result_text_size(FILE *out, const struct perf_result *r, unsigned size);

bool result_json(FILE *out, const struct perf_result *r);
bool result_svg(FILE *out, const struct perf_result *r);

#endif
