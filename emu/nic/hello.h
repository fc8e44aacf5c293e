/* SPDX-License-Identifier: BSD-2-Clause */
/* hello.h - the greeting of a connection: who is there, which session, where it goes on, which connection stays.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_HELLO_H
#define EMU_NIC_HELLO_H

#include "emu/nic/conn.h"

/* Writes our HELLO into the connection's queue, and what goes with it (proof.h). */
void hello_send(struct conn *conn);
/* The peer's HELLO, CHALLENGE or PROOF is here. With the last of them the connection opens, or is closed with a BYE that
 * says why not. Returns what is wrong with the frame where it stands, or NULL. */
const char *hello_received(struct conn *conn, const struct wire_head *head);

#endif
