/* SPDX-License-Identifier: BSD-2-Clause */
/* storm.h - one seed, one world: how many NICs, which settings, which weather, which ops are all drawn from it. */
#ifndef TESTS_SIM_STORM_H
#define TESTS_SIM_STORM_H

#include <stdint.h>

/* Runs it to the end; aborts with the seed named if a property does not hold. */
void storm_run(uint64_t seed);

#endif
