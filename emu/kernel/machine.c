/* SPDX-License-Identifier: BSD-2-Clause */
/* machine.c - what is asked of the system: random numbers, processors, nodes. */
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/numa.h>
#include <linux/random.h>
#include <errno.h>
#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

void get_random_bytes(void *buf, size_t len)
{
	char *at = buf;

	while (len) {
		ssize_t got = getrandom(at, len, 0);

		BUG_ON(got < 0 && errno != EINTR);
		if (got > 0) {
			at += got;
			len -= (size_t)got;
		}
	}
}

unsigned int num_online_cpus(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count < 1 ? 1 : count > NR_CPUS ? NR_CPUS : (unsigned int)count;
}

int numa_node_id(void)
{
	unsigned int cpu, node;

	return getcpu(&cpu, &node) ? 0 : (int)node;
}
