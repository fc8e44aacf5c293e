/* SPDX-License-Identifier: BSD-2-Clause */
/* hello.h - the greeting of a connection: who is there, which session, where it goes on, which connection stays.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_HELLO_H
#define EMU_NIC_HELLO_H

#include "emu/nic/conn.h"

/* Writes our HELLO into the connection's queue. */
void hello_send(struct conn *conn);
/* The peer's HELLO is here: the connection opens, or is closed with a BYE that says why not. */
void hello_received(struct conn *conn, const struct wire_head *head);

#endif
