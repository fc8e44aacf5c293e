/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram.h - unreliable datagrams: an endpoint that has a port of the link and no sessions. PROTOCOL.md, WIRE-90 and on.
 *
 * An op ends when its datagram has left, whatever becomes of it. A datagram that arrives takes a posted receive, or is
 * dropped; none is kept or answered.
 * Owner:  the endpoint, which is opened with ep_attr.datagrams; else all of it is idle.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_DGRAM_H
#define EMU_NIC_DGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/ops/op_list.h"

struct ep;
struct port;

/* Why a datagram does not reach its receive. */
enum dgram_end {
	DGRAM_LOST,       /* as nic_config.dgram_loss asks, before it left */
	DGRAM_UNSENT,     /* the outside did not take it */
	DGRAM_MALFORMED,  /* breaks the protocol */
	DGRAM_NO_RECEIVE, /* the endpoint does not receive */
	DGRAM_SECRET,     /* it is not tagged by the secret, or by another one */
	DGRAM_AUTH,       /* it shows another authorization key */
	DGRAM_FULL,       /* there is no room for its completion */
	DGRAM_UNEXPECTED, /* no receive is posted for it */
	DGRAM_ENDS
};

struct dgram {
	struct port *port;
	struct op_list waiting;     /* for the port to take more */
	uint64_t draws;             /* state of the generator of losses */
	uint64_t ended[DGRAM_ENDS]; /* how many so */
};

/* Opens a port at ep->name, which becomes the real address: 0 or -errno. */
MUST_USE int dgram_open(struct ep *ep);
/* Nothing arrives from here on, and nothing leaves. */
void dgram_close(struct ep *ep);
/* Ends all ops as cancelled. */
void dgram_flush(struct ep *ep);
bool dgram_quiet(const struct dgram *dgram); /* no op waits */
void dgram_post(struct ep *ep, struct op *op) __attribute__((noinline));

#endif
