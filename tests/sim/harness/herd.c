/* SPDX-License-Identifier: BSD-2-Clause */
/* herd.c - many storms, in processes of their own. */
#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/harness/herd.h"

enum { SECONDS_EACH = 120 }; /* a hang guard */

/* One process's part of the work, told as it goes on, in memory that is shared with it. */
struct part {
	struct storm storm;         /* under way: storm_run() tells what there was */
	uint64_t at;                /* its number: seed after seed, and of each every kind */
	uint64_t storms, ops, cuts; /* that ended well, and what they had */
};

static void *shared(size_t length)
{
	void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert(memory != MAP_FAILED);
	return memory;
}

/* Storms take and free large pieces all the time: not from the kernel each time. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 16 << 20);
}

static void storm_apart(struct storm *storm)
{
	alarm(SECONDS_EACH);
	storm_run(storm);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The number of a part's next storm: the jobs take turns by seeds. */
static uint64_t next_at(const struct herd *herd, uint64_t at)
{
	return (at + 1) % STORM_KINDS ? at + 1 : at + 1 + (herd->jobs - 1) * (uint64_t)STORM_KINDS;
}

static bool goes_on(const struct herd *herd, uint64_t begin_ns, uint64_t at)
{
	if (!herd->seconds)
		return at / STORM_KINDS < herd->seeds;
	return at % STORM_KINDS || now_ns() - begin_ns < herd->seconds * 1000000000u;
}

/* From storm number `at` on, in one process, since new memory costs more than the storms do, until one fails. */
static pid_t begin(const struct herd *herd, struct part *part, uint64_t begin_ns, uint64_t at)
{
	pid_t child;

	part->at = at;
	fflush(NULL);
	child = fork();
	assert(child >= 0);
	if (child)
		return child;
	keep_memory();
	for (; goes_on(herd, begin_ns, at); at = next_at(herd, at)) {
		part->at = at;
		storm_init(&part->storm, (enum storm_kind)(at % STORM_KINDS), herd->from + at / STORM_KINDS);
		storm_apart(&part->storm);
		part->storms++;
		part->ops += part->storm.ops;
		part->cuts += part->storm.cuts;
	}
	_exit(0);
}

static void tell_failed(const struct part *part, struct herd_count *count)
{
	char line[STORM_LINE];

	storm_print(&part->storm, line);
	printf("not ok sim_random --replay %s\n", line);
	count->storms++;
	count->failed++;
}

void herd_run(const struct herd *herd, struct herd_count *count)
{
	struct part *parts = shared(herd->jobs * sizeof(*parts));
	uint64_t begin_ns = now_ns();
	unsigned left = herd->jobs;
	pid_t pids[HERD_JOBS];

	*count = (struct herd_count){ 0 };
	for (unsigned i = 0; i < herd->jobs; i++)
		pids[i] = begin(herd, &parts[i], begin_ns, i * (uint64_t)STORM_KINDS);
	while (left) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, 0);
		unsigned i = 0;

		while (i < herd->jobs && pids[i] != pid)
			i++;
		if (i == herd->jobs)
			continue;
		left -= !status;
		if (!status)
			continue;
		tell_failed(&parts[i], count);
		pids[i] = begin(herd, &parts[i], begin_ns, next_at(herd, parts[i].at));
	}
	for (unsigned i = 0; i < herd->jobs; i++) {
		count->storms += parts[i].storms;
		count->ops += parts[i].ops;
		count->cuts += parts[i].cuts;
	}
	count->seeds = count->storms / STORM_KINDS;
	count->ns = now_ns() - begin_ns;
	munmap(parts, herd->jobs * sizeof(*parts));
}

/* How it ends: as waitpid() says it. Silent, since a hundred that fail would tell nothing. */
static int try(struct storm *storm)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert(child >= 0);
	if (!child) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		keep_memory();
		storm_apart(storm);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

/* Lowers one bound as far as it still fails in the same way: by half of what is left, then by less and less. */
static bool lower(struct storm *storm, enum storm_bound bound, int status)
{
	uint64_t least = storm_least(bound), step = storm->most[bound] - least;
	bool lower = false;

	while (step) {
		struct storm smaller = *storm;

		if (smaller.most[bound] - least < step) {
			step /= 2;
			continue;
		}
		smaller.most[bound] -= step;
		if (try(&smaller) != status) {
			step /= 2;
			continue;
		}
		storm->most[bound] = smaller.most[bound];
		lower = true;
	}
	return lower;
}

bool herd_shrink(struct storm *storm)
{
	struct storm *first = shared(sizeof(*first));
	int status;
	bool lower_one;

	*first = *storm;
	status = try(first);
	/* The drawn numbers hold nothing down. */
	for (int i = 0; i < STORM_BOUNDS; i++)
		storm->most[i] = first->drawn[i] > storm_least((enum storm_bound)i) ? first->drawn[i]
										    : storm_least((enum storm_bound)i);
	munmap(first, sizeof(*first));
	if (!status)
		return false;
	do {
		lower_one = false;
		for (int i = 0; i < STORM_BOUNDS; i++)
			lower_one |= lower(storm, (enum storm_bound)i, status);
	} while (lower_one);
	return true;
}
