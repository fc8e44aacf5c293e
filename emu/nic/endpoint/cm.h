/* SPDX-License-Identifier: BSD-2-Clause */
/* cm.h - connection-oriented endpoints: a passive one hears requests, a connected one has exactly one peer.
 *
 * An endpoint is one of them if ep_attr.cm is set (nic.h); with ep_attr.passive it is passive, and has no other use.
 * Calls marked [role] need the driver role. Errors are negative errnos (base/errno.h). PROTOCOL.md, WIRE-80 and on. */
#ifndef EMU_NIC_CM_H
#define EMU_NIC_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/base/thread_safety.h"
#include "emu/nic/regions/refusal.h"

struct ep;

enum cm_event_kind {
	CM_REQUEST,   /* passive: a peer asks; to be answered by ep_accept() of a new endpoint, or ep_reject() */
	CM_CONNECTED, /* may send from here on */
	CM_REFUSED,   /* ep_connect() or ep_accept() has come to nothing */
	CM_SHUTDOWN,  /* the connection has ended, by either side; receives have been given back */
	CM_WAITS,     /* queue pair: it may not send yet, and neither may its peer; told once */
	CM_HALTED,    /* queue pair: in error, until it is reset; ops and receives are given back */
	CM_HEARD,     /* queue pair: the peer's first request has come, while it may not send yet; told once */
	CM_STOPPED,   /* queue pair, not reliable: an op has failed, and those behind it are given back, until ep_go_on() */
	CM_DRAINED,   /* queue pair: it is held, and what had begun has ended */
	CM_NOTE,      /* the peer's ep_note() */
	CM_SOUGHT,    /* passive, with a number (service.h): a peer has asked for its port, and hears nothing if this is refused;
		       * `request` is the same if it asks again */
	CM_NOTED,     /* the peer's program was told of ep_note(), or cannot take it; `request` is its number */
};

/* Lasts for the call. */
struct cm_event {
	enum cm_event_kind kind;
	int err;                             /* REFUSED: a positive errno, ECONNREFUSED or ETIMEDOUT or why else; NOTED: 0 or one */
	const struct sockaddr_storage *peer; /* WAITS: the peer. REQUEST: the asking one, and the request's number */
	uint64_t request;
	enum refusal_cause cause; /* HALTED: why a request of the peer was refused, or nic_overran(); NONE: a completion tells it */
	const void *data;         /* of the peer's program; SHUTDOWN: none */
	size_t length;
};

struct cm_ops {
	/* [role] Calls nothing of the device. `owner` is ep_attr.owner. False: a REQUEST or a NOTE cannot be taken, and is
	 * refused. */
	bool (*event)(void *owner, const struct cm_event *event);
	bool notes; /* it understands CM_NOTE */
};

/* All [role]. Data longer than LIMIT_CM_DATA is cut. -EAGAIN: no op is free; -ENOMEM: no session. Either changes nothing, and
 * the call may be repeated. */

/* Asks the passive endpoint there for a connection; once in the endpoint's life, else -EOPBADSTATE is the caller's to say. */
MUST_USE int ep_connect(struct ep *ep, const struct sockaddr_storage *passive, const void *data, size_t length);
/* Answers a request, with an endpoint that becomes the peer of the asking one. */
MUST_USE int ep_accept(struct ep *ep, const struct sockaddr_storage *peer, uint64_t request, const void *data, size_t length);
/* Answers a request that this passive endpoint has heard. */
int ep_reject(struct ep *ep, const struct sockaddr_storage *peer, uint64_t request, const void *data, size_t length)
	REQUIRES(driver_role);
/* Tells the peer's program something in the session of the two, whose cm_ops has `notes`; `number` is not zero. -ENOTCONN: there
 * is no peer. */
MUST_USE int ep_note(struct ep *ep, uint64_t number, const void *data, size_t length);
/* Leaves the peer: ops and receives complete as cancelled before this returns. SHUTDOWN is told here, too, once. */
void ep_shutdown(struct ep *ep) REQUIRES(driver_role);
/* The peer's address; false before there is one. */
bool ep_peer(const struct ep *ep, struct sockaddr_storage *peer) REQUIRES(driver_role);

#endif
