/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_ops.h - applies a fault plan (fault_plan.h) to the ops that this side posts (fault_post.c), and to requests of a session's
 * peer (fault_serve.c). To be called only where session->fault is not NULL, and out of the way of other sessions; where it is
 * &fault_watching, all this does is to trace and report the op. Thread: holder of the driver role. */
#ifndef EMU_NIC_FAULT_OPS_H
#define EMU_NIC_FAULT_OPS_H

#include "emu/nic/transport/conn.h"

/* The op, posted to the session, is numbered, and its faults are noted in it. */
__attribute__((cold, noinline)) void fault_post(struct session *session, struct op *op);
/* May it not leave yet? Then the session is looked at again when it may. */
__attribute__((cold, noinline)) bool fault_waits(struct session *session, const struct op *op);
/* The session is looked at again then. */
void fault_set_timer(struct session *session, uint64_t at_ns);
/* The op has ended, of a group perhaps. */
__attribute__((cold, noinline)) void fault_ended(struct op *op);
/* The op has ended: is it to be reported later? Then it is kept, and op_report() called in time. */
bool fault_late(struct op *op);
/* Those that are kept are not reported before then. */
void fault_late_stay(struct nic *nic, uint64_t until_ns);
/* A timer is due: reports the ops that are late enough, and asks for the next timer. False: no op was. */
bool fault_tick(struct nic *nic);
/* The endpoint closes: reports all of its ops that were kept. */
void fault_flush(struct ep *ep);

/* A request frame is taken: notes it in conn->in, as rules see it. False: it is dropped, to come again, perhaps by
 * another connection. */
bool fault_begin(struct conn *conn, const struct wire_head *head, enum op_kind kind);
/* Is the flawless request under way to be refused? Then *why gets the cause. */
bool fault_refuses(const struct session *session, struct refusal *why);
/* The request has been executed, or refused, and counts as seen. May close the connection. */
void fault_end(struct conn *conn);

#endif
