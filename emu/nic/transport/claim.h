/* SPDX-License-Identifier: BSD-2-Clause */
/* claim.h - another endpoint claims the address of a session's peer, and does not show the session's id. A *question* asks the
 * listener at that address: a connection of its own beside the session's, that never carries a request (WIRE-78). The session
 * goes on until the answer is here, and after any answer but one that ends it.
 *
 * Owner:  the session of its question, the nic of the counts. Bounds: limits.h, as strangers cause the questions.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_CLAIM_H
#define EMU_NIC_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"
#include "wire/codec.h"

struct conn;
struct nic;
struct session;

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

#endif
