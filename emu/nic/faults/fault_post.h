/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_post.h - applies a fault plan to the ops that this side posts. To be called only
 * where session->fault is not NULL, and out of the way of other sessions; where it is &fault_watching, all this does is to
 * trace the op. Thread: holder of the driver role. */
#ifndef EMU_NIC_FAULT_POST_H
#define EMU_NIC_FAULT_POST_H

#include "emu/nic/base/likely.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/transport/session.h"

/* The op, posted to the session, is numbered, and its faults are noted in it. */
__attribute__((cold, noinline)) void fault_post(struct session *session, struct op *op);
/* May it not leave yet? Then the session is looked at again when it may. */
__attribute__((cold, noinline)) bool fault_waits(struct session *session, const struct op *op);

/* session_fill(), no faster than the plan lets the line be. */
__attribute__((cold, noinline)) bool fault_fill(struct session *session, struct conn *conn);
/* The op has ended, of a group perhaps. */
__attribute__((cold, noinline)) void fault_ended(struct op *op);
/* The op has ended: is it to be reported later? Then it is kept, and complete_late() called in time. */
bool fault_late(struct op *op);
/* A timer is due: reports the ops that are late enough, and asks for the next timer. False: no op was. */
bool fault_tick(struct nic *nic);
/* The endpoint closes: reports all of its ops that were kept. */
void fault_flush(struct ep *ep);

/* A plan sees acknowledgements as frames, and nothing goes beside the stream. */
static inline bool fault_bars_notes(const struct session *session)
{
	return unlikely(session->fault != NULL) && session->fault != &fault_watching;
}

#endif
