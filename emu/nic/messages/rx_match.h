/* SPDX-License-Identifier: BSD-2-Clause */
/* rx_match.h - posted receives and unexpected messages of one receive context, and how they find each other.
 *
 * A message takes the receive that was posted first of those that fit, a receive the message that arrived first. With
 * tags and without are two worlds. A tag that is asked for whole is found through its hash chain, however many others
 * wait; one with ignored bits is looked for along the queue.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_RX_MATCH_H
#define EMU_NIC_RX_MATCH_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/memory/place.h"
#include "emu/nic/ops/op.h"

struct pool;
struct session;
struct sockaddr_storage;

/* A posted receive. Taken from the context's pool by the poster. Fields that every receive needs come first, three cache lines with
 * the first buffer. */
struct rx {
	struct rx *next;
	struct srx *srx; /* where it was posted */
	struct ep *ep;   /* where it is reported; of a shared context: where its message arrived, NULL before */
	struct pool *pool;
	uint32_t flags; /* as in recv_post */
	uint8_t iov_count;
	uint8_t named_count;
	uint64_t capacity;    /* bytes */
	uint64_t tag, ignore; /* POST_TAGGED, else 0 */
	uint64_t source;      /* AV index it is for, AV_NONE: any */
	uint64_t auth;        /* authorization that the message must show; 0: any that is taken */
	uint64_t order;       /* counts the context's receives as they were posted, from 1; 0: not yet counted */
	struct rx *parent;    /* of a piece: the receive with POST_MULTI that it belongs to; else NULL */
	struct cntr *counted; /* POST_WORK: as in struct op */
	struct cq_node done;
	struct iovec iov[LIMIT_IOV];
	uint64_t named[LIMIT_IOV]; /* of a piece: see `parent` (rx_names()) */
	void *watch;               /* POST_WATCHED */
	union {
		struct multi { /* POST_MULTI */
			uint64_t used, least;
			uint32_t pieces;          /* in use */
			bool over;                /* takes no more, and is in no queue */
			enum refusal_cause ended; /* it is taken back for this */
			bool told;                /* a completion of its last piece tells of the release */
		} multi;
		struct reach { /* POST_REACH */
			uint64_t bytes;
			enum refusal_cause beyond;  /* why a longer message is not received */
			enum refusal_cause planned; /* not NONE: a fault plan has it fail, which the peer is told as this */
		} reach;
	};
};

struct rx_list {
	struct rx *first, *last;
};

/* The queues that an unexpected message is in at a time. */
enum message_queue { BY_ARRIVAL, BY_TAG, MESSAGE_QUEUES };

/* A message that arrived, or arrives, or waits at its sender. */
struct message {
	struct message *next; /* in its session's list of pulls */
	struct message_link {
		struct message *next, *prev;
	} link[MESSAGE_QUEUES];
	struct ep *ep;                       /* where it arrived */
	struct srx *srx;                     /* whose receives it is for: the endpoint's own or shared, or its collectives' */
	struct session *session;             /* NULL: an unreliable datagram, which is here whole, */
	const struct sockaddr_storage *from; /* and this is its sender's address, */
	uint64_t source;                     /* and its index in the AV */
	uint64_t ref;                        /* seq of its SEND or RTS */
	uint64_t length;
	uint64_t cq_data;
	uint64_t tag, auth; /* auth: shown by the sender */
	bool tagged;
	bool has_cq_data;
	bool remote;             /* the payload is at the sender: RTS, or parked */
	bool arriving;           /* SEND: the payload is not complete yet */
	bool recalled;           /* meanwhile a region that its receive names was closed */
	bool queued;             /* unexpected: in the queue by arrival and, if tagged, in that of its tag's chain */
	bool pull_due;           /* matched and remote: PULL is to be sent */
	uint64_t pulled;         /* bytes received of it */
	uint64_t wanted;         /* bytes to be pulled: the smaller of length and capacity */
	uint8_t status;          /* enum wire_status of the worst segment */
	struct rx *rx;           /* the receive it found */
	const void *claim;       /* set aside for this context */
	enum refusal_cause lost; /* set aside, and its payload will not come any more */
	uint8_t *bytes;          /* unexpected payload */
};

