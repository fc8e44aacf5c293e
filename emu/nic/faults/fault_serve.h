/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_serve.h - applies a fault plan to requests of a session's peer. To be called only with a plan
 * (session->fault is not NULL). Thread: holder of the driver role. */
#ifndef EMU_NIC_FAULT_SERVE_H
#define EMU_NIC_FAULT_SERVE_H

#include "emu/nic/transport/conn.h"

/* A request frame is taken: notes it in conn->in, as rules see it. False: it is dropped, to come again, perhaps by
 * another connection. */
bool fault_begin(struct conn *conn, const struct wire_head *head, enum op_kind kind);
/* Is the flawless request under way to be refused? Then *why gets the cause. */
bool fault_refuses(const struct session *session, struct refusal *why);
/* The request has been executed, or refused, and counts as seen. May close the connection. */
void fault_end(struct conn *conn);

#endif
