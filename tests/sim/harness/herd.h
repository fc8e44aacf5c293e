/* SPDX-License-Identifier: BSD-2-Clause */
/* herd.h - many storms, in processes of their own, so that one that fails is one that fails. */
#ifndef TESTS_SIM_HERD_H
#define TESTS_SIM_HERD_H

#include "tests/sim/harness/storm.h"

enum { HERD_JOBS = 64 };

struct herd {
	uint64_t from;
	uint64_t seeds;   /* so many from there on, */
	uint64_t seconds; /* or, if not zero, those that are begun in so many seconds */
	unsigned jobs;    /* at a time, 1 to HERD_JOBS */
};

struct herd_count {
	uint64_t seeds, storms, failed;
	uint64_t ops, cuts; /* of the storms that ended well: storm.h */
	uint64_t ns;
};

/* Every kind of storm with each seed. Says `not ok` and the line of each that fails; what it printed stands before it. */
void herd_run(const struct herd *herd, struct herd_count *count);
/* Makes a storm that fails smaller, a bound at a time, until each less of one lets it pass. False: it passes as it is. */
bool herd_shrink(struct storm *storm);

#endif
