/* SPDX-License-Identifier: BSD-2-Clause */
/* big.h - transfers that take long enough for something to happen meanwhile: steps of a target with a large buffer. */
#ifndef TESTS_PROCESS_BIG_H
#define TESTS_PROCESS_BIG_H

#include "tests/rules/harness/harness.h"

enum { BIG = 64 << 20, FLIGHT = 12 };

struct big_told {
	uint64_t key, addr;
};

extern struct region big; /* the target's; filled with 0x11 */

/* Opens it: struct big_told. */
void step_big(const void *arg, void *reply);
/* Returns when the first byte of a peer's write is there. */
void step_wait_touched(const void *arg, void *reply);

#endif
