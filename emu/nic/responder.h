/* SPDX-License-Identifier: BSD-2-Clause */
/* responder.h - the target's half of a session: the peer's requests judged, executed, answered.
 *
 * Thread: holder of the driver role. The responder is a ladder: sequence, right of the endpoint, region, range, place.
 * Functions that take a peer's word return NULL if all is well, else what breaks the protocol, for log and BYE. */
#ifndef EMU_NIC_RESPONDER_H
#define EMU_NIC_RESPONDER_H

#include "emu/nic/conn.h"
#include "emu/nic/rx_match.h"
#include "emu/nic/session.h"

/* A READ that is being answered, or a pulled message of this side that is being handed over. */
struct reply {
	struct reply *next;
	uint64_t ref;
	bool     pulled;		/* answers PULL: from `op`; else READ: from a region */
	struct op *op;
	uint64_t key, addr, mr_id;
	uint64_t length;		/* bytes asked for */
	uint64_t offset;		/* of them sent */
	uint64_t start;			/* PULL: where in the message that begins */
};

/* A verdict that is kept until the peer has acknowledged it. */
struct verdict {
	struct verdict *next;
	uint8_t op;			/* WIRE_NAK, WIRE_PARK, WIRE_DONE */
	struct wire_nak_fields fields;	/* PARK, DONE: verdict and ref alone */
};

void responder_init(struct responder *rsp);
/* One request frame, head and body; sets conn->in for its payload. */
const char *responder_request(struct conn *conn, const struct wire_head *head);
/* Its payload is complete (also when there is none). */
const char *responder_request_end(struct conn *conn, enum wire_status status);
/* Is the region that the payload under way goes to still the one that was judged? Else the rest is dropped. */
void responder_recheck(struct conn *conn);
/* The peer asks for the payload of a parked op of ours. */
const char *responder_pull(struct conn *conn, const struct wire_head *head);
/* Payload of a message that was pulled. */
const char *responder_pull_data(struct conn *conn, uint64_t ref, uint64_t offset, uint64_t rest);
void responder_pull_data_end(struct conn *conn, enum wire_status status);
/* A message found its receive in rx_match: completes it, or has its payload pulled. */
void responder_matched(struct message *message, struct rx *rx);
/* Every verdict up to `number` has arrived there. */
const char *responder_verdicts_acked(struct session *session, uint64_t number);

/* Next verdict, PULL or RNR frame; next DATA frame. False: nothing to send, or no room. */
bool responder_fill_control(struct session *session, struct conn *conn);
bool responder_fill_data(struct session *session, struct conn *conn);
bool responder_has_work(const struct session *session);

/* The connection is gone: what was half received is undone or will come again. */
void responder_cut(struct session *session, struct conn *conn);
/* On a new one: verdicts above `verdict_seen` are sent again, pulls asked again. False: the peer's word is wrong. */
bool responder_resume(struct session *session, uint64_t verdict_seen);
/* Forgets all; receives that wait for a pull fail with `cause`. */
void responder_flush(struct session *session, enum refusal_cause cause);
/* Forgets the replies that read from this op. */
void responder_drop_op(struct session *session, const struct op *op);

#endif
