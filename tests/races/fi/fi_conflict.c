/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_conflict.c - operations of different sides that meet at one place. */
#include "tests/races/fi/fi_kit.h"

enum { TARGET = 0, FIRST = 1, SECOND = 2 };

/* The last side waits for the word of the side before; racy: it does not. */
static void my_turn(void)
{
	if (!racy() && race_self == SECOND)
		race_hear(FIRST);
}

static void my_turn_ends(void)
{
	if (!racy() && race_self == FIRST)
		race_tell(SECOND);
}

static void conflict_writes(unsigned round)
{
	(void)round;
	if (race_self == TARGET)
		return;
	my_turn();
	kit_put(TARGET, SOURCE, X, SIZE, FI_DELIVERY_COMPLETE);
	kit_sent(1);
	my_turn_ends();
}

static const struct race_case cases[] = {
	RACE("writes-of-two", "three-processes", "operation-operation", 3, conflict_writes),
	TWIN("writes-by-turns", "three-processes", 3, conflict_writes),
};

static const struct race_set conflicts = RACE_SET(cases);
const struct race_set *const race_sets[] = { &conflicts, NULL };
