/* SPDX-License-Identifier: BSD-2-Clause */
/* own.h - what the files of this folder share about the process's one NIC; after net_start(), any thread. */
#ifndef EMU_NET_OWN_H
#define EMU_NET_OWN_H

#include <stdint.h>
#include <time.h>

#include "emu/net/thread.h"

int net_data_fd(void);				/* the set of all data sockets */
int net_control_fd(void);			/* thread_control_fd() */
/* FI_EMU_PROGRESS=manual: a timer of CLOCK_MONOTONIC, which whoever goes to sleep sets to the device's next; else -1. */
int net_timer_fd(void);
const struct thread_stats *net_stats(void);	/* for tests, too */

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
