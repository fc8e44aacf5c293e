/* SPDX-License-Identifier: BSD-2-Clause */
/* delays.c - the clock, and sleeps for a time. */
#include <linux/sched.h>

#include <errno.h>
#include <sched.h>
#include <time.h>

#define NS 1000000000ULL

uint64_t emu_kernel_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

void emu_kernel_sleep_ns(uint64_t ns)
{
	uint64_t end_ns = emu_kernel_ns() + ns;
	struct timespec end = { .tv_sec = (time_t)(end_ns / NS), .tv_nsec = (long)(end_ns % NS) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		;
}

void emu_kernel_spin_ns(uint64_t ns)
{
	uint64_t begin_ns = emu_kernel_ns();

	while (emu_kernel_ns() - begin_ns < ns)
		;
}

void emu_kernel_yield(void)
{
	sched_yield();
}
