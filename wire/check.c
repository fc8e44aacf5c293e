/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - the validators of codec.h: does PROTOCOL.md allow a peer's frame, taken by itself? The device checks all
 * that depends on the session's state (order of seq, grants, known refs). */
#include <assert.h>

#include "wire/codec.h"

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
	[WIRE_FLAW_LENGTH] = "SEND's length is not that of its payload (WIRE-44)",
	[WIRE_FLAW_REF] = "answer to request zero (WIRE-45)",
	[WIRE_FLAW_VERDICT] = "verdict number is zero (WIRE-46)",
	[WIRE_FLAW_CAUSE] = "NAK without a cause (WIRE-48)",
	[WIRE_FLAW_ATOMIC] = "ATOMIC of unknown kind, op or type, or with a wrong length or payload (WIRE-75)",
	[WIRE_FLAW_RESULT] = "RESULT without payload (WIRE-76)",
	[WIRE_FLAW_CM] = "CONNECT, ACCEPT or REJECT that names no request, or with too much data (WIRE-80)",
	[WIRE_FLAW_STATUS] = "trailer status is unknown (WIRE-10)",
	[WIRE_FLAW_PAYLOAD_DIGEST] = "payload or status has another digest: changed on the way, or while it was sent (WIRE-11)",
};

const char *wire_flaw_name(enum wire_flaw flaw)
{
	assert(flaw < WIRE_FLAWS && flaw_names[flaw]);
	return flaw_names[flaw];
}

static bool all_zero(const uint8_t *bytes, size_t length)
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

enum wire_flaw wire_check_greeting(const struct wire_head *head)
{
	const struct wire_hello *hello = wire_body(head);
	uint16_t min = wire_get16(hello->version_min);
	uint16_t max = wire_get16(hello->version_max);

	if (memcmp(hello->magic, WIRE_MAGIC, sizeof(hello->magic)))
		return WIRE_FLAW_MAGIC;
	if (min == 0 || min > max)
		return WIRE_FLAW_VERSION_RANGE;
	if (min > WIRE_VERSION_MAX || max < WIRE_VERSION_MIN)
		return WIRE_FLAW_VERSION;
	return WIRE_FLAWLESS;
}

bool wire_address_is_good(uint16_t family, uint16_t port, const uint8_t addr[16], uint32_t scope)
{
	if (!port)
		return false;
	return family == 6 || (family == 4 && all_zero(addr + 4, 12) && !scope);
}

static enum wire_flaw check_hello(const struct wire_head *head)
{
	const struct wire_hello *hello = wire_body(head);
	uint32_t segment = wire_get32(hello->segment);
	enum wire_flaw flaw = wire_check_greeting(head);

	if (flaw)
		return flaw;
	if (all_zero(hello->instance, sizeof(hello->instance)))
		return WIRE_FLAW_INSTANCE;
	if (!wire_get64(hello->session) || !wire_get64(hello->epoch))
		return WIRE_FLAW_SESSION;
	if (!wire_get32(hello->requests) || !wire_get32(hello->reads))
		return WIRE_FLAW_GRANT;
	if (segment < WIRE_SEGMENT_MIN || segment > WIRE_SEGMENT_MAX)
		return WIRE_FLAW_SEGMENT;
	if (wire_get16(hello->zero))
		return WIRE_FLAW_ZERO;
	return wire_address_is_good(wire_get16(hello->family), wire_get16(hello->port), hello->addr, wire_get32(hello->scope)) ?
	       WIRE_FLAWLESS : WIRE_FLAW_ADDRESS;
}

static enum wire_flaw check_bye(const struct wire_bye *bye)
{
	uint32_t reason = wire_get32(bye->reason);
	size_t length = 0;

	if (wire_get32(bye->zero))
		return WIRE_FLAW_ZERO;
	if (reason < WIRE_BYE_CLOSED || reason > WIRE_BYE_CLAIM)
		return WIRE_FLAW_BYE;
	while (length < WIRE_TEXT_LEN && bye->text[length] >= ' ' && bye->text[length] <= '~')
		length++;
	return all_zero(bye->text + length, WIRE_TEXT_LEN - length) ? WIRE_FLAWLESS : WIRE_FLAW_BYE;
}

static enum wire_flaw check_challenge(const struct wire_challenge *challenge)
{
	if (wire_get32(challenge->zero))
		return WIRE_FLAW_ZERO;
	return wire_address_is_good(wire_get16(challenge->family), wire_get16(challenge->port), challenge->addr, 0) ?
	       WIRE_FLAWLESS : WIRE_FLAW_ADDRESS;
}

/* One segment of a WRITE or DATA message. `whole`: the flags of a message of one segment, the only one that may be empty. */
static enum wire_flaw check_segment(const struct wire_head *head, uint64_t rest, uint8_t whole)
{
	uint32_t payload = wire_get32(head->payload);

	if (rest < payload)
		return WIRE_FLAW_REST;
	if ((rest == payload) != ((head->flags & WIRE_F_LAST) != 0))
		return WIRE_FLAW_LAST;
	if (!payload && (head->flags & whole) != whole)
		return WIRE_FLAW_EMPTY;
	return WIRE_FLAWLESS;
}

static enum wire_flaw check_write(const struct wire_head *head)
{
	const struct wire_write *write = wire_body(head);

