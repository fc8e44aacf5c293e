/* SPDX-License-Identifier: BSD-2-Clause */
/* requester.h - the initiator's half of a session: ops into request frames, answers into completions.
 *
 * Thread: holder of the driver role. Functions that take a peer's word return false if it breaks the protocol and
 * then have changed nothing. Rule numbers: PROTOCOL.md. */
#ifndef EMU_NIC_REQUESTER_H
#define EMU_NIC_REQUESTER_H

#include <stdint.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/ops/op.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

struct ep;

/* A posted op; it belongs to the session from here on. */
void requester_post(struct session *session, struct op *op);
/* Likewise one of POST_LOCAL: carried out at once, without a connection, if nothing is before it (window.c). */
void requester_local(struct session *session, struct op *op);
/* Its turn has come: carries it out, and ends it. */
void local_execute(struct session *session, struct op *op);

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
/* Requests from `from` on were dropped by the peer: they wait again, in their order, and get new numbers. */
void requester_rewind(struct session *session, uint64_t from);
bool requester_rnr(struct session *session, uint64_t ref, uint32_t wait_us);
/* The parked op that a PULL asks for, if the range is inside it; *known false: no such op any more. */
MUST_USE struct op *requester_pulled(struct session *session, uint64_t ref, uint64_t offset, uint64_t length, bool *broken);
/* The READ that a DATA frame answers; NULL: none any more, the payload is dropped. */
MUST_USE struct op *requester_data(struct session *session, uint64_t ref, uint64_t offset, uint64_t rest, bool *broken);
/* A DATA segment for it is complete. */
void requester_data_end(struct session *session, struct op *op, uint32_t length, bool last, enum wire_status status, bool fault);

/* Ops that name this region (named.h) complete with REFUSAL_LOCAL_CLOSED; their transfers end without their memory. */
void requester_recall(struct session *session, uint64_t desc);

/* A posted op is not to be carried out any more, as far as it was not: takes it out of wherever it waits, and touches its memory no
 * more. False: it is not there. */
bool requester_drop(struct session *session, struct op *op);

/* --- what sets the kinds of ops apart: one row each (op_kinds.c) --- */

struct op_kind_rule {
	/* Queues the op's next request frame. False: no room. */
	bool (*fill)(struct session *session, struct conn *conn, struct op *op);
	uint8_t counter;                 /* enum ep_cntr that counts it; an atomic that fetches is a read */
	void (*resolved)(struct op *op); /* in place of a completion; NULL: it is posted, and completes */
};
extern const struct op_kind_rule op_kinds[OP_KINDS];

/* Asks again for a READ whose data a cut has swallowed, by its old number. False: no room. */
bool op_kinds_read_again(struct session *session, struct conn *conn);
/* Says that a tagged READ has its answer, or wants none any more. False: no room. */
bool op_kinds_say_taken(struct session *session, struct conn *conn);

/* --- posts that are taken back: by fi_cancel(), or as a region of theirs is closed (recall.c) --- */

/* One with this context, of those whose ops all wait to be sent: it completes with REFUSAL_CANCELLED. 0; -ENOENT: there is
 * none; -EAGAIN: unread errors choke its queue. */
int recall_post(struct ep *ep, const void *context);
/* A local region is closed: this endpoint's posts that name it by its descriptor (named.h) and have not completed do so now, with
 * REFUSAL_LOCAL_CLOSED, and touch no byte of it any more, but for receives that no message has taken: see srx_recall(). */
void recall_of_ep(struct ep *ep, uint64_t desc);

#endif
