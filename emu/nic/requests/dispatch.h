/* SPDX-License-Identifier: BSD-2-Clause */
/* dispatch.h - the effect of each frame, and the place of each payload: the table from wire ops to the halves of a session.
 * Thread: holder of the driver role. Functions return NULL, or the breach of the protocol. */
#ifndef EMU_NIC_DISPATCH_H
#define EMU_NIC_DISPATCH_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/conn.h"

/* Head and body are here; sets conn->in for the payload. Without payload the frame is executed. */
MUST_USE const char *dispatch_begin(struct conn *conn, const struct wire_head *head);
/* Payload that lies in the scratch buffer. */
void dispatch_payload(struct conn *conn, const uint8_t *bytes, uint32_t length);
/* Payload and trailer are through: executes the frame. */
MUST_USE const char *dispatch_end(struct conn *conn, enum wire_status status);

#endif
