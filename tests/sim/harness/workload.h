/* SPDX-License-Identifier: BSD-2-Clause */
/* workload.h - ops drawn from the seed: what programs of all sorts might ask of their NICs, right and wrong. */
#ifndef TESTS_SIM_WORKLOAD_H
#define TESTS_SIM_WORKLOAD_H

#include "tests/sim/harness/model.h"

enum { WORKLOAD_REGIONS = 5 };

struct workload {
	struct model *model;
	uint64_t ops_left;
	uint32_t outstanding_max;  /* jobs open at a time */
	uint64_t big_max;          /* longest op; most are short */
	uint8_t wrong_percent;     /* accesses that must be refused */
	uint8_t silent_percent;    /* without completions */
	uint8_t commit_percent;    /* writes that are to be durable; 0 draws nothing */
	uint8_t atomic_percent;    /* of remote accesses; 0 draws nothing */
	uint8_t tag_percent;       /* messages and receives that are tagged; 0 draws nothing */
	uint8_t solicited_percent; /* messages and writes with CQ data; 0 draws nothing */
	uint8_t churn_permille;    /* a region is closed or registered again */
	bool sends, rma;           /* which kinds */
	bool ring;                 /* messages go to the next party only: each has one source */
	struct node *victim;       /* dies when so many ops are left; NULL: no party does */
	uint64_t dies_at;
	bool returns; /* and comes back, as another under its address */
	struct region *region[MODEL_PARTIES][WORKLOAD_REGIONS];
	bool lives; /* the two below are there and live fast */
	struct region *single[MODEL_PARTIES], *gated[MODEL_PARTIES];
};

/* Gives every party its regions: offset and virtual, whole and vectored, of all rights or one. */
void workload_init(struct workload *load, struct model *model, uint64_t ops);
/* And regions of single use, and such that are bound, enabled, let go and registered again all the time. */
void workload_lives(struct workload *load);
/* Posts until ops_left is zero, stepping the model; then ends as model_end(). */
void workload_run(struct workload *load, uint64_t limit_ns);

#endif
