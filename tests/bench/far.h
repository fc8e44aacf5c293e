/* SPDX-License-Identifier: BSD-2-Clause */
/* far.h - further pairs of processes, which take their turns with the first one: an order goes to such a pair's initiator,
 * which measures a block as the first one would. Each world has a pair, so that a process has no connection but the one that
 * is measured; and so has a candidate whose settings are those of a process. */
#ifndef BENCH_FAR_H
#define BENCH_FAR_H

#include "peer.h"

struct far {
	int way; /* to the initiator; -1: there is no such pair */
	int pid;
};

/* Starts a pair on the same cores as the given one, for a world in which something was chosen. `only`: the candidate that it
 * opens, with payload digests; 0: all that are not elsewhere. To be called before libfabric is touched. */
struct far far_open(const struct pair *near, enum world world, unsigned only);
/* As pair_measure(), where the candidate offers that. */
int far_measure(const struct far *far, unsigned bench, unsigned cand, uint64_t seed, struct outcome *out);
/* Returns the exit status of the pair. */
int far_close(const struct far *far);

#endif
