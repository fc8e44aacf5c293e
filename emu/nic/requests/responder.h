/* SPDX-License-Identifier: BSD-2-Clause */
/* responder.h - the target's half of a session: the peer's requests judged, executed, answered.
 *
 * Thread: holder of the driver role. A request climbs a ladder: sequence, right of the endpoint (responder.c), region, range, place
 * (target.h). Functions that take a peer's word return NULL if all is well, else the breach of the protocol, for log and BYE. */
#ifndef EMU_NIC_RESPONDER_H
#define EMU_NIC_RESPONDER_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/messages/rx_match.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

/* Is the request frame to be executed? False: it is dropped (conn->in.skip), or *broken says how it breaks the protocol. */
MUST_USE bool responder_admits(struct conn *conn, const struct wire_head *head, enum op_kind kind, const char **broken);
/* It has been executed, or refused, and counts as seen; `broken` is what its execution returned, and comes back. one_sided: the
 * program here has no reason to say anything soon that the acknowledgement could ride on. */
MUST_USE const char *responder_executed(struct conn *conn, const char *broken, bool one_sided);

/* Receiver not ready: this request and all that follow are dropped; the peer is told. Returns NULL. */
const char *responder_rnr(struct conn *conn);
/* Has the endpoint the capability (enum ep_cap), and no fault plan anything against the request? Else *why says so. */
bool responder_allows(const struct session *session, uint32_t cap, struct refusal *why);

#endif
