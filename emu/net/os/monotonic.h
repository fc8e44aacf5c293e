/* SPDX-License-Identifier: BSD-2-Clause */
/* monotonic.h - the clock of all of emu/net. Any thread. */
#ifndef EMU_NET_MONOTONIC_H
#define EMU_NET_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
