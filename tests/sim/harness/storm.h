/* SPDX-License-Identifier: BSD-2-Clause */
/* storm.h - one seed, one world: how many NICs, which settings, which weather, which ops are all drawn from it.
 *
 * A storm is named by a line, KIND:SEED, by which it runs again. Bounds behind it, KIND:SEED:ops=20,cuts=0, hold down
 * what is drawn and leave the other draws as they are: so a storm that fails is made smaller. */
#ifndef TESTS_SIM_STORM_H
#define TESTS_SIM_STORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum storm_kind {
	STORM_PLAIN,
	STORM_DURABLE, /* some writes are to be durable, and some flushes fail */
	STORM_LIVES,   /* regions of single use, and such that are bound and enabled, come and go; at times durably */
	STORM_ATOMICS, /* atomics; at times durably, at times with such regions */
	STORM_TAGGED,  /* some messages and receives are tagged */
	STORM_PROVED,  /* NICs let each other in by a secret */
	STORM_QUEUES,  /* endpoints have the rules of queue pairs */
	STORM_HARSH,   /* bytes are changed on their way, memory runs out, a party that dies may come back */
	STORM_KINDS
};

/* The numbers that can be held down. */
enum storm_bound {
	STORM_OPS,
	STORM_NODES,
	STORM_TWINS,
	STORM_OPEN,
	STORM_BIG,
	STORM_CUTS,
	STORM_FLIPS,
	STORM_SCARCE,
	STORM_DEATHS,
	STORM_RETURNS,
	STORM_DELAY,
	STORM_DIAL,
	STORM_CHOPS,
	STORM_TIGHT,
	STORM_SMALL,
	STORM_SLOW,
	STORM_WRONG,
	STORM_SILENT,
	STORM_CHURN,
	STORM_NOTES,
	STORM_BOUNDS
};

struct storm {
	enum storm_kind kind;
	uint64_t seed;
	uint64_t most[STORM_BOUNDS];
	/* Set by storm_run(): */
	uint64_t drawn[STORM_BOUNDS]; /* what there was of each, at most so much */
	uint64_t ops;                 /* that were posted and judged */
	uint64_t cuts;                /* connections that broke while ops were open */
};

enum { STORM_LINE = 512 };

/* Without bounds. */
void storm_init(struct storm *storm, enum storm_kind kind, uint64_t seed);
/* Runs it to the end; aborts with its line if a property does not hold. */
void storm_run(struct storm *storm);
/* The least that a bound can be. */
uint64_t storm_least(enum storm_bound bound);
/* The line that names it, and back. False: not such a line. */
void storm_print(const struct storm *storm, char line[STORM_LINE]);
bool storm_parse(struct storm *storm, const char *line);

#endif
