/* SPDX-License-Identifier: BSD-2-Clause */
/* host.c - cores, shared page and control socket of the bench. */
#include "host.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/perf/core/core_pin.h"

enum { SETTLE_TRIES = 50 };

void host_pair(struct host ends[2])
{
	int socks[2];
	struct shared *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		err(1, "shared page");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		err(1, "control socket");
	for (int i = 0; i < 2; i++)
		ends[i] = (struct host){ .shared = page, .control = socks[i] };
}

unsigned host_cores(void)
{
	if (core_count() == 0)
		err(1, "sched_getaffinity");
	return core_count();
}

void host_pin(unsigned nth)
{
	int rc = core_pin(nth);

	if (rc)
		errx(1, "sched_setaffinity: %s", strerror(-rc));
}

uint64_t host_waited_ns(long thread)
{
	unsigned long long waited = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", thread);
	file = fopen(path, "r");
	if (file && fscanf(file, "%*u %llu", &waited) != 1)
		waited = 0;
	if (file)
		fclose(file);
	return waited;
}

bool host_counts_waits(void)
{
	return access("/proc/self/schedstat", R_OK) == 0;
}

static uint64_t cpu_used_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void host_settle(void)
{
	const struct timespec pause = { .tv_nsec = (long)MSEC };

	for (int i = 0; i < SETTLE_TRIES; i++) {
		uint64_t before = cpu_used_ns();

		nanosleep(&pause, NULL);
		if (cpu_used_ns() - before < MSEC / 10)
			return;
	}
}

bool control_send(const struct host *host, const void *msg, size_t size)
{
	return send(host->control, msg, size, MSG_NOSIGNAL) == (ssize_t)size;
}

bool control_receive(const struct host *host, void *msg, size_t size)
{
	ssize_t n;

	do
		n = read(host->control, msg, size);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}