struct message_list {
	struct message *first, *last;
};

/* The receives and messages with tags of one hash value. */
struct tag_chain {
	struct rx_list posted;          /* no bits ignored */
	struct message_list unexpected; /* BY_TAG */
};

struct rx_match {
	struct rx_list posted;          /* without tags */
	struct rx_list wild;            /* with tags of which some bits are ignored */
	struct message_list unexpected; /* BY_ARRIVAL, without tags */
	struct message_list tagged;     /* BY_ARRIVAL, with tags */
	struct message_list claimed;    /* BY_ARRIVAL; counted as envelopes */
	struct tag_chain *chains;       /* TAG_CHAINS; NULL: no tags here */
	uint64_t posts;                 /* receives so far */
	uint64_t bytes;                 /* payload kept */
	uint64_t envelopes;
};

/* 0 or -ENOMEM. `tags`: receives and messages may be tagged. */
MUST_USE int rx_match_init(struct rx_match *match, bool tags);
void rx_match_fini(struct rx_match *match); /* all queues are empty */

/* A message comes: the receive that takes it, out of its queue; NULL: none. */
struct rx *rx_match_arrival(struct rx_match *match, const struct message *message);
/* A receive was posted, or is free again, its message being cut off: the message that it takes, out of the queues; NULL:
 * none, the receive is queued in the order of posts. */
struct message *rx_match_post(struct rx_match *match, struct rx *rx);
/* Puts a receive back that rx_match_arrival() gave and that takes more. */
void rx_match_queue(struct rx_match *match, struct rx *rx);
/* The message that `rx` would take, of those that have arrived; it stays in the queues. NULL: none. */
struct message *rx_match_peek(struct rx_match *match, const struct rx *rx);
/* Sets it aside for `context`: no receive finds it any more. */
void rx_match_claim(struct rx_match *match, struct message *message, const void *context);
/* The message that was set aside first for this context, taken out; NULL: none. */
struct message *rx_match_claimed(struct rx_match *match, const void *context);
void rx_match_unclaim(struct rx_match *match, struct message *message); /* it was set aside: out of the queue */
void rx_match_keep(struct rx_match *match, struct message *message);    /* no receive fits: to the end of the queue */
void rx_match_drop(struct rx_match *match, struct message *message);    /* out of the queues, whatever else it is */
/* A posted receive with this context, out of its queue; NULL: none. */
struct rx *rx_match_cancel(struct rx_match *match, const void *context);
/* Likewise one that names this region (named.h), but for those with POST_REACH: */
struct rx *rx_match_named(struct rx_match *match, uint64_t desc);
bool rx_names(const struct rx *rx, uint64_t desc);
/* they reach as far as the first buffer that is in it. */
void rx_match_shorten(struct rx_match *match, uint64_t desc);
void rx_shorten(struct rx *rx, uint64_t desc);
static inline bool rx_is_planned(const struct rx *rx)
{
	return rx->flags & POST_REACH && rx->reach.planned != REFUSAL_NONE;
}
/* Are its buffers there for a message of that length, if it is not too long? */
static inline bool rx_reaches(const struct rx *rx, uint64_t length)
{
	return !(rx->flags & POST_REACH) || length <= rx->reach.bytes;
}
/* Posted receives without tags that wait for a message: counted one by one. */
uint64_t rx_match_waiting(const struct rx_match *match);
/* Any posted receive, out of its queue; NULL: none is left. */
struct rx *rx_match_any(struct rx_match *match);
/* The sender: its index in the AV, or AV_NONE, and its address. */
uint64_t message_source(const struct message *message);
const struct sockaddr_storage *message_sender(const struct message *message);
/* Where the payload of `rx` goes. */
void rx_place(const struct rx *rx, struct place *place);

#endif
