/* SPDX-License-Identifier: BSD-2-Clause */
/* bench.h - benchmarks, candidates, and one block of measurement.
 *
 * A candidate is one way to move bytes between the two processes: plain TCP (the floor) or a libfabric provider.
 * All candidates stay open side by side; blocks of a few milliseconds alternate between them.
 * Both sides hold, per candidate, an outbox (what it sends, and what the other side may read) and an inbox
 * (where the other side writes, and where its own reads land). Op number n uses slot n % window of both. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host.h"

enum { CANDIDATES_MAX = 8, SPAN_MIN = 4096, WAITS_BLOCKS = 10 };

/* How a provider is opened; every candidate has one of each, over the same provider, but for what it does not offer from
 * WORLDS_NEEDED on: what is measured there is then not measured for it. */
enum world {
	WORLD_USUAL,     /* every mr_mode bit that a careful program offers */
	WORLD_SCALABLE,  /* none, and 10 keys */
	WORLD_MANY_KEYS, /* none, and 1,000,000 keys */
	WORLD_TAGGED,    /* as usual, with FI_TAGGED */
	WORLD_ATOMIC,    /* as usual, with FI_ATOMIC */
	WORLD_SREAD,     /* with FI_TAGGED, and a queue that is slept on by fi_cq_sread() */
	WORLD_WAIT_FD,   /* the same by fi_trywait() and poll() */
	WORLD_COUNTER,   /* a counter of what arrives is slept on */
	WORLDS,
	WORLDS_NEEDED = WORLD_TAGGED
};

enum candidate_state {
	CANDIDATE_OPEN,
	CANDIDATE_ABSENT, /* no such provider here */
};

struct candidate {
	char name[32];
	enum candidate_state state;
	char why[160];                 /* what libfabric said of what the provider does not offer here, itself or a world */
	uint8_t *inbox, *outbox;       /* the floor's */
	struct raw *raw;               /* the floor only */
	struct fabric *fabric[WORLDS]; /* every other candidate */
	bool elsewhere;                /* not opened by this pair of processes: see far.h */
};

/* One block, as one side sees it. The loops add to ops and elapsed_ns. */
struct block {
	const struct host *host;
	const struct bench *bench;
	struct candidate *cand;
	struct fabric *fabric; /* of the candidate, in the benchmark's world */
	uint8_t *inbox, *outbox;
	uint64_t seed;      /* of this block's bytes; both sides know it */
	uint64_t length_ns; /* what the loop is to last */
	uint64_t serial;    /* messages or slots so far, over warm-up and measurement */
	unsigned core;      /* the one that this process is bound to: nth, as host_pin() has it */
	uint64_t ops, elapsed_ns;
};

enum unit { UNIT_USEC, UNIT_MOPS, UNIT_GBPS };

/* Where the bytes end up that prove the work; PROOF_EACH: the loops compare every message as it comes. */
enum proof { PROOF_TARGET_INBOX, PROOF_INITIATOR_INBOX, PROOF_EACH };

/* `run` is the initiator's loop: it lasts about length_ns and leaves nothing outstanding; it is called twice a
 * block, for the warm-up and for the measurement. `serve` is what the target does meanwhile. `end` tells the
 * target, by whatever it is waiting for, that the block is over. All return 0 or a negative errno; -ETIMEDOUT
 * means that the other side did not act. */
struct role {
	int (*run)(struct block *block);
	int (*serve)(struct block *block);
	int (*end)(struct block *block); /* NULL: the shared stop flag is enough */
};

struct bench {
	const char *name;
	enum world world;
	size_t size;     /* bytes of an op */
	unsigned window; /* ops outstanding */
	enum unit unit;
	unsigned legs; /* parts of an op that one figure counts: 2 for half a round trip */
	enum proof proof;
	bool may_starve; /* a target that is never served is a result, not a failure */
	bool waits;      /* processes that wait for a core are counted; blocks are WAITS_BLOCKS times as long */
	struct role fabric;
	struct role raw; /* run == NULL: there is no floor */
};

/* The table; or, after benches_sweep(), one benchmark in many sizes. The first is also the greeting. */
extern const struct bench *benches;
extern unsigned benches_count;

/* `size`: reads of 1 B to 64 MiB; `window`: 1 to 1024 writes, and reads, outstanding. False: no such sweep. */
bool benches_sweep(const char *name);

static inline const struct role *block_role(const struct block *block)
{
	return block->cand->raw ? &block->bench->raw : &block->bench->fabric;
}

/* Is it to be run, where `only` was asked for? */
bool bench_chosen(const struct bench *bench, const char *only);

static inline size_t bench_span(const struct bench *bench)
{
	return bench->size * bench->window;
}

/* Where op number nth takes its bytes from and puts them to. */
static inline size_t block_slot(const struct block *block, uint64_t nth)
{
	return (size_t)(nth % block->bench->window) * block->bench->size;
}

static inline bool block_stopped(const struct block *block)
{
	return atomic_load_explicit(&block->host->shared->stop, memory_order_acquire);
}

/* Completes the result of one loop. */
static inline void block_count(struct block *block, uint64_t ops, uint64_t since_ns)
{
	block->ops += ops;
	block->elapsed_ns += now_ns() - since_ns;
}

/* The loops over libfabric. Those of loops.c are emu_perf's. */
int pingpong_run(struct block *block); /* write latency */
int pingpong_serve(struct block *block);
int tagged_run(struct block *block); /* latency of tagged messages */
int tagged_serve(struct block *block);
int tagged_window_run(struct block *block); /* and bandwidth */
int tagged_window_serve(struct block *block);
int window_write_run(struct block *block); /* rate, bandwidth, read latency */
int window_read_run(struct block *block);
int window_add_run(struct block *block);
int window_serve(struct block *block);
int register_run(struct block *block); /* no target needed */
int passive_run(struct block *block);  /* passive.c: the target sleeps in read() */
int passive_serve(struct block *block);
int passive_end(struct block *block);
int computing_serve(struct block *block); /* computing.c: the target computes on all cores */
int computing_end(struct block *block);
int blocking_write_run(struct block *block); /* blocking.c: both sides sleep for each message */
int blocking_write_serve(struct block *block);
int blocking_write_end(struct block *block);
int blocking_tagged_run(struct block *block);
int blocking_tagged_serve(struct block *block);
int blocking_tagged_end(struct block *block);

#endif
