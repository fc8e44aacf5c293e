/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_side.h - the two sides, and what they share. Thread: the main one. */
#ifndef PERF_SIDE_H
#define PERF_SIDE_H

#include <pthread.h>

#include "tools/perf/perf_channel.h"
#include "tools/perf/perf_result.h"

/* --- What both sides do: open a provider's endpoints, get a block ready, and run it by threads. Thread: the main one. It
 * watches the control channel while the others measure. --- */

/* One provider, opened. Initiator: a fabric a thread; target: as many a thread as there are peers. */
struct perf_candidate {
	struct perf_plan plan;
	const struct perf_test *test;
	struct fabric **fabrics;
	unsigned fabrics_count, each;
};

struct perf_worker {
	pthread_t handle;
	struct perf_side *side;
	struct loop loop;
	struct histogram latency;
	_Atomic uint64_t wanted, arrived;
	_Atomic uint32_t measuring; /* the warm-up is over */
	unsigned nth;
	int rc;
};

struct perf_side {
	struct perf_channel channel;
	struct perf_candidate candidates[PROVIDERS_MAX];
	unsigned candidates_count;
	bool initiator;
	char node[64];
	struct perf_worker *workers; /* THREADS_MAX */
	unsigned workers_count;
	_Atomic uint32_t stop;
	_Atomic uint32_t running; /* workers that have not ended */
	int wake[2];              /* a pipe: a byte for each worker that ends */
	uint64_t warmup_ns, length_ns, ops;
};

void side_init(struct perf_side *side, bool initiator);
/* 0, or a negative errno with why. */
int side_open(struct perf_side *side, struct perf_candidate *cand, char *why, size_t why_size);
void side_close(struct perf_side *side);

/* Bytes in place, nothing yet running. */
void side_prepare(struct perf_side *side, const struct perf_order *order);
void side_start(struct perf_side *side);
/* Joins all: 0, or the first failure. `bad` is counted up by bytes that were not as sent. */
int side_join(struct perf_side *side, const struct perf_order *order, uint64_t *bad, char *why, size_t why_size);

/* --- the side that serves. Thread: the main one. --- */

/* Serves until told to quit. Dies with a sentence if the initiator is gone, but says nothing to one that had started it. */
void target_serve(struct perf_side *side, bool inherited);

/* --- the side that measures. Thread: the main one. --- */

/* Opens all providers on both sides; dies with a sentence if one does not offer what the test needs. */
void initiator_open(struct perf_side *side, const struct perf_options *o);
/* Measures all, and prints each size's line on `out` (NULL: nobody) when it is known. */
void initiator_measure(struct perf_side *side, struct perf_result *result, FILE *out);

#endif
