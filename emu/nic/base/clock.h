/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h - time as the device sees it: handed in, so that a test can make it. */
#ifndef EMU_NIC_CLOCK_H
#define EMU_NIC_CLOCK_H

#include <stdint.h>

struct nic_clock {
	uint64_t (*now_ns)(void *arg); /* monotonic; never blocks; any thread */
	void *arg;
};

static inline uint64_t clock_now(const struct nic_clock *clock)
{
	return clock->now_ns(clock->arg);
}

#endif
