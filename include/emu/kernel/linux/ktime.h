/* SPDX-License-Identifier: BSD-2-Clause */
/* ktime.h - times in nanoseconds. */
#ifndef EMU_KERNEL_LINUX_KTIME_H
#define EMU_KERNEL_LINUX_KTIME_H

#include <emu_kernel.h>
#include <linux/types.h>
#include <time.h>

typedef s64 ktime_t;

#define NSEC_PER_SEC 1000000000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_USEC 1000L
#define USEC_PER_SEC 1000000L
#define USEC_PER_MSEC 1000L
#define MSEC_PER_SEC 1000L

static inline ktime_t ktime_get(void)
{
	return (ktime_t)emu_kernel_ns();
}

static inline u64 ktime_get_ns(void)
{
	return emu_kernel_ns();
}

static inline ktime_t ktime_get_real(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

#define ktime_get_seconds() ((time_t)(ktime_get() / NSEC_PER_SEC))
#define ktime_get_real_seconds() ((time_t)(ktime_get_real() / NSEC_PER_SEC))
#define ktime_set(seconds, ns) ((ktime_t)(seconds)*NSEC_PER_SEC + (ktime_t)(ns))
#define ktime_add(a, b) ((ktime_t)((a) + (b)))
#define ktime_sub(a, b) ((ktime_t)((a) - (b)))
#define ktime_add_ns(a, ns) ((ktime_t)((a) + (s64)(ns)))
#define ktime_add_us(a, us) ktime_add_ns(a, (s64)(us)*NSEC_PER_USEC)
#define ktime_add_ms(a, ms) ktime_add_ns(a, (s64)(ms)*NSEC_PER_MSEC)
#define ktime_to_ns(t) ((s64)(t))
#define ktime_to_us(t) ((s64)(t) / NSEC_PER_USEC)
#define ktime_to_ms(t) ((s64)(t) / NSEC_PER_MSEC)
#define ns_to_ktime(ns) ((ktime_t)(ns))
#define ms_to_ktime(ms) ((ktime_t)(ms)*NSEC_PER_MSEC)
#define ktime_us_delta(later, earlier) ktime_to_us(ktime_sub(later, earlier))
#define ktime_ms_delta(later, earlier) ktime_to_ms(ktime_sub(later, earlier))
#define ktime_compare(a, b) ((a) < (b) ? -1 : (a) > (b))
#define ktime_after(a, b) ((a) > (b))
#define ktime_before(a, b) ((a) < (b))

#endif
