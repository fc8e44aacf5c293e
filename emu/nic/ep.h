/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.h - a reliable datagram endpoint: its sessions, its receives, what it reports to.
 * Owner:  the nic. Thread: holder of the driver role, but for `ops` and `rxs` (submit.h). */
#ifndef EMU_NIC_EP_H
#define EMU_NIC_EP_H

#include "emu/nic/nic.h"
#include "emu/nic/pool.h"
#include "emu/nic/rx_match.h"
#include "wire/frame.h"

enum { EP_SESSION_CHAINS = 64 };

struct ep {
	struct nic *nic;
	struct ep *next;
	struct ep_attr attr;
	struct sockaddr_storage name;		/* canonical listening address */
	void *listener;
	uint8_t instance[WIRE_ID_LEN];
	struct pool *ops, *rxs;
	struct session *chains[EP_SESSION_CHAINS];
	struct session *self;			/* answering end towards itself, made when needed */
	uint32_t session_count;
	/* The session last posted to: most programs talk to the same peer many times in a row. */
	struct session *last;
	uint64_t last_dest, last_stamp;
	struct rx_match match;
	bool closing;
};

/* The session for an AV index; NULL and *cause if there is none. */
struct session *ep_session(struct ep *ep, uint64_t dest, enum refusal_cause *cause);

#endif
