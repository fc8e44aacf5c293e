/* SPDX-License-Identifier: BSD-2-Clause */
/* frames.h - what each frame does, and where each payload goes: the table from wire ops to the halves of a session.
 * Thread: holder of the driver role. Functions return NULL, or what breaks the protocol. */
#ifndef EMU_NIC_FRAMES_H
#define EMU_NIC_FRAMES_H

#include "emu/nic/conn.h"

/* Head and body are here; sets conn->in for the payload. Without payload the frame is executed. */
const char *frames_begin(struct conn *conn, const struct wire_head *head);
/* Payload that lies in the scratch buffer. */
void frames_payload(struct conn *conn, const uint8_t *bytes, uint32_t length);
/* Payload and trailer are through: executes the frame. */
const char *frames_end(struct conn *conn, enum wire_status status);

#endif
