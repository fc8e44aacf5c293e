/* SPDX-License-Identifier: BSD-2-Clause */
/* net_internal.h - the process's one NIC for emu/net alone; after net_start(), any thread. */
#ifndef EMU_NET_NET_INTERNAL_H
#define EMU_NET_NET_INTERNAL_H

#include "emu/net/thread/thread.h"

int net_data_fd(void);    /* the set of all data sockets */
int net_control_fd(void); /* thread_control_fd() */
/* FI_EMU_PROGRESS=manual: a timer of CLOCK_MONOTONIC, which a thread sets to the device's next before it sleeps; else -1. */
int net_timer_fd(void);
const struct thread_stats *net_stats(void); /* for tests, too */

#endif
