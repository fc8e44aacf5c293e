/* SPDX-License-Identifier: BSD-2-Clause */
/* scarce.h - memory runs out: allocations of the device fail as the world's weather says (scarce_permille, scarce_left).
 * Allocations of the simulation itself never fail. */
#ifndef TESTS_SIM_SCARCE_H
#define TESTS_SIM_SCARCE_H

#include "tests/sim/harness/world.h"

/* From here on, until scarce_end(). */
void scarce_begin(struct world *world);
void scarce_end(void);

#endif
