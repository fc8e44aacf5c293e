/* SPDX-License-Identifier: BSD-2-Clause */
/* proof.h - the part of the greeting in which both sides prove that they know the shared secret (WIRE-101 to WIRE-105).
 *
 * Only if the nic has a secret. A connection that has not proved it leaves nothing here but its frames of the greeting,
 * which are few and short, and its HELLO is not acted upon.
 * Owner: the connection, until it opens or ends. Thread: holder of the driver role. */
#ifndef EMU_NIC_PROOF_H
#define EMU_NIC_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#include "emu/nic/base/must_use.h"

struct conn;
struct proof;
struct wire_head;
struct wire_hello_fields;

/* NULL without memory. */
MUST_USE struct proof *proof_open(void);
/* Closes the connection's proof; it may have none. */
void proof_close(struct conn *conn);
/* The connection opens: makes its tokens (auth_tokens.h) and closes. False without memory. */
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

#endif
