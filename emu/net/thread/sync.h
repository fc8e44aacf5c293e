/* SPDX-License-Identifier: BSD-2-Clause */
/* sync.h - flush.h on the worker thread: msync of the touched pages. worker_start() before the first persistent region
 * is registered. Thread: as flush.h says. */
#ifndef EMU_NET_SYNC_H
#define EMU_NET_SYNC_H

#include "emu/nic/regions/flush.h"

extern const struct flush_ops sync_ops; /* no argument: of the process's one NIC */
void sync_forked(void);                 /* in a fork's child: none is gathered */

#endif
