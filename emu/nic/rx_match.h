/* SPDX-License-Identifier: BSD-2-Clause */
/* rx_match.h - posted receives and unexpected messages of one endpoint, and how they find each other.
 *
 * Both queues are in order; a message takes the oldest receive that fits, a receive the oldest message.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_RX_MATCH_H
#define EMU_NIC_RX_MATCH_H

#include "emu/nic/op.h"
#include "emu/nic/place.h"

struct pool;
struct session;

/* A posted receive. Taken from the endpoint's pool by the poster. */
struct rx {
	struct rx *next;
	struct ep *ep;
	struct pool *pool;
	struct iovec iov[LIMIT_IOV];
	uint8_t  iov_count;
	uint32_t flags;			/* POST_COMPLETE */
	uint64_t capacity;		/* bytes */
	uint64_t source;		/* AV index it is for, AV_NONE: any */
	struct cq_node done;
};

/* A message that arrived, or arrives, or waits at its sender. */
struct message {
	struct message *next;
	struct session *session;
	uint64_t ref;			/* seq of its SEND or RTS */
	uint64_t length;
	uint64_t cq_data;
	bool     has_cq_data;
	bool     remote;		/* the payload is at the sender: RTS, or parked */
	bool     arriving;		/* SEND: the payload is not complete yet */
	bool     queued;		/* in the unexpected queue */
	bool     pull_due, pulling;	/* matched and remote: PULL is to be sent, was sent */
	uint64_t pulled;		/* bytes received of it */
	uint64_t wanted;		/* bytes to be pulled: the smaller of length and capacity */
	uint8_t  status;		/* enum wire_status of the worst segment */
	struct rx *rx;			/* the receive it found */
	uint8_t *bytes;			/* unexpected payload */
};

struct rx_match {
	struct rx *posted, *posted_last;
	struct message *unexpected, *unexpected_last;
	uint64_t bytes;			/* payload kept */
	uint64_t envelopes;
};

/* A message of `session` comes: the receive that takes it, out of the queue; NULL: none. */
struct rx *rx_match_arrival(struct rx_match *match, struct session *session);
/* A receive was posted: the message that it takes, out of the queue; NULL: none, the receive is queued. */
struct message *rx_match_post(struct rx_match *match, struct rx *rx);
/* Puts a receive back in front: its message was cut off and will come again. */
void rx_match_return(struct rx_match *match, struct rx *rx);
void rx_match_keep(struct rx_match *match, struct message *message);	/* no receive fits: to the end of the queue */
void rx_match_drop(struct rx_match *match, struct message *message);	/* out of the queue, whatever else it is */
/* The posted receive with this context, out of the queue; NULL: none. */
struct rx *rx_match_cancel(struct rx_match *match, const void *context);
/* Where the payload of `rx` goes. */
void rx_place(const struct rx *rx, struct place *place);

#endif
