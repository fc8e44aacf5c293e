/* SPDX-License-Identifier: BSD-2-Clause */
/* greeting.h - how a connection begins, and what strangers may do until it is known whose it is.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_GREETING_H
#define EMU_NIC_GREETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/conn.h"
#include "wire/codec.h"

struct pairing;
struct proof;

/* --- the greeting: which endpoint, which session, where it goes on, which connection stays (hello.c) --- */

/* Writes our HELLO into the connection's queue, and the frames of the proof (proof.c). */
void hello_send(struct conn *conn);
/* The peer's HELLO, CHALLENGE or PROOF is here. With the last of them the connection opens, or is closed with a BYE that
 * says why not. Returns NULL, or the frame's flaw in its place of the greeting. */
MUST_USE const char *hello_received(struct conn *conn, const struct wire_head *head);
/* The sender of a HELLO to this endpoint, as sessions and address vectors know it: canonical, a queue pair with its number. */
void hello_sender(const struct ep *ep, const struct wire_hello_fields *fields, struct sockaddr_storage *peer);

/* --- queue pairs: which one is meant, and whether it and its peer mean each other (pairing.c) --- */

/* The versions and indices of our HELLO. */
void pairing_hello(const struct conn *conn, struct wire_hello_fields *fields);
/* A HELLO is here: is it of an endpoint of this sort? An accepted one's queue pair becomes the connection's endpoint. False: the
 * connection was closed, with a BYE that says why. */
bool pairing_meets(struct conn *conn, const struct wire_hello_fields *fields);
/* Another instance is at the peer's address. True: it is the queue pair that was reset, as nothing was done with the one before,
 * whose late greeting was taken for the new one's. The session begins anew. */
bool pairing_anew(struct session *session);
/* The type, as HELLO tells it (enum wire_feature). */
uint32_t pairing_features(const struct ep *ep);
/* Writes PAIR into the connection's queue. False: it is not due, or there is no room. */
bool pairing_fill(struct session *session, struct conn *conn);
/* PAIR is here. NULL, or the breach of the protocol. */
MUST_USE const char *pairing_taken(struct conn *conn, const struct wire_head *head);
/* This side or its peer has said more: what the two disagree about is logged, and ends the ops that it concerns. */
void pairing_compare(struct session *session);
/* A request of the peer is refused: no further one is carried out. */
void pairing_refused(struct session *session, enum refusal_cause cause);
/* Why the peer's hardware would drop the op's packets, or this side's the answers. REFUSAL_NONE: it would not. */
enum refusal_cause pairing_bars(const struct pairing *pairing, const struct op *op);

/* --- both sides prove that they know the shared secret: WIRE-101 to WIRE-105 (proof.c) ---
 * Only if the nic has a secret. A connection that has not proved it leaves nothing here but its frames of the greeting, which are
 * few and short, and its HELLO is not acted upon. A proof is the connection's, until that opens or ends. */

/* NULL without memory. */
MUST_USE struct proof *proof_open(void);
/* Closes the connection's proof; it may have none. */
void proof_close(struct conn *conn);
/* The connection opens: makes its tokens (conn.h) and closes. False without memory. */
MUST_USE bool proof_finish(struct conn *conn);
/* Called before a BYE is sent: if the peer has proved and this side has not, this side proves first, to be believed. */
void proof_bye(struct conn *conn);
/* May the reason in a BYE be acted upon? */
bool proof_believes(const struct conn *conn);
/* Our HELLO is in the queue, of `length` bytes: queues the frame that is due behind it. */
void proof_hello_sent(struct conn *conn, const void *frame, size_t length);
/* A frame of the greeting is here; returns NULL, or the flaw of it in its place. If *proved, the peer knows the
 * secret and all of its HELLO, *hello, is to be judged. Else more has to come, or the connection is refused. */
MUST_USE const char *proof_take(struct conn *conn, const struct wire_head *head, struct wire_hello_fields *hello, bool *proved);
/* Only one of the two sides asks for a secret, says the peer's HELLO: the peer is told so, and the session ends unless the
 * secret has been proved in it before. */
void proof_refuse(struct conn *conn, const struct wire_hello_fields *hello);

/* --- another endpoint claims the address of a session's peer, and does not show the session's id (claim.c) ---
 * A *question* asks the listener at that address: a connection of its own beside the session's, that never carries a request
 * (WIRE-78). The session goes on until the answer is here, and after any answer but one that ends it. Bounds: limits.h, as
 * strangers cause the questions. */

/* The session is known, and another endpoint claims its place. True: it has ended, as its peer is behind a firewall, where nobody
 * can ask, and has stayed away. */
MUST_USE bool claim_ask(struct session *session);
/* Is this connection a question? */
bool claim_asks(const struct conn *conn);
/* It has got HELLO, or BYE, for an answer, and is closed in here. */
void claim_answered(struct conn *conn, const struct wire_hello_fields *fields);
void claim_refused(struct conn *conn, enum wire_bye_reason reason);
/* It is closed. */
void claim_over(struct session *session);

/* --- room for new connections (evict.c) ---
 * When descriptors or connections run out, idle connections that others dialled, whose session holds nothing, are closed. Their
 * sessions go on by the next dial of either side, as after a cut. */

/* Counts the connection as idle from now on, until a request makes progress on it. */
void evict_candidate(struct conn *conn);
/* Closes some. False: there is none that could be. */
bool evict_idle(struct nic *nic);

/* --- how fast keys can be guessed (guess.c) ---
 * LIMIT_GUESSES a second, all peers together. After that, a connection that names another wrong key is not read for the rest of the
 * second; bytes already received are still processed. A peer that names no wrong key does not notice. */

/* A request named a key that does not exist. */
void guess_made(struct conn *conn);
/* Reads held connections again when it is time. Returns when the next tick is due, UINT64_MAX: none is held. */
uint64_t guess_tick(struct nic *nic);

#endif
