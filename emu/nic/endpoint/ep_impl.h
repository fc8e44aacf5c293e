/* SPDX-License-Identifier: BSD-2-Clause */
/* ep_impl.h - what the files of this room share of an endpoint: its sessions and contexts (ep.c), its connection to the one peer
 * (cm.c), its datagrams (dgram.c). Thread: holder of the driver role. */
#ifndef EMU_NIC_EP_IMPL_H
#define EMU_NIC_EP_IMPL_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/endpoint/cm.h"
#include "emu/nic/regions/refusal.h"

/* No peer finds it any more: no new connection, no datagram. */
void ep_stop_listening(struct ep *ep);
/* The session for an AV index, or with the one peer; NULL and *cause if there is none. */
struct session *ep_session(struct ep *ep, uint64_t dest, enum refusal_cause *cause);
/* A local region is closed: whatever names it by its descriptor (named.h) and has not completed does so now, with
 * REFUSAL_LOCAL_CLOSED, and touches no byte any more (withdraw.c). */
void recall_region(struct nic *nic, uint64_t desc);

/* --- connection-oriented (cm.c) --- */

void cm_init(struct ep *ep);
/* The only writer of the state (cm_state.c). */
void cm_enter(struct ep *ep, enum cm_state state);
/* Tells the owner; not of an endpoint that is being closed. */
bool cm_tell(struct ep *ep, const struct cm_event *event);
/* There will be no connection: down, with an event. */
void cm_fail(struct ep *ep, int err, const void *data, size_t length);
/* Says BYE to this one peer, and ends the session with it. */
void cm_leave(struct session *session);
/* The session for ops posted here; NULL and *cause: none. */
struct session *cm_session(struct ep *ep, enum refusal_cause *cause);
/* Will nothing be received any more? */
bool cm_over(const struct ep *ep);
/* Gives back all receives that are posted; not those of a shared context, which others may take. */
void cm_flush_receives(struct ep *ep);

/* --- unreliable datagrams (dgram.c): WIRE-90 and on ---
 * The endpoint has a port of the link and no sessions. An op ends when its datagram has left, whatever becomes of it. A datagram
 * that arrives takes a posted receive, or is dropped; none is kept or answered. */

/* Opens a port at ep->name, which becomes the real address: 0 or -errno. */
MUST_USE int dgram_open(struct ep *ep);
/* Nothing arrives from here on, and nothing leaves. */
void dgram_close(struct ep *ep);
/* Ends all ops as cancelled. */
void dgram_flush(struct ep *ep);
bool dgram_quiet(const struct dgram *dgram); /* no op waits */
void dgram_post(struct ep *ep, struct op *op) __attribute__((noinline));

#endif
