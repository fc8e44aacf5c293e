/* SPDX-License-Identifier: BSD-2-Clause */
/* hello.h - the greeting of a connection: which endpoint, which session, where it goes on, which connection stays.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_HELLO_H
#define EMU_NIC_HELLO_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/conn.h"

/* Writes our HELLO into the connection's queue, and the frames of the proof (proof.h). */
void hello_send(struct conn *conn);
/* The peer's HELLO, CHALLENGE or PROOF is here. With the last of them the connection opens, or is closed with a BYE that
 * says why not. Returns NULL, or the frame's flaw in its place of the greeting. */
MUST_USE const char *hello_received(struct conn *conn, const struct wire_head *head);

#endif
