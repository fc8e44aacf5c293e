/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_wait.h - members that are waited for long. Each is told once that it is: one that has left the group, or leaves it before
 * that call, then ends the call for all. No schedule has a message from each member to each other, so one that left may hear of
 * no call by itself.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_COLL_WAIT_H
#define EMU_NIC_COLL_WAIT_H

#include <stdint.h>

struct nic;

/* A receive of a collective begins to wait, and no look is due. */
void coll_look_later(struct nic *nic);
/* Timers; returns when the next look is due, UINT64_MAX: nothing waits that has not told so. */
uint64_t coll_look(struct nic *nic);

#endif
