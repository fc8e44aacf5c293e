/* SPDX-License-Identifier: BSD-2-Clause */
/* completer.h - the end of every op: its completion or error, its counter, its memory.
 * Thread: holder of the driver role. The op or receive must be in no list any more and is gone after the call. */
#ifndef EMU_NIC_COMPLETER_H
#define EMU_NIC_COMPLETER_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/messages/rx_match.h"

struct session;

void complete_good(struct op *op);
/* The group's last op is through, or was before, and a fault plan has kept it back (fault_late()): one completion for all of them,
 * or, of a queue pair's, in its turn. */
void op_report(struct op *op);
/* Likewise, and untold. */
void op_discard(struct op *op);
/* `known` holds the target's description of its region, or NULL; the rest is filled from the op. */
void complete_refused(struct op *op, enum refusal_cause cause, const struct refusal *known) __attribute__((noinline, cold));
/* Likewise, of an unreliable endpoint, too: it fails for its program. */
void complete_failed(struct op *op, enum refusal_cause cause, const struct refusal *known) __attribute__((noinline, cold));
/* Likewise, but for its end: complete_good() then reports the refusal. */
void complete_note(struct op *op, enum refusal_cause cause, const struct refusal *known) __attribute__((noinline, cold));
/* A peer's write, read or atomic that was executed here. */
struct remote_done {
	bool atomic, fetched; /* fetched: a read, or an atomic that returned the old value */
	bool has_cq_data, solicited;
	bool event; /* told to the program, though no data came with it: EP_REGION_EVENTS */
	uint64_t length, cq_data;
	void *context; /* of the event: the region's */
	uint64_t auth; /* shown by the initiator */
};
void complete_remote(struct session *session, struct cq_node **slot, const struct remote_done *done);
/* Room for the completion of a request that is told of (CQ data, EP_REGION_EVENTS), which no op backs? Kept in the session's slot
 * until complete_remote(), however full the queue gets meanwhile. */
MUST_USE bool complete_reserve(struct session *session);
/* Is there room, as complete_reserve() sees it? A READ reserves by this and a slot of its own: several wait for their turn. */
bool complete_has_room(const struct session *session);

/* --- queue pairs: ops complete in the order of posts, and the first failure ends all (in_order.c) --- */

/* Posted behind all that is there. */
void in_order_begin(struct op *op);
/* It has ended: told, with those that waited for it, or waits for those before it. */
void in_order_end(struct op *op);
/* All that have not ended do so as cancelled. */
void in_order_cancel(struct ep *ep);

#endif
