/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_plan.h - what is to be measured: the options of the program, and the part of them that both sides must know. */
#ifndef PERF_PLAN_H
#define PERF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/perf/core/loop.h"

enum {
	PROVIDERS_MAX = 8,
	NAME_MAX_BYTES = 48,
	SIZES_MAX = 48,
	THREADS_MAX = 64,
	PEERS_MAX = 1024,
	WINDOW_MAX = 4096,
	BLOCKS_MAX = 1000
};

enum perf_unit { PERF_LATENCY, PERF_BANDWIDTH, PERF_RATE };

struct perf_test {
	const char *name;
	enum perf_unit unit;
	unsigned legs; /* parts of an op that one figure counts: 2 for half a round trip */
	uint64_t caps; /* beside FI_RMA */
	bool no_rma;
	bool alone;    /* the other side has nothing to do */
	bool one;      /* one op at a time */
	bool messages; /* the other side answers or receives */
	bool atomic;
	bool to_target; /* a window's bytes end up there */
	bool to_initiator;
	int (*run)(struct loop *loop);
	int (*serve)(struct loop *loop);
};

extern const struct perf_test perf_tests[];
extern const unsigned perf_tests_count;
/* NULL: there is none of that name. */
const struct perf_test *perf_test_find(const char *name);

struct perf_options {
	const struct perf_test *test;
	char providers[PROVIDERS_MAX][NAME_MAX_BYTES];
	unsigned providers_count;
	size_t sizes[SIZES_MAX];
	unsigned sizes_count;
	unsigned window; /* 0: as many as suit the size */
	unsigned threads, peers, blocks;
	uint64_t ops, duration_ns, warmup_ns, timeout_ns;
	enum loop_wait wait;
	bool compare, verify, progress, listen, pin, json;
	const char *json_file, *plot_file, *host, *port;
	int served_by; /* descriptor of the initiator that started this process; -1: none */
};

extern const char *const perf_wait_names[];

/* Exits with a sentence if they make no sense. */
struct perf_options perf_options_parse(int argc, char **argv);

/* Says a sentence on stderr and ends the process with status 2, whatever its threads do. */
__attribute__((noreturn, format(printf, 1, 2))) void perf_die(const char *format, ...);

/* How a provider is opened, the same on both sides. */
struct perf_plan {
	char provider[NAME_MAX_BYTES];
	uint32_t test, threads, peers, wait, verify, pin, window_max, unused;
	uint64_t span, size_max, timeout_ns;
};

/* One block. */
struct perf_order {
	uint32_t candidate, window, sources, threads;
	uint64_t size, seed;
};

#endif
