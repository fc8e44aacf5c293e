/* SPDX-License-Identifier: BSD-2-Clause */
/* srx.h - a receive context: posted receives, and messages that found none. An endpoint has one of its own, or shares one
 * with others; then a receive belongs to no endpoint until a message takes it, and is reported where that arrived.
 *
 * Owner:  the endpoint, or the caller of srx_open().
 * Thread: holder of the driver role, but for the pools' taking side (submit.h). */
#ifndef EMU_NIC_SRX_H
#define EMU_NIC_SRX_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/messages/rx_match.h"

struct cq;
struct ep;
struct nic;
struct pd;
struct pool;
struct xrc;

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
	/* As it was offered (srx_offer()); xrc NULL: it was not. */
	struct {
		struct xrc *xrc;
		uint32_t number;
		struct cq *cq;
		struct pd *pd;
		struct srx *next;
	} offer;

	uint32_t low;  /* srx_tell_low(): fewer waiting receives are told; 0: nothing to tell, and the rest is not valid */
	uint64_t gone; /* receives, of match.posts, that do not wait any more */
	void (*tell)(void *arg);
	void *tell_arg;
};

/* While `low` is not 0, and so without tags: a message, or a write with CQ data, has taken a receive, or the program has taken it
 * back; a message or write gives it back. */
void srx_took(struct srx *srx) __attribute__((cold));
void srx_gave_back(struct srx *srx) __attribute__((cold));

/* Takes an endpoint in, or takes it out, with its messages and reports. */
void srx_join(struct srx *srx, struct ep *ep);
void srx_leave(struct srx *srx, struct ep *ep);
/* Completes all posted receives with REFUSAL_CANCELLED and frees. No message is left. */
void srx_free(struct srx *srx);
/* One with this context that no message has taken: it completes with REFUSAL_CANCELLED. False: there is none. */
bool srx_take_back(struct srx *srx, const void *context);
/* Receives that name this region (named.h), and that no message has taken, end, or will (POST_REACH). */
void srx_recall(struct srx *srx, uint64_t desc);
/* The endpoint that a receive is reported to; NULL: none. */
struct ep *srx_reporter(const struct rx *rx);

/* --- contexts that requests name (xrc.c): ep_attr.xrc ---
 * While a request is judged and executed, its endpoint has the receives, the queue and the protection domain of the context that
 * the request names; where it names none that is offered, its own, which are empty. All of one message is of one context. */

/* From here on the endpoint stands so. False: no context of its domain has that number. */
bool xrc_turn(struct ep *ep, uint64_t number) __attribute__((cold, noinline));
/* To what it was opened with. */
void xrc_home(struct ep *ep);
/* Does a context of the domain complete at that queue? */
bool xrc_completes_at(const struct xrc *xrc, const struct cq *cq);
/* The context that a receive was posted to, before it is reported. Of any endpoint. */
void xrc_turn_to(struct ep *ep, struct srx *srx) __attribute__((cold, noinline));
/* The number of the context that it stands for; 0: none. */
uint32_t xrc_named(const struct ep *ep);
/* An offered context ends: messages that arrive in it do, too. */
void xrc_withdraw(struct srx *srx);

/* --- how receives end (rx_done.c); each is gone after the call --- */

/* The message has come; as much as the receive's capacity was kept of it. */
void complete_receive(struct rx *rx, const struct message *message);
/* A remote write of that length, with that CQ data, has taken it. */
void complete_data_receive(struct rx *rx, const struct message *message);
/* A receive that took many messages takes no more: the program has its buffer back, which an entry tells, if none did. Counts
 * nothing. */
void complete_released(struct rx *rx);
/* A receive that only asked: reports the message, or that there is none. Counts nothing. */
void complete_peek(struct rx *rx, const struct message *message);
void complete_receive_failed(struct rx *rx, enum refusal_cause cause) __attribute__((noinline, cold));
/* Likewise, and nobody is told. */
void complete_receive_untold(struct rx *rx);
/* EP_SOURCE_ERR: all is well, but the AV does not hold the sender. */
bool complete_strange(const struct ep *ep, const struct completion *c);
/* Then the queue gets this, which tells its address. */
void complete_as_strangers(const struct ep *ep, struct cq *cq, const struct sockaddr_storage *sender, const struct completion *c);

/* --- a posted buffer that takes many messages, one behind the other: FI_MULTI_RECV (multi_recv.c) ---
 * Each message gets a piece, which is a receive of its own with the buffer's context. When less is left than the buffer was posted
 * for, or a message did not fit, the buffer takes no more; once no piece is in use any more, it is released, which is told by a
 * completion of its own, the last one. */

/* A receive with POST_MULTI was posted: takes the messages that waited for it, and is queued for more. */
void multi_start(struct rx *parent);
/* The receive for an arriving message that `parent`, out of its queue, is to take; it is queued again if it takes more.
 * NULL: the program does not read the completions; nothing was changed, and the message must wait at its sender. */
MUST_USE struct rx *multi_take(struct rx *parent, uint64_t length);
/* A piece is about to complete with an entry in the queue: returns the flag that the entry gets if the buffer is released with it,
 * of which no other entry tells then (POST_MULTI_LAST); else 0. */
uint64_t multi_last_flag(struct rx *piece);
/* A piece has completed. */
void multi_done(struct rx *parent);
/* The piece's message was cut off and will come again. */
void multi_undo(struct rx *piece);
/* `parent`, out of its queue, is cancelled: told, as a buffer that is released, when no piece is in use any more. */
void multi_cancel(struct rx *parent, enum refusal_cause cause);

/* --- asking about messages that wait: FI_PEEK, FI_CLAIM and FI_DISCARD of fi_tagged(3) (peek.c) --- */

/* A receive with POST_PEEK or POST_CLAIM: completes, or goes on with the message that was claimed. Never queued. */
void peek_start(struct rx *rx);

#endif
