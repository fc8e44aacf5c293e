/* SPDX-License-Identifier: BSD-2-Clause */
/* session_state.h - where a session stands, and how well its peer is known. Two machines, as any state of one goes with any of the
 * other: a session whose peer is known may wait for its next connection, and be idle.
 *
 *           wanted             both HELLOs
 *   IDLE ------------> DIALING ------------> OPEN        The peer's dial opens a session that is IDLE or waits, too.
 *    ^ |                 ^                    |          From each state a cut or an end leads to IDLE.
 *    | | cut, and busy   | time is up         |
 *    | +---------> BACKOFF                    |
 *    +---------------- cut, ended ------------+
 *
 *                our HELLO sent         the peer's HELLO taken
 *   STRANGER ------------------> GREETED ------------------> KNOWN        An end leads from each state to STRANGER.
 *      +-------------------------------------------------------^
 *
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_SESSION_STATE_H
#define EMU_NIC_SESSION_STATE_H

struct session;

enum session_state {
	SESSION_IDLE,    /* no connection, none wanted; answers to the peer wait for its dial */
	SESSION_DIALING, /* conn is being dialled, or both HELLOs are not through yet */
	SESSION_OPEN,    /* conn carries requests */
	SESSION_BACKOFF, /* no connection; dials again at retry_ns */
	SESSION_STATES
};

enum session_peer {
	PEER_STRANGER, /* instance, id and epoch are not valid, or are this side's offer */
	PEER_GREETED,  /* likewise, and a dial of ours has said HELLO */
	PEER_KNOWN,    /* they are valid */
	PEER_STATES
};

/* The only writers of the two states. Entering the present state is no change, and is not logged. */
void session_enter(struct session *session, enum session_state state);
void session_meet(struct session *session, enum session_peer peer);

#endif
