/* SPDX-License-Identifier: BSD-2-Clause */
/* held.h - what was posted and waits for a counter: operations, receives, and changes of other counters.
 *
 * It is kept in the order of thresholds, and of posts where they are equal. When the counter is there, it goes into the
 * submit queue, as if it had been posted then.
 * Thread: any; the submit lock guards the list. A counter that something waits for is in use. */
#ifndef EMU_NIC_HELD_H
#define EMU_NIC_HELD_H

#include "emu/nic/nic.h"
#include "emu/nic/op_list.h"

struct rx;

struct held {
	struct held *next;
	struct when when;
	struct ep *ep;			/* whose operation or receive; else NULL */
	struct op_list ops;
	struct rx *rx;
	struct held_change change;	/* cntr NULL: none */
};

/* With the submit lock: a list entry for it. -EAGAIN: LIMIT_HELD wait already, or no memory. */
int  held_add(struct nic *nic, const struct held *what);
/* The counter has changed. Runs the device, if somebody else does not, when anything was waiting for that. */
void held_reached(struct nic *nic, struct cntr *cntr);
/* All of an endpoint, or of a receive context, goes into the submit queue, whatever its counter says. */
void held_release(struct nic *nic, const struct ep *ep, const struct srx *srx);
/* [role] Carries out the changes that have come into the submit queue. */
void held_changes(struct held *list);
/* [role] One with this context, of an endpoint's operations and receives, or of a receive context: it completes with
 * REFUSAL_CANCELLED. False: there is none. */
bool held_cancel(struct nic *nic, const struct ep *ep, const struct srx *srx, const void *context);

#endif
