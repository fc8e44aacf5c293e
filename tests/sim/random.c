/* SPDX-License-Identifier: BSD-2-Clause */
/* random.c - worlds drawn from fixed seeds. SIM_SEED runs one other. Fresh ones: sim_random. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/sim/storm.h"

static void storms(uint64_t from, uint64_t count)
{
	if (getenv("SIM_SEED")) {
		storm_run(strtoull(getenv("SIM_SEED"), NULL, 0));
		return;
	}
	for (uint64_t seed = from; seed < from + count; seed++)
		storm_run(seed);
}

Test(sim_random, first_seeds)
{
	storms(1, 60);
}

Test(sim_random, second_seeds)
{
	storms(1000, 60);
}

Test(sim_random, durable_seeds)
{
	uint64_t from = getenv("SIM_SEED") ? strtoull(getenv("SIM_SEED"), NULL, 0) : 3000;

	for (uint64_t seed = from; seed < from + (getenv("SIM_SEED") ? 1 : 60); seed++)
		storm_run_durably(seed);
}

Test(sim_random, region_lives)
{
	uint64_t from = getenv("SIM_SEED") ? strtoull(getenv("SIM_SEED"), NULL, 0) : 6000;

	for (uint64_t seed = from; seed < from + (getenv("SIM_SEED") ? 1 : 60); seed++)
		storm_run_lives(seed);
}

Test(sim_random, atomics)
{
	uint64_t from = getenv("SIM_SEED") ? strtoull(getenv("SIM_SEED"), NULL, 0) : 9000;

	for (uint64_t seed = from; seed < from + (getenv("SIM_SEED") ? 1 : 60); seed++)
		storm_run_atomics(seed);
}

Test(sim_random, tagged_seeds)
{
	uint64_t from = getenv("SIM_SEED") ? strtoull(getenv("SIM_SEED"), NULL, 0) : 9100;

	for (uint64_t seed = from; seed < from + (getenv("SIM_SEED") ? 1 : 100); seed++)
		storm_run_tagged(seed);
}

Test(sim_random, proved_seeds)
{
	uint64_t from = getenv("SIM_SEED") ? strtoull(getenv("SIM_SEED"), NULL, 0) : 9300;

	for (uint64_t seed = from; seed < from + (getenv("SIM_SEED") ? 1 : 30); seed++)
		storm_run_proved(seed);
}

/* Seeds that once found something. */
Test(sim_random, old_acquaintances)
{
	static const uint64_t seeds[] = { 34, 198, 490, 874, 5036, 5330, 5479 };

	for (unsigned i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		storms(seeds[i], 1);
}
