/* SPDX-License-Identifier: BSD-2-Clause */
/* srx.h - a receive context: posted receives, and messages that found none. An endpoint has one of its own, or shares one
 * with others; then a receive belongs to no endpoint until a message takes it, and is reported where that arrived.
 *
 * Owner:  the endpoint, or the caller of srx_open().
 * Thread: holder of the driver role, but for the pools' taking side (submit.h). */
#ifndef EMU_NIC_SRX_H
#define EMU_NIC_SRX_H

#include "emu/nic/messages/rx_match.h"

struct ep;
struct nic;
struct pool;

struct srx {
	struct nic *nic;
	struct srx *next; /* of the nic's */
	struct pool *rxs;
	struct pool *pieces; /* of receives that take many messages */
	struct rx_match match;
	struct ep *ep;      /* its owner; shared: a user, to report receives without a message; NULL: none */
	uint32_t users;     /* endpoints */
	uint64_t envelopes; /* unexpected messages at most; then receiver-not-ready */
	bool shared;
};

/* Takes an endpoint in, or takes it out, with its messages and reports. */
void srx_join(struct srx *srx, struct ep *ep);
void srx_leave(struct srx *srx, struct ep *ep);
/* Completes all posted receives with REFUSAL_CANCELLED and frees. No message is left. */
void srx_free(struct srx *srx);
/* One with this context that no message has taken: it completes with REFUSAL_CANCELLED. False: there is none. */
bool srx_take_back(struct srx *srx, const void *context);
/* Receives that name this region (named.h), and that no message has taken, end. */
void srx_recall(struct srx *srx, uint64_t desc);
/* The endpoint that a receive is reported to; NULL: none. */
struct ep *srx_reporter(const struct rx *rx);

/* --- how receives end (rx_done.c); each is gone after the call --- */

/* The message has come; as much as the receive's capacity was kept of it. */
void complete_receive(struct rx *rx, const struct message *message);
/* A receive that took many messages takes no more: the program has its buffer back, which an entry tells, if none did. Counts
 * nothing. */
void complete_released(struct rx *rx);
/* A receive that only asked: reports the message, or that there is none. Counts nothing. */
void complete_peek(struct rx *rx, const struct message *message);
void complete_receive_failed(struct rx *rx, enum refusal_cause cause) __attribute__((noinline, cold));
/* EP_SOURCE_ERR: all is well, but the AV does not hold the sender. */
bool complete_strange(const struct ep *ep, const struct completion *c);
/* Then the queue gets this, which tells its address. */
void complete_as_strangers(const struct ep *ep, struct cq *cq, const struct sockaddr_storage *sender, const struct completion *c);

#endif
