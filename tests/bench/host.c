/* SPDX-License-Identifier: BSD-2-Clause */
/* host.c - clock, cores, shared page and control socket of the bench. */
#include "host.h"

#include <err.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOKS_A_YIELD = 100, LOOKS_A_CLOCK = 1000, SETTLE_TRIES = 50 };

bool patience_left(struct patience *p)
{
	p->looks++;
	if (p->looks % LOOKS_A_YIELD == 0)
		sched_yield();
	return p->looks % LOOKS_A_CLOCK != 0 || now_ns() < p->deadline_ns;
}

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

static const cpu_set_t *cores(void)
{
	static cpu_set_t set;

	if (CPU_COUNT(&set) == 0 && sched_getaffinity(0, sizeof(set), &set))
		err(1, "sched_getaffinity");
	return &set;
}

unsigned host_cores(void)
{
	return (unsigned)CPU_COUNT(cores());
}

void host_pin(unsigned nth)
{
	cpu_set_t one;

	nth %= host_cores();
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cores()) || nth-- != 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			err(1, "sched_setaffinity");
		return;
	}
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

uint64_t pattern_word(uint64_t seed, uint64_t nth)
{
	uint64_t x = seed + (nth + 1) * 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

void pattern_fill(void *buf, size_t size, uint64_t seed)
{
	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		uint64_t word = pattern_word(seed, at / sizeof(word));

		memcpy((uint8_t *)buf + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
	}
}
