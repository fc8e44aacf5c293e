/* SPDX-License-Identifier: BSD-2-Clause */
/* sim_random.c - runs storms of fresh seeds, and those that failed again:
 *   sim_random [--seeds N | --minutes M] [--from S] [--jobs J]	every kind of storm with each seed
 *   sim_random --replay STORM		one, as a failure names it
 *   sim_random --shrink STORM		the smallest that still fails */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/harness/herd.h"

static int usage(void)
{
	fprintf(stderr, "usage: sim_random [--seeds N | --minutes M] [--from S] [--jobs J] | --replay STORM | --shrink STORM\n");
	return 2;
}

static int fresh(const struct herd *herd)
{
	struct herd_count count;
	uint64_t seconds;

	herd_run(herd, &count);
	seconds = count.ns / 1000000000u ? count.ns / 1000000000u : 1;
	printf("%llu seeds from %llu, %llu storms, %llu failed\n", (unsigned long long)count.seeds, (unsigned long long)herd->from,
	       (unsigned long long)count.storms, (unsigned long long)count.failed);
	printf("%llu ops and %llu cuts in %llu s: %llu ops a second\n", (unsigned long long)count.ops,
	       (unsigned long long)count.cuts, (unsigned long long)seconds, (unsigned long long)(count.ops / seconds));
	return count.failed != 0;
}

static int replay(const struct storm *storm)
{
	struct storm again = *storm;

	storm_run(&again);
	printf("ok\n");
	return 0;
}

static int shrink(struct storm *storm)
{
	char line[STORM_LINE];

	if (!herd_shrink(storm)) {
		printf("it does not fail\n");
		return 1;
	}
	storm_print(storm, line);
	printf("sim_random --replay %s\n", line);
	return 0;
}

int main(int argc, char **argv)
{
	struct herd herd = { .from = (uint64_t)time(NULL) * 1000, .seeds = 100, .jobs = 1 };
	struct storm storm;

	for (int i = 1; i < argc; i += 2) {
		bool one = !strcmp(argv[i], "--replay") || !strcmp(argv[i], "--shrink");

		if (i + 1 == argc || (one && !storm_parse(&storm, argv[i + 1])))
			return usage();
		if (one)
			return argv[i][2] == 'r' ? replay(&storm) : shrink(&storm);
		if (!strcmp(argv[i], "--seeds"))
			herd.seeds = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--minutes"))
			herd.seconds = 60 * strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--from"))
			herd.from = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--jobs"))
			herd.jobs = (unsigned)strtoul(argv[i + 1], NULL, 0);
		else
			return usage();
	}
	if (!herd.jobs || herd.jobs > HERD_JOBS)
		return usage();
	return fresh(&herd);
}
