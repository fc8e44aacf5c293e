/* SPDX-License-Identifier: BSD-2-Clause */
/* jiffies.h - ticks since the system's start.
 * HZ is 250, so that code that takes a jiffy for a millisecond is seen. */
#ifndef EMU_KERNEL_LINUX_JIFFIES_H
#define EMU_KERNEL_LINUX_JIFFIES_H

#include <emu_kernel.h>
#include <linux/types.h>

#undef HZ
#define HZ 250
#define EMU_KERNEL_JIFFY_NS (1000000000ULL / HZ)
#define MAX_JIFFY_OFFSET ((unsigned long)(INT64_MAX >> 1) - 1)

#define jiffies ((unsigned long)(emu_kernel_ns() / EMU_KERNEL_JIFFY_NS))
#define get_jiffies_64() ((u64)jiffies)

#define time_after(a, b) ((long)((unsigned long)(b) - (unsigned long)(a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((unsigned long)(a) - (unsigned long)(b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_is_before_jiffies(a) time_after(jiffies, a)
#define time_is_after_jiffies(a) time_before(jiffies, a)

/* Both round up. */
static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return ((unsigned long)ms * HZ + 999) / 1000;
}

static inline unsigned long usecs_to_jiffies(unsigned int us)
{
	return ((unsigned long)us * HZ + 999999) / 1000000;
}

static inline unsigned int jiffies_to_msecs(unsigned long j)
{
	return (unsigned int)(j * (1000 / HZ));
}

static inline unsigned int jiffies_to_usecs(unsigned long j)
{
	return (unsigned int)(j * (1000000 / HZ));
}

#endif
