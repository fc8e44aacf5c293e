/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_initiator.h - the side that measures. Thread: the main one. */
#ifndef PERF_INITIATOR_H
#define PERF_INITIATOR_H

#include "tools/perf/perf_result.h"
#include "tools/perf/perf_side.h"

/* Opens all providers on both sides; dies with a sentence if one does not offer what the test needs. */
void initiator_open(struct perf_side *side, const struct perf_options *o);
/* Measures all, and prints each size's line on `out` (NULL: nobody) when it is known. */
void initiator_measure(struct perf_side *side, struct perf_result *result, FILE *out);

#endif
