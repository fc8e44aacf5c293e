/* SPDX-License-Identifier: BSD-2-Clause */
/* srx.h - a receive context: posted receives, and messages that found none. An endpoint has one of its own, or shares one
 * with others; then a receive is nobody's until a message takes it, and is reported where that arrived.
 *
 * Owner:  the endpoint, or who opened it with srx_open().
 * Thread: holder of the driver role, but for the pools' taking side (submit.h). */
#ifndef EMU_NIC_SRX_H
#define EMU_NIC_SRX_H

#include "emu/nic/nic.h"
#include "emu/nic/rx_match.h"

struct srx {
	struct nic *nic;
	struct pool *rxs;
	struct pool *pieces;		/* of receives that take many messages */
	struct rx_match match;
	struct ep *ep;			/* whose it is; shared: one that uses it, who is told what is no message's; NULL: none */
	uint32_t users;			/* endpoints */
	bool shared;
};

/* Takes an endpoint in, or takes it out: its messages, and what it was told of. */
void srx_join(struct srx *srx, struct ep *ep);
void srx_leave(struct srx *srx, struct ep *ep);
/* Completes all posted receives with REFUSAL_CANCELLED and frees. No message is left. */
void srx_free(struct srx *srx);
/* To whom a receive is reported; NULL: to nobody. */
struct ep *srx_reporter(const struct rx *rx);

#endif
