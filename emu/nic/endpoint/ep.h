/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.h - an endpoint: its sessions, its receives, its queues and counters.
 * Owner:  the nic. Thread: holder of the driver role. */
#ifndef EMU_NIC_EP_H
#define EMU_NIC_EP_H

#include "emu/nic/base/hash.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/endpoint/cm_impl.h"
#include "emu/nic/endpoint/dgram.h"
#include "emu/nic/endpoint/nic.h"
#include "emu/nic/endpoint/stx.h"
#include "emu/nic/messages/srx.h"
#include "wire/frame.h"

struct collectives;

struct ep {
	struct nic *nic;
	struct ep *next;
	struct ep_attr attr;
	struct sockaddr_storage name; /* canonical listening address */
	void *listener;
	uint8_t instance[WIRE_ID_LEN];
	struct stx *stx;          /* its own, or a shared one */
	struct srx *srx;          /* likewise */
	struct session *sessions; /* all but `self`, in no order */
	struct hash by_peer;      /* the same */
	uint64_t hash_secret[2];
	struct session *self; /* answering end towards itself, made when needed */
	uint32_t session_count;
	uint32_t sweep_at; /* with so many sessions they are swept for some that have ended, */
	uint64_t swept_ns; /* and the last sweep was then */
	/* The session last posted to: most programs talk to the same peer many times in a row. */
	struct session *last;
	uint64_t last_dest, last_stamp;
	struct cm cm;                    /* connection-oriented; else idle */
	struct dgram dgram;              /* unreliable datagrams; then there are no sessions, and no listener */
	struct collectives *collectives; /* NULL: without EP_COLLECTIVE */
	bool closing;
};

/* No peer finds it any more: no new connection, no datagram. */
void ep_stop_listening(struct ep *ep);
/* Does it take messages that show this authorization (S158)? */
bool ep_takes(const struct ep *ep, uint64_t shown, const struct sockaddr_storage *sender);
/* The session for an AV index, or with the one peer; NULL and *cause if there is none. */
struct session *ep_session(struct ep *ep, uint64_t dest, enum refusal_cause *cause);

#endif
