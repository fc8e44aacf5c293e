/* SPDX-License-Identifier: BSD-2-Clause */
/* conn_state.h - where a connection stands.
 *
 *             line is up             HELLOs (and proofs)
 *   DIALING ------------> GREETING ---------------------> OPEN
 *      |     (accepted: at once)                           |
 *      +----------------------+----------------------------+---> CLOSED, for good
 *
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_CONN_STATE_H
#define EMU_NIC_CONN_STATE_H

struct conn;

enum conn_state {
	CONN_DIALING,  /* waits for conn_up(); has a session */
	CONN_GREETING, /* waits for the peer's HELLO and proof; dialled: our HELLO is sent and there is a session */
	CONN_OPEN,     /* both HELLOs are through, and both proofs */
	CONN_CLOSED,   /* to be freed */
	CONN_STATES
};

/* The only writer of the state. */
void conn_enter(struct conn *conn, enum conn_state state);

#endif
