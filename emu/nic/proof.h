/* SPDX-License-Identifier: BSD-2-Clause */
/* proof.h - the part of the greeting in which both sides prove that they know the shared secret (WIRE-101 to WIRE-105).
 *
 * Only where the nic has a secret. Of a connection that has not proved it, nothing is kept but its frames of the greeting,
 * which are few and short, and nothing of what its HELLO says is acted upon.
 * Owner: the connection, until it opens or ends. Thread: holder of the driver role. */
#ifndef EMU_NIC_PROOF_H
#define EMU_NIC_PROOF_H

#include <stdbool.h>
#include <stddef.h>

struct conn;
struct proof;
struct wire_head;
struct wire_hello_fields;

/* NULL without memory. */
struct proof *proof_open(void);
/* Of the connection; it may have none. */
void proof_close(struct conn *conn);
/* The connection opens: makes its tokens (auth_tokens.h) and closes. False without memory. */
bool proof_finish(struct conn *conn);
/* A BYE is about to be said: where the peer has proved and this side has not, it does so first, to be believed. */
void proof_bye(struct conn *conn);
/* May what BYE says be acted upon? */
bool proof_believes(const struct conn *conn);
/* Our HELLO is in the queue, of `length` bytes: what is due behind it follows. */
void proof_hello_sent(struct conn *conn, const void *frame, size_t length);
/* A frame of the greeting is here; returns what is wrong with it in its place, or NULL. If *proved, the peer knows the
 * secret and all of its HELLO, *hello, is to be judged. Else more has to come, or the connection is refused. */
const char *proof_take(struct conn *conn, const struct wire_head *head, struct wire_hello_fields *hello, bool *proved);
/* The peer's HELLO says, otherwise than this side, whether a secret is asked for: it is told so, and the session ends unless
 * the secret has been proved in it before. */
void proof_refuse(struct conn *conn, const struct wire_hello_fields *hello);

#endif
