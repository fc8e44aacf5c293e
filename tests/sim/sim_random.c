/* SPDX-License-Identifier: BSD-2-Clause */
/* sim_random.c - runs worlds of fresh seeds, each in a process of its own, and names those that fail:
 *   sim_random [--seeds N] [--from S]	(default: 100 seeds, from the time of day) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/storm.h"

enum { SECONDS_EACH = 120 };	/* a hang guard */

static int run_apart(uint64_t seed)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		alarm(SECONDS_EACH);
		storm_run(seed);
		storm_run_durably(seed);
		storm_run_lives(seed);
		storm_run_atomics(seed);
		storm_run_tagged(seed);
		storm_run_proved(seed);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return status;
}

int main(int argc, char **argv)
{
	uint64_t from = (uint64_t)time(NULL) * 1000, count = 100, failed = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seeds"))
			count = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--from"))
			from = strtoull(argv[i + 1], NULL, 0);
	}
	for (uint64_t seed = from; seed < from + count; seed++) {
		if (run_apart(seed) == 0)
			continue;
		printf("not ok seed %llu\n", (unsigned long long)seed);
		failed++;
	}
	printf("%llu seeds from %llu, %llu failed\n", (unsigned long long)count, (unsigned long long)from,
	       (unsigned long long)failed);
	return failed != 0;
}
