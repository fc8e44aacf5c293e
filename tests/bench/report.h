/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h - the samples of a run, their medians, and the table.
 * A ratio is the median, over the rounds, of a candidate's block divided by the floor's block of the same round:
 * how many times the floor's time one op costs, whatever unit the table shows. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "bench.h"

struct samples {
	unsigned blocks;
	double *ns;          /* [bench][candidate][block], ns an op; NaN: not measured */
	bool *starved;       /* [bench][candidate] */
	char (*why)[160];    /* [bench][candidate], what the candidate does not offer: outcome.why */
	double (*waited)[2]; /* [bench][candidate], of `waits`: sums of outcome.served_waited and own_waited */
	uint64_t ops;
	uint64_t hash;   /* over all proved blocks, in the order of the run */
	uint64_t proved; /* how many blocks */
};

void samples_init(struct samples *s, unsigned blocks);
void samples_fini(struct samples *s);
double *samples_at(const struct samples *s, unsigned bench, unsigned cand);
bool *samples_starved(const struct samples *s, unsigned bench, unsigned cand);

/* ns an op, the median over the rounds; the median over the rounds of one cell's by another's. NaN: not measured. */
double samples_median(const struct samples *s, unsigned bench, unsigned cand);
double samples_quotient(const struct samples *s, unsigned bench, unsigned cand, unsigned other_bench, unsigned other);

void report_table(FILE *out, const struct samples *s, const struct candidate *cands, unsigned count);
/* What was not measured, and why. */
void report_skipped(FILE *out, const struct samples *s, const struct candidate *cands, unsigned count);
/* The scheduler's part of it, for benchmarks that count that. */
void report_waits(FILE *out, const struct samples *s, const struct candidate *cands, unsigned count);
/* benchmark, bytes, candidate, unit, median, 10th and 90th percentile, ratio, ops outstanding; one row a line. */
void report_tsv(FILE *out, const struct samples *s, const struct candidate *cands, unsigned count);

#endif
