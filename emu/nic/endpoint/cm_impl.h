/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_impl.h - where an endpoint stands towards its one peer, and the questions of the rest of the device about that.
 * Thread: holder of the driver role, but for `gate`. */
#ifndef EMU_NIC_CM_IMPL_H
#define EMU_NIC_CM_IMPL_H

#include <stdatomic.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/endpoint/cm.h"
#include "emu/nic/endpoint/cm_state.h"
#include "emu/nic/regions/refusal.h"
#include "wire/frame.h"

struct conn;
struct op;
struct session;

struct cm {
	enum cm_state state;
	atomic_int gate;       /* result of posts of ops: 0 when up, else a negative errno. Written under the role */
	struct session *asked; /* ASKING: with the passive endpoint */
	struct session *peer;  /* from ACCEPTING or UP on */
	uint64_t request;
	uint64_t until_ns; /* ASKING, and the passive endpoint is gone: so long ACCEPT may still come. Else 0 */
};

void cm_init(struct ep *ep);
/* Tells the owner; not of an endpoint that is being closed. */
bool cm_tell(struct ep *ep, const struct cm_event *event);
/* There will be no connection: down, with an event. */
void cm_fail(struct ep *ep, int err, const void *data, size_t length);
/* Says BYE to this one peer, and ends the session with it. */
void cm_leave(struct session *session);
/* May this address have a session here? Asked of every HELLO. */
bool cm_admits(const struct ep *ep, const struct sockaddr_storage *peer);
/* The capabilities that the peer of this session may use here, enum ep_cap. */
uint32_t cm_caps(const struct session *session);
/* Is this session dialled again although nothing waits for it? */
bool cm_holds(const struct session *session);
/* The session for ops posted here; NULL and *cause: none. */
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

#endif
