/* SPDX-License-Identifier: BSD-2-Clause */
/* cpumask.h - sets of processors, and the processors that this process may use. */
#ifndef EMU_KERNEL_LINUX_CPUMASK_H
#define EMU_KERNEL_LINUX_CPUMASK_H

#include <linux/kernel.h>
#include <linux/types.h>

#define NR_CPUS 1024

typedef struct cpumask {
	unsigned long bits[NR_CPUS / 64];
} cpumask_t;

unsigned int num_online_cpus(void); /* of sysconf(3) */
#define num_possible_cpus() num_online_cpus()
#define num_present_cpus() num_online_cpus()
#define nr_cpu_ids num_online_cpus()

/* Numbers from 0 on, as if none were missing. */
#define for_each_online_cpu(cpu) for ((cpu) = 0; (unsigned int)(cpu) < num_online_cpus(); (cpu)++)
#define for_each_possible_cpu(cpu) for_each_online_cpu(cpu)
#define for_each_present_cpu(cpu) for_each_online_cpu(cpu)
#define cpu_online(cpu) ((unsigned int)(cpu) < num_online_cpus())

static inline void cpumask_clear(struct cpumask *mask)
{
	*mask = (struct cpumask){ { 0 } };
}

static inline void cpumask_set_cpu(unsigned int cpu, struct cpumask *mask)
{
	mask->bits[cpu / 64] |= 1UL << cpu % 64;
}

static inline void cpumask_clear_cpu(unsigned int cpu, struct cpumask *mask)
{
	mask->bits[cpu / 64] &= ~(1UL << cpu % 64);
}

static inline bool cpumask_test_cpu(unsigned int cpu, const struct cpumask *mask)
{
	return mask->bits[cpu / 64] >> cpu % 64 & 1;
}

static inline void cpumask_copy(struct cpumask *to, const struct cpumask *from)
{
	*to = *from;
}

static inline unsigned int cpumask_weight(const struct cpumask *mask)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < NR_CPUS / 64; i++)
		count += (unsigned int)__builtin_popcountl(mask->bits[i]);
	return count;
}

/* The next behind `cpu`, or NR_CPUS. */
static inline unsigned int cpumask_next(int cpu, const struct cpumask *mask)
{
	unsigned int at = (unsigned int)(cpu + 1);

	while (at < NR_CPUS && !cpumask_test_cpu(at, mask))
		at++;
	return at;
}

#define cpumask_first(mask) cpumask_next(-1, mask)
#define cpumask_empty(mask) (cpumask_first(mask) == NR_CPUS)
#define for_each_cpu(cpu, mask) \
	for ((cpu) = cpumask_first(mask); (unsigned int)(cpu) < NR_CPUS; (cpu) = cpumask_next((int)(cpu), mask))

#endif
