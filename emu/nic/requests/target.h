/* SPDX-License-Identifier: BSD-2-Clause */
/* target.h - the peer's requests, a file for each kind: target_write.c, target_read.c, target_send.c, target_atomic.c; target_cm.c
 * stands in endpoint.
 *
 * _take() has head and body, and sets conn->in for the payload; _end() follows when the payload is complete, also if there is
 * none. Thread: holder of the driver role. NULL, or the breach of the protocol, for log and BYE. */
#ifndef EMU_NIC_TARGET_H
#define EMU_NIC_TARGET_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/conn.h"

/* The first segment judges the whole message. */
MUST_USE const char *target_write_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_write_end(struct conn *conn, enum wire_status status);
/* The message under way may never be completed: a region of single use is free for others, until its next segment. */
void target_write_pause(struct session *session);
/* It will not be completed: the initiator has ended it, or its session. */
void target_write_abandon(struct session *session);

/* Answered by read_response.c. */
MUST_USE const char *target_read_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_read_end(struct conn *conn, enum wire_status status);

MUST_USE const char *target_taken_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_taken_end(struct conn *conn, enum wire_status status);

/* SEND and RTS; the rest of their way is message.c. */
MUST_USE const char *target_send_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_send_end(struct conn *conn, enum wire_status status);

/* Judged and executed when the whole frame is here, so that one that is cut has done nothing and one that was executed is never
 * executed again (WIRE-51). */
MUST_USE const char *target_atomic_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_atomic_end(struct conn *conn, enum wire_status status);

/* CONNECT, ACCEPT and REJECT. */
MUST_USE const char *target_cm_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_cm_end(struct conn *conn, enum wire_status status);

#endif
