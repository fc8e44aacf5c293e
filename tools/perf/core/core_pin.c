/* SPDX-License-Identifier: BSD-2-Clause */
/* core_pin.c - binds threads to cores. */
#include "tools/perf/core/core_pin.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

static cpu_set_t at_first;

static void look(void)
{
	if (sched_getaffinity(0, sizeof(at_first), &at_first))
		CPU_ZERO(&at_first);
}

static const cpu_set_t *cores(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look);
	return &at_first;
}

unsigned core_count(void)
{
	return (unsigned)CPU_COUNT(cores());
}

int core_pin(unsigned nth)
{
	cpu_set_t one;

	if (core_count() == 0)
		return -ENOSYS;
	nth %= core_count();
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cores()) || nth-- != 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one) ? -errno : 0;
	}
	return -ENOENT;
}
