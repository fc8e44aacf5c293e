/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_impl.h - where an endpoint stands towards its one peer, and what the rest of the device asks about that.
 * Thread: holder of the driver role, but for `gate`. */
#ifndef EMU_NIC_CM_IMPL_H
#define EMU_NIC_CM_IMPL_H

#include <stdatomic.h>

#include "emu/nic/cm.h"
#include "emu/nic/refusal.h"
#include "wire/frame.h"

struct conn;
struct op;
struct session;

enum cm_state {
	CM_IDLE,	/* nobody knows of it; receives may be posted. A passive endpoint stays here */
	CM_ASKING,	/* CONNECT is to be sent, or waits for its answer */
	CM_ACCEPTING,	/* ACCEPT is on its way: the peer may send, this side not yet */
	CM_UP,
	CM_DOWN,	/* for good */
	CM_STATES
};

struct cm {
	enum cm_state state;
	atomic_int gate;		/* what posts of ops are answered: 0 when up, else a negative errno. Written by the role */
	struct session *asked;		/* ASKING: with the passive endpoint */
	struct session *peer;		/* from ACCEPTING or UP on */
	uint64_t request;
	uint64_t until_ns;		/* ASKING, and the passive endpoint is gone: so long ACCEPT may still come. Else 0 */
};

void cm_init(struct ep *ep);
/* The only writer of the state. */
void cm_enter(struct ep *ep, enum cm_state state);
/* Tells the owner; not of an endpoint that is being closed. */
bool cm_tell(struct ep *ep, const struct cm_event *event);
/* There will be no connection: down, with an event. */
void cm_fail(struct ep *ep, int err, const void *data, size_t length);
/* Says BYE to this one peer, and ends the session with it. */
void cm_leave(struct session *session);
/* May this address have a session here? Asked of every HELLO. */
bool cm_admits(const struct ep *ep, const struct sockaddr_storage *peer);
/* What the peer of this session may ask of the endpoint, enum ep_cap. */
uint32_t cm_caps(const struct session *session);
/* Is this session dialled again although nothing waits for it? */
bool cm_holds(const struct session *session);
/* Where ops posted here go; NULL and *cause: nowhere. */
struct session *cm_session(struct ep *ep, enum refusal_cause *cause);
/* Will nothing be received any more? */
bool cm_over(const struct ep *ep);
/* Gives back all receives that are posted; not those of a shared context, which others may take. */
void cm_flush_receives(struct ep *ep);
/* CONNECT, ACCEPT or REJECT is resolved: refused, if op->why says so. */
void cm_resolved(struct op *op);
/* The session has ended. */
void cm_ended(struct session *session, enum refusal_cause cause);
/* A timer of the session's; when it is due next, UINT64_MAX: none. */
uint64_t cm_tick(struct session *session, uint64_t now_ns);

/* CONNECT, ACCEPT, REJECT from a peer, as in responder.h. */
const char *cm_take(struct conn *conn, const struct wire_head *head);
const char *cm_end(struct conn *conn, enum wire_status status);

#endif
