/* SPDX-License-Identifier: BSD-2-Clause */
/* random.c - worlds drawn from fixed seeds. A failing world prints the line by which sim_random --replay runs it again. */
#include <criterion/criterion.h>

#include "tests/sim/harness/storm.h"

static void storms(enum storm_kind kind, uint64_t from, uint64_t count)
{
	struct storm storm;

	for (uint64_t seed = from; seed < from + count; seed++) {
		storm_init(&storm, kind, seed);
		storm_run(&storm);
	}
}

Test(sim_random, first_seeds)
{
	storms(STORM_PLAIN, 1, 60);
}

Test(sim_random, second_seeds)
{
	storms(STORM_PLAIN, 1000, 60);
}

Test(sim_random, durable_seeds)
{
	storms(STORM_DURABLE, 3000, 60);
}

Test(sim_random, region_lives)
{
	storms(STORM_LIVES, 6000, 60);
}

Test(sim_random, atomics)
{
	storms(STORM_ATOMICS, 9000, 60);
}

Test(sim_random, tagged_seeds)
{
	storms(STORM_TAGGED, 9100, 100);
}

Test(sim_random, harsh_seeds)
{
	storms(STORM_HARSH, 9200, 100);
}

Test(sim_random, proved_seeds)
{
	storms(STORM_PROVED, 9300, 30);
}

Test(sim_random, queues)
{
	storms(STORM_QUEUES, 9400, 100);
}

/* Seeds that once found something. */
Test(sim_random, old_acquaintances)
{
	static const uint64_t seeds[] = { 34, 198, 490, 874, 5036, 5330, 5479 };

	for (unsigned i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		storms(STORM_PLAIN, seeds[i], 1);
}

static void expect_line(const char *line)
{
	char again[STORM_LINE];
	struct storm storm;

	cr_assert(storm_parse(&storm, line), "%s", line);
	storm_print(&storm, again);
	cr_assert_str_eq(line, again);
}

/* A storm and the line that names it. */
Test(sim_random, lines)
{
	static const char *const wrong[] = { "",
					     "plain",
					     "plain:",
					     "calm:7",
					     "plain:7:",
					     "plain:7:ops",
					     "plain:7:ops=",
					     "plain:7x",
					     "plain:7:ops=1:cuts=2",
					     "plain:7:ops=0",
					     "plain:7,ops=1" };
	struct storm storm;

	expect_line("plain:7");
	expect_line("harsh:18446744073709551615:ops=1,nodes=2,cuts=0,churn=18");
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert(!storm_parse(&storm, wrong[i]), "%s", wrong[i]);
}

/* A bound that is not reached changes nothing, and none is exceeded. */
Test(sim_random, bounds_hold)
{
	struct storm storm;

	storm_init(&storm, STORM_PLAIN, 34);
	for (int i = 0; i < STORM_BOUNDS; i++)
		storm.most[i] = storm_least((enum storm_bound)i);
	storm_run(&storm);
	for (int i = 0; i < STORM_BOUNDS; i++)
		cr_assert_leq(storm.drawn[i], storm.most[i]);
}
