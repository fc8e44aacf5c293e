/* SPDX-License-Identifier: BSD-2-Clause */
/* requester.h - the initiator's half of a session: ops into request frames, answers into completions.
 *
 * Thread: holder of the driver role. Functions that take a peer's word return false if it breaks the protocol and
 * then have changed nothing. Rule numbers: PROTOCOL.md. */
#ifndef EMU_NIC_REQUESTER_H
#define EMU_NIC_REQUESTER_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

/* A posted op; it belongs to the session from here on. */
void requester_post(struct session *session, struct op *op);

/* Verdict `number` on request `ref` is here; *fresh false for one seen before. */
bool requester_verdict(struct session *session, uint64_t number, uint64_t ref, bool *fresh);
/* May a verdict (WIRE_PARK, WIRE_DONE) be about that request? About one that is resolved any may. */
bool requester_fits(const struct session *session, uint8_t verdict, uint64_t ref);
void requester_refused(struct session *session, uint64_t ref, const struct wire_nak_fields *nak);
void requester_park(struct session *session, uint64_t ref);
void requester_done(struct session *session, uint64_t ref);
/* The ATOMIC that a RESULT of `length` bytes answers; NULL: none any more, or a verdict seen before: its payload is dropped.
 * Nothing is resolved before the payload is here: requester_verdict(), requester_result_end(). */
MUST_USE struct op *requester_result(struct session *session, uint64_t number, uint64_t ref, uint32_t length, const char **broken);
void requester_result_end(struct session *session, uint64_t ref, bool fault);
bool requester_rnr(struct session *session, uint64_t ref, uint32_t wait_us);
/* The parked op that a PULL asks for, if the range is inside it; *known false: no such op any more. */
MUST_USE struct op *requester_pulled(struct session *session, uint64_t ref, uint64_t offset, uint64_t length, bool *broken);
/* The READ that a DATA frame answers; NULL: none any more, the payload is dropped. */
MUST_USE struct op *requester_data(struct session *session, uint64_t ref, uint64_t offset, uint64_t rest, bool *broken);
/* A DATA segment for it is complete. */
void requester_data_end(struct session *session, struct op *op, uint32_t length, bool last, enum wire_status status, bool fault);

/* Ops that name this region (named.h) complete with REFUSAL_LOCAL_CLOSED; their transfers end without their memory. */
void requester_recall(struct session *session, uint64_t desc);

#endif
