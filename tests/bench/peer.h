/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.h - the two processes: what both do to open the candidates and to get a block ready, and what each does then.
 * Orders and answers go over the control socket; one block at a time. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "bench.h"

struct pair {
	struct host host;
	struct candidate *cands;
	enum world world; /* the only one that this pair opens: further connections would cost every poll */
	unsigned count;
	const char *only; /* of the benchmarks; see bench_chosen() */
	uint64_t block_ns;
	bool settle;   /* wait for idle processors before each block */
	bool one_core; /* both processes share one */
	unsigned core; /* of this process */
	int target;    /* process id; set by pair_start() */
};

/* A block's result at the initiator. */
struct outcome {
	double ns_per_op;
	uint64_t ops; /* 0: the candidate does not offer that, for the reason `why`, or it starved */
	char why[160];
	uint64_t bytes_hash; /* XXH3 of the bytes that both sides found where they belong */
	bool starved;
	double served_waited, own_waited; /* of `waits`: shares of the time in which a thread waited for a core */
};

/* Forks the target, which serves until told to quit and never comes back from here, and opens every candidate in both. To be
 * called before libfabric is touched. */
void pair_start(struct pair *pair);
/* Tells the target to quit, and closes. Returns its exit status. */
int pair_stop(struct pair *pair);

/* The span that the chosen benchmarks need of a world; 0: the pair does not open it, or none is in it. */
size_t world_span(const struct pair *pair, enum world world);

/* Opens every candidate in this process and exchanges addresses with the other. A provider that is not there on
 * either side becomes CANDIDATE_ABSENT. Exits when the other process is gone. */
void pair_open(struct pair *pair, const struct raw *raw);
void pair_close(struct pair *pair);

/* Initiator: measures one block. 0, or a negative errno after a message that names candidate and benchmark. */
int pair_measure(struct pair *pair, unsigned bench, unsigned cand, uint64_t seed, struct outcome *out);
/* Initiator: the first contact, not measured; connections come up here. */
int pair_greet(struct pair *pair, unsigned cand);
void pair_quit(struct pair *pair);

/* Target: serves blocks until told to quit. Returns the exit status. */
int pair_serve(struct pair *pair);

#endif
