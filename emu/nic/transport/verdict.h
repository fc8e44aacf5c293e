/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict.h - verdicts of one session: numbered, kept until the peer has acknowledged them, sent again after a cut.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_VERDICT_H
#define EMU_NIC_VERDICT_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

struct verdict {
	struct verdict *next;
	uint8_t op;                    /* WIRE_NAK, WIRE_PARK, WIRE_DONE, WIRE_RESULT */
	struct wire_nak_fields fields; /* but for NAK: verdict and ref alone */
	uint32_t length;               /* RESULT: of its payload */
	uint8_t result[];
};

/* NULL, or the breach of the protocol: the peer does not acknowledge its verdicts. Also without memory for one: then the session
 * ends with its connection, since its initiator would wait for ever, and its ops fail. */
MUST_USE const char *verdict_refuse(struct session *session, uint64_t ref, const struct refusal *why);
MUST_USE const char *verdict_add(struct session *session, uint8_t op, uint64_t ref);
/* Why the session ends where one of these failed, and there is no frame to answer for. */
enum refusal_cause verdict_lack(const struct session *session);
/* A RESULT to be filled in: made before the request is executed, since afterwards nothing may fail. The caller's until
 * verdict_result(), which always keeps it, or free(). NULL and *broken: no memory, or the peer does not acknowledge. */
MUST_USE struct verdict *verdict_new(struct session *session, uint32_t length, const char **broken);
void verdict_result(struct session *session, struct verdict *verdict, uint64_t ref);
/* Every verdict up to `number` has arrived there. */
MUST_USE const char *verdict_acked(struct session *session, uint64_t number);
/* Sends the next one that this connection has not seen. */
bool verdict_fill(struct session *session, struct conn *conn);
/* On a new connection whose HELLO says that `number` was seen. False: it cannot be. */
bool verdict_resume(struct session *session, uint64_t number);
void verdict_flush(struct session *session);

#endif
