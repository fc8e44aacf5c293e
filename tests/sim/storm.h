/* SPDX-License-Identifier: BSD-2-Clause */
/* storm.h - one seed, one world: how many NICs, which settings, which weather, which ops are all drawn from it. */
#ifndef TESTS_SIM_STORM_H
#define TESTS_SIM_STORM_H

#include <stdint.h>

/* Runs it to the end; aborts with the seed named if a property does not hold. */
void storm_run(uint64_t seed);
/* The same where some writes are to be durable, and some flushes fail. */
void storm_run_durably(uint64_t seed);
/* The same where regions of single use, and such that are bound and enabled, come and go; at times durably. */
void storm_run_lives(uint64_t seed);
/* The same with atomics; at times durably, at times with such regions. */
void storm_run_atomics(uint64_t seed);
/* The same where some messages and receives are tagged. */
void storm_run_tagged(uint64_t seed);
/* The same where all have a shared secret; at times tagged. */
void storm_run_proved(uint64_t seed);

#endif