	if (!(head->flags & WIRE_F_CQ_DATA) && wire_get64(write->cq_data))
		return WIRE_FLAW_CQ_DATA;
	return check_segment(head, wire_get64(write->rest), WIRE_F_FIRST | WIRE_F_LAST);
}

static enum wire_flaw check_atomic(const struct wire_head *head)
{
	const struct wire_atomic *atomic = wire_body(head);
	uint64_t length = wire_get64(atomic->length);

	if (!all_zero(atomic->zero, sizeof(atomic->zero)))
		return WIRE_FLAW_ZERO;
	if (!(head->flags & WIRE_F_CQ_DATA) && wire_get64(atomic->cq_data))
		return WIRE_FLAW_CQ_DATA;
	if (atomic->kind > WIRE_ATOMIC_COMPARE || atomic->op >= WIRE_ATOMIC_OPS || atomic->type >= WIRE_ATOMIC_TYPES)
		return WIRE_FLAW_ATOMIC;
	if (length == 0 || length > WIRE_ATOMIC_MAX ||
	    wire_get32(head->payload) != wire_atomic_payload(atomic->kind, atomic->op, length))
		return WIRE_FLAW_ATOMIC;
	return WIRE_FLAWLESS;
}

static enum wire_flaw check_cm(const struct wire_head *head)
{
	const struct wire_cm *cm = wire_body(head);

	if (wire_get64(cm->zero))
		return WIRE_FLAW_ZERO;
	return wire_get64(cm->request) && wire_get32(head->payload) <= WIRE_CM_DATA_MAX ? WIRE_FLAWLESS : WIRE_FLAW_CM;
}

static enum wire_flaw check_data(const struct wire_head *head)
{
	const struct wire_data *data = wire_body(head);

	if (wire_get64(data->zero))
		return WIRE_FLAW_ZERO;
	if (!wire_get64(data->ref))
		return WIRE_FLAW_REF;
	return check_segment(head, wire_get64(data->rest), WIRE_F_LAST);
}

static enum wire_flaw check_message(const struct wire_head *head)
{
	const struct wire_send *send = wire_body(head);

	if (!(head->flags & WIRE_F_CQ_DATA) && wire_get64(send->cq_data))
		return WIRE_FLAW_CQ_DATA;
	if (!(head->flags & WIRE_F_TAGGED) && wire_get64(send->tag))
		return WIRE_FLAW_TAG;
	if (head->op == WIRE_SEND && wire_get64(send->length) != wire_get32(head->payload))
		return WIRE_FLAW_LENGTH;
	return WIRE_FLAWLESS;
}

static enum wire_flaw check_pull(const struct wire_pull *pull)
{
	if (wire_get64(pull->zero))
		return WIRE_FLAW_ZERO;
	return wire_get64(pull->ref) ? WIRE_FLAWLESS : WIRE_FLAW_REF;
}

static enum wire_flaw check_rnr(const struct wire_rnr *rnr)
{
	if (wire_get32(rnr->zero))
		return WIRE_FLAW_ZERO;
	return wire_get64(rnr->ref) ? WIRE_FLAWLESS : WIRE_FLAW_REF;
}

static enum wire_flaw check_verdict(wire_u64 verdict, wire_u64 ref)
{
	if (!wire_get64(verdict))
		return WIRE_FLAW_VERDICT;
	return wire_get64(ref) ? WIRE_FLAWLESS : WIRE_FLAW_REF;
}

static enum wire_flaw check_nak(const struct wire_nak *nak)
{
	if (wire_get64(nak->zero))
		return WIRE_FLAW_ZERO;
	if (!wire_get32(nak->cause))
		return WIRE_FLAW_CAUSE;
	return check_verdict(nak->verdict, nak->ref);
}

enum wire_flaw wire_check_body(const struct wire_head *head)
{
	const struct wire_verdict *verdict = wire_body(head);

	switch ((enum wire_op)head->op) {
	case WIRE_HELLO:
		return check_hello(head);
	case WIRE_BYE:
		return check_bye(wire_body(head));
	case WIRE_CHALLENGE:
		return check_challenge(wire_body(head));
	case WIRE_ACK:
	case WIRE_PROOF:
		return WIRE_FLAWLESS;
	case WIRE_WRITE:
		return check_write(head);
	case WIRE_READ:
		return WIRE_FLAWLESS;
	case WIRE_SEND:
	case WIRE_RTS:
		return check_message(head);
	case WIRE_ATOMIC:
		return check_atomic(head);
	case WIRE_CONNECT:
	case WIRE_ACCEPT:
	case WIRE_REJECT:
		return check_cm(head);
	case WIRE_DATA:
		return check_data(head);
	case WIRE_PULL:
		return check_pull(wire_body(head));
	case WIRE_RNR:
		return check_rnr(wire_body(head));
	case WIRE_NAK:
		return check_nak(wire_body(head));
	case WIRE_RESULT:
		if (!wire_get32(head->payload))
			return WIRE_FLAW_RESULT;
		return check_verdict(verdict->verdict, verdict->ref);
	case WIRE_PARK:
	case WIRE_DONE:
		return check_verdict(verdict->verdict, verdict->ref);
	}
	return WIRE_FLAW_OP;
}

enum wire_flaw wire_check_trailer(const struct wire_trailer *trailer)
{
	if (wire_get32(trailer->zero))
		return WIRE_FLAW_ZERO;
	return wire_get32(trailer->status) <= WIRE_CANCELLED ? WIRE_FLAWLESS : WIRE_FLAW_STATUS;
}
