/* SPDX-License-Identifier: BSD-2-Clause */
/* deferred.h - deferred ops: operations, receives, and changes of other counters that were posted and wait for a counter.
 *
 * It is kept in the order of thresholds, and of posts where they are equal. When the counter is there, it goes into the
 * submit queue, as if it had been posted then.
 * Thread: any; the submit lock guards the list. A counter that something waits for is in use. */
#ifndef EMU_NIC_DEFERRED_H
#define EMU_NIC_DEFERRED_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/ops/op_list.h"

struct rx;

struct deferred {
	struct deferred *next;
	struct trigger when;
	struct ep *ep; /* whose operation or receive; else NULL */
	struct op_list ops;
	struct rx *rx;
	struct deferred_change change; /* cntr NULL: none */
};

/* With the submit lock: a list entry for it. -EAGAIN: LIMIT_DEFERRED wait already, or no memory. */
MUST_USE int deferred_add(struct nic *nic, const struct deferred *what);
/* The counter has changed. Runs the device, unless another thread does, when a deferred op was waiting for that. */
void deferred_reached(struct nic *nic, struct cntr *cntr);
/* All of an endpoint, or of a receive context, goes into the submit queue, whatever its counter says. */
void deferred_release(struct nic *nic, const struct ep *ep, const struct srx *srx);
/* [role] Carries out the changes that have come into the submit queue. */
void deferred_changes(struct deferred *list);
/* [role] One with this context, of an endpoint's operations and receives, or of a receive context: it completes with
 * REFUSAL_CANCELLED. False: there is none. */
bool deferred_cancel(struct nic *nic, const struct ep *ep, const struct srx *srx, const void *context);
/* [role] All that name this region (named.h) complete with REFUSAL_LOCAL_CLOSED. */
void deferred_recall(struct nic *nic, uint64_t desc);

#endif
