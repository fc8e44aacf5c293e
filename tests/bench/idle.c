/* SPDX-License-Identifier: BSD-2-Clause */
/* idle.c - the processor time of a process with 100 connections that does nothing: emu-idle [MILLISECONDS].
 *
 * Twice: it sleeps outside of libfabric, and it sleeps in fi_cq_sread(). All of its threads count. Prints a row each, in
 * percent of a core, as run.sh wants it. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rdma/fi_errno.h>

#include "many.h"

enum { CONNECTIONS = 100, DEFAULT_MS = 10000 };

static long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		err(1, "clock_gettime");
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void sleep_outside(struct side *side, int ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	(void)side;
	while (nanosleep(&pause, &pause))
		;
}

static void sleep_inside(struct side *side, int ms)
{
	struct fi_cq_tagged_entry entry;
	ssize_t rc = fi_cq_sread(side->cq, &entry, 1, NULL, ms);

	if (rc != -FI_EAGAIN)
		errx(1, "fi_cq_sread of an idle queue gave %zd", rc);
}

static void measure(struct side *side, int ms, void (*sleep_ms)(struct side *side, int ms), const char *where)
{
	long long used = clock_ns(CLOCK_PROCESS_CPUTIME_ID), since = clock_ns(CLOCK_MONOTONIC);

	sleep_ms(side, ms);
	used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
	printf("idle %s\t%d\temu\t%%\t%.4f\t\t\t\n", where, CONNECTIONS,
	       100. * (double)used / (double)(clock_ns(CLOCK_MONOTONIC) - since));
}

int main(int argc, char **argv)
{
	int ms = argc > 1 ? atoi(argv[1]) : DEFAULT_MS;
	struct peers peers;
	struct name name;
	struct fid_ep *ep;
	struct side side;
	pid_t pid;

	if (ms < 1)
		errx(2, "usage: emu-idle [MILLISECONDS]");
	raise_descriptors(CONNECTIONS);
	pid = peers_start(&peers, CONNECTIONS);
	side_open(&side, FI_WAIT_UNSPEC);
	ep = side_endpoint(&side, &name);
	peers_meet(&peers, &side, ep, &name);
	measure(&side, ms, sleep_outside, "asleep");
	measure(&side, ms, sleep_inside, "in sread");
	side_close(&side, ep);
	peers_stop(&peers, pid);
	return 0;
}
