/* SPDX-License-Identifier: BSD-2-Clause */
/* far.h - a candidate in a pair of processes of its own, since its settings are those of a process. It runs when the first
 * pair does not: an order goes to its initiator, which measures a block as the first one would. */
#ifndef BENCH_FAR_H
#define BENCH_FAR_H

#include "peer.h"

/* Starts the pair, on the same cores as the given one, with payload digests. To be called before libfabric is touched. */
void far_open(const struct pair *near, struct candidate *cand);
/* As pair_measure(). */
int far_measure(const struct candidate *cand, unsigned bench, uint64_t seed, struct outcome *out);
/* Returns the exit status of the pair. */
int far_close(struct candidate *cand);

#endif
