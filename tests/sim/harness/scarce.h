/* SPDX-License-Identifier: BSD-2-Clause */
/* scarce.h - memory runs out: allocations of the device fail as the world's weather says (scarce_permille, scarce_left).
 * Allocations of the simulation itself never fail, and do not count. */
#ifndef TESTS_SIM_SCARCE_H
#define TESTS_SIM_SCARCE_H

#include "tests/sim/harness/world.h"

/* From here on, until scarce_end(). */
void scarce_begin(struct world *world);
void scarce_end(void);
/* Bytes that are allocated now, as far as malloc(3) and its kin have them. */
uint64_t scarce_held(void);

#endif
