/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus_run.h - runs a test many times, and counts what is seen. One thread. */
#ifndef LITMUS_RUN_H
#define LITMUS_RUN_H

#include "tools/litmus/litmus.h"

enum { VALUES = 4, STATES = VALUES * VALUES * VALUES }; /* of one that is looked at; of all SEEN together */

struct tally {
	uint64_t told; /* bits of msg_order, by fi_getinfo(3) */
	uint64_t runs, count[STATES];
};

/* The state in which each has the value of the outcome. */
unsigned litmus_outcome(const struct litmus *test);
/* Is what comes into the register a long variable? */
bool litmus_is_long(const struct litmus *test, unsigned reg);
/* `order`: bits of msg_order to ask for. `seed`: of what this program draws. */
void litmus_run(const struct litmus *test, uint64_t order, uint64_t runs, uint64_t seed, struct tally *tally);

#endif
