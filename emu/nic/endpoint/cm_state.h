/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_state.h - where a connection-oriented endpoint stands towards its one peer.
 *
 *          ep_connect()             ACCEPT came
 *   IDLE ---------------> ASKING ----------------> UP
 *    | +----------------> ACCEPTING ---------------^|
 *    |     ep_accept()        |     ACCEPT arrived  |
 *    +------------------------+---------------------+---> DOWN, for good
 *
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_CM_STATE_H
#define EMU_NIC_CM_STATE_H

struct ep;

enum cm_state {
	CM_IDLE,      /* no peer knows of it; receives may be posted. A passive endpoint stays here */
	CM_ASKING,    /* CONNECT is to be sent, or waits for its answer */
	CM_ACCEPTING, /* ACCEPT is on its way: the peer may send, this side not yet */
	CM_UP,
	CM_DOWN, /* for good */
	CM_STATES
};

/* The only writer of the state. */
void cm_enter(struct ep *ep, enum cm_state state);

#endif
