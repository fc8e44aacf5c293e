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
	CM_REQUEST,   /* passive: a peer asks; to be answered by ep_accept() of a new endpoint, or ep_reject(). Manager: its
		       * peer says something */
	CM_CONNECTED, /* may send from here on */
	CM_REFUSED,   /* ep_connect() or ep_accept() has come to nothing; manager: so has service_ask() */
	CM_SHUTDOWN,  /* the connection has ended, by either side; receives have been given back. Manager: the session with the
		       * peer */
	CM_WAITS,     /* queue pair: it may not send yet, and neither may its peer; told once */
	CM_HALTED,    /* queue pair: in error, until it is reset; ops and receives are given back */
	CM_HEARD,     /* queue pair: the peer's first request has come, while it may not send yet; told once */
	CM_STOPPED,   /* queue pair, not reliable: an op has failed, and those behind it are given back, until ep_go_on() */
	CM_DRAINED,   /* queue pair: it is held, and what had begun has ended */
	CM_SAID,      /* manager: the peer was told of ep_say(), or `err`; with its number and data */
	CM_SOUGHT,    /* manager: a peer seeks a service at that address; `request` is the question's, the same if it is repeated */
	CM_FOUND,     /* manager: service_ask() has found a manager there */
};

/* Lasts for the call. */
struct cm_event {
	enum cm_event_kind kind;
	int err;                             /* REFUSED: a positive errno, ECONNREFUSED or ETIMEDOUT or why else; SAID: 0 or one */
	const struct sockaddr_storage *peer; /* WAITS: the peer. REQUEST: the asking one, and the request's number */
	uint64_t request;
	void *of;                 /* SOUGHT, FOUND; REFUSED of service_ask(): the owner of the service or question */
	uint16_t *port;           /* SOUGHT: takes the port of the manager at that address; an endpoint may be opened for it */
	enum refusal_cause cause; /* HALTED: why a request of the peer was refused, or nic_overran(); NONE: a completion tells it */
	const void *data;         /* of the peer's program; SHUTDOWN: none */
	size_t length;
};

struct cm_ops {
	/* [role] Calls nothing of the device, but that a manager's may call ep_say() and ep_keep(). `owner` is ep_attr.owner.
	 * False: a REQUEST cannot be taken, and is refused; a question for a service is not answered. */
	bool (*event)(void *owner, const struct cm_event *event);
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

/* Managers (ep_attr.manages), which say what many connections of theirs need in one session for each peer (WIRE-184): */

/* A number that nobody can guess, not zero. */
uint64_t ep_draw(struct ep *manager) REQUIRES(driver_role);
/* Says something to the manager there; `number` is not zero. CM_SAID is told, unless this fails. */
MUST_USE int ep_say(struct ep *manager, const struct sockaddr_storage *peer, uint64_t number, const void *data, size_t length)
	REQUIRES(driver_role);
/* Something there lasts, or no more: meanwhile the peer is dialled after a cut, so as to learn when it has gone. CM_SHUTDOWN ends
 * all that lasts. Without memory for a session, nothing does. */
void ep_keep(struct ep *manager, const struct sockaddr_storage *peer, bool lasts) REQUIRES(driver_role);

/* Leaves the peer: ops and receives complete as cancelled before this returns. SHUTDOWN is told here, too, once. */
void ep_shutdown(struct ep *ep) REQUIRES(driver_role);
/* The peer's address; false before there is one. */
bool ep_peer(const struct ep *ep, struct sockaddr_storage *peer) REQUIRES(driver_role);

#endif
