/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - does PROTOCOL.md allow a peer's frame, taken by itself? Names of the flaws, head and trailer; what a body must hold
 * stands with its op, in codec.c and greeting.c. */
#include <assert.h>

#include "wire/codec_impl.h"

static const char *const flaw_names[WIRE_FLAWS] = {
	[WIRE_FLAWLESS] = "nothing wrong",
	[WIRE_FLAW_OP] = "unknown op (WIRE-3)",
	[WIRE_FLAW_NOT_HELLO] = "first frame is neither HELLO nor BYE: not an emu peer? (WIRE-20)",
	[WIRE_FLAW_SECOND_HELLO] = "second HELLO on a connection (WIRE-20)",
	[WIRE_FLAW_PROOF] = "CHALLENGE or PROOF where no secret is to be proved (WIRE-101)",
	[WIRE_FLAW_FLAGS] = "flag that the op does not have (WIRE-4)",
	[WIRE_FLAW_ZERO] = "reserved field is not zero (WIRE-5)",
	[WIRE_FLAW_PAYLOAD] = "payload on an op that carries none (WIRE-6)",
	[WIRE_FLAW_PAYLOAD_LONG] = "payload longer than the segment granted (WIRE-7)",
	[WIRE_FLAW_SEQ_MISSING] = "request without sequence number (WIRE-8)",
	[WIRE_FLAW_SEQ] = "sequence number on a frame that is no request (WIRE-8)",
	[WIRE_FLAW_HELLO_ACK] = "HELLO, CHALLENGE or PROOF carries an acknowledgement (WIRE-27)",
	[WIRE_FLAW_HEAD_DIGEST] = "head digest does not match (WIRE-9)",
	[WIRE_FLAW_MAGIC] = "HELLO without the magic bytes: not an emu peer? (WIRE-21)",
	[WIRE_FLAW_VERSION_RANGE] = "HELLO's version range is empty (WIRE-22)",
	[WIRE_FLAW_VERSION] = "no wire version in common (WIRE-22)",
	[WIRE_FLAW_INSTANCE] = "HELLO's instance id is zero (WIRE-23)",
	[WIRE_FLAW_SESSION] = "HELLO's session id or epoch is zero (WIRE-24)",
	[WIRE_FLAW_GRANT] = "HELLO grants no requests or no reads (WIRE-25)",
	[WIRE_FLAW_SEGMENT] = "HELLO grants a segment out of bounds (WIRE-25)",
	[WIRE_FLAW_ADDRESS] = "address in HELLO or CHALLENGE is malformed (WIRE-26, WIRE-105)",
	[WIRE_FLAW_BYE] = "BYE's reason is unknown or its text malformed (WIRE-40)",
	[WIRE_FLAW_REST] = "rest is less than the payload (WIRE-41)",
	[WIRE_FLAW_LAST] = "LAST flag and rest disagree (WIRE-41)",
	[WIRE_FLAW_EMPTY] = "empty segment that is not a whole message (WIRE-41)",
	[WIRE_FLAW_CQ_DATA] = "CQ data without its flag (WIRE-42)",
	[WIRE_FLAW_TAG] = "tag without its flag (WIRE-43)",
	[WIRE_FLAW_COLLECTIVE] = "COLLECTIVE beside another flag; an abort or a wait with a payload (WIRE-120, WIRE-122, WIRE-124)",
	[WIRE_FLAW_LENGTH] = "SEND's length is not that of its payload (WIRE-44)",
	[WIRE_FLAW_INVALIDATE] = "RSEND that invalidates and has CQ data, or an unknown sort (WIRE-146)",
	[WIRE_FLAW_SOLICITED] = "WRITE with SOLICITED and without CQ data (WIRE-42)",
	[WIRE_FLAW_REF] = "answer to request zero, or TAKEN of no earlier one (WIRE-45, WIRE-88)",
	[WIRE_FLAW_VERDICT] = "verdict number is zero (WIRE-46)",
	[WIRE_FLAW_CAUSE] = "NAK without a cause (WIRE-48)",
	[WIRE_FLAW_ATOMIC] = "ATOMIC of unknown kind, op or type, or with a wrong length or payload (WIRE-75)",
	[WIRE_FLAW_RESULT] = "RESULT without payload (WIRE-76)",
	[WIRE_FLAW_PAIR] = "PAIR with a packet sequence number of more than 24 bits, or without a path MTU (WIRE-141)",
	[WIRE_FLAW_CM] = "CONNECT, ACCEPT or REJECT that names no request, or with too much data (WIRE-80)",
	[WIRE_FLAW_STATUS] = "trailer status is unknown (WIRE-10)",
	[WIRE_FLAW_PAYLOAD_DIGEST] = "payload or status has another digest: changed on the way, or while it was sent (WIRE-11)",
};

const char *wire_flaw_name(enum wire_flaw flaw)
{
	assert(flaw < WIRE_FLAWS && flaw_names[flaw]);
	return flaw_names[flaw];
}

bool wire_all_zero(const uint8_t *bytes, size_t length)
{
	uint8_t any = 0;

	while (length)
		any |= bytes[--length];
	return !any;
}

enum wire_flaw wire_check_head(const struct wire_head *head, uint32_t segment_max)
{
	const struct wire_form *form = &wire_forms[head->op];
	uint32_t payload = wire_get32(head->payload);
	bool seq = wire_get64(head->seq) != 0;

	if (!form->body)
		return WIRE_FLAW_OP;
	if (head->flags & ~form->flags)
		return WIRE_FLAW_FLAGS;
	if (wire_get16(head->zero))
		return WIRE_FLAW_ZERO;
	if (payload && !form->payload)
		return WIRE_FLAW_PAYLOAD;
	if (payload > segment_max)
		return WIRE_FLAW_PAYLOAD_LONG;
	if (seq != form->sequenced)
		return seq ? WIRE_FLAW_SEQ : WIRE_FLAW_SEQ_MISSING;
	if (wire_greets(head->op) && wire_get64(head->ack))
		return WIRE_FLAW_HELLO_ACK;
	return WIRE_FLAWLESS;
}

enum wire_flaw wire_check_body(const struct wire_head *head)
{
	const struct wire_form *form = &wire_forms[head->op];

	return form->check ? form->check(head) : WIRE_FLAWLESS;
}

enum wire_flaw wire_check_trailer(const struct wire_trailer *trailer)
{
	if (wire_get32(trailer->zero))
		return WIRE_FLAW_ZERO;
	return wire_get32(trailer->status) <= WIRE_CANCELLED ? WIRE_FLAWLESS : WIRE_FLAW_STATUS;
}
