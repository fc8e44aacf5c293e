/* SPDX-License-Identifier: BSD-2-Clause */
/* codec.c - requests and answers: what a body must hold by itself, the table with a row for each op, encoders and decoders.
 * The device checks all that depends on the session's state (order of seq, grants, known refs). */
#include <assert.h>

#include "wire/codec_impl.h"
#include "wire/digest.h"

/* One segment of a WRITE, RSEND or DATA message. `whole`: the flags of a message of one segment, the only one that may be empty. */
static enum wire_flaw wire_check_segment(const struct wire_head *head, uint64_t rest, uint8_t whole)
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

	if (!(head->flags & WIRE_F_CQ_DATA)) {
		if (wire_get64(write->cq_data))
			return WIRE_FLAW_CQ_DATA;
		if (head->flags & WIRE_F_SOLICITED)
			return WIRE_FLAW_SOLICITED;
	}
	return wire_check_segment(head, wire_get64(write->rest), WIRE_F_FIRST | WIRE_F_LAST);
}

static enum wire_flaw check_rsend(const struct wire_head *head)
{
	const struct wire_rsend *rsend = wire_body(head);
	uint32_t invalidate = wire_get32(rsend->invalidate);

	if (wire_get32(rsend->zero))
		return WIRE_FLAW_ZERO;
	if (invalidate > 1 || (invalidate && head->flags & WIRE_F_CQ_DATA))
		return WIRE_FLAW_INVALIDATE;
	if (!invalidate && !(head->flags & WIRE_F_CQ_DATA) && wire_get64(rsend->cq_data))
		return WIRE_FLAW_CQ_DATA;
	return wire_check_segment(head, wire_get64(rsend->rest), WIRE_F_FIRST | WIRE_F_LAST);
}

static enum wire_flaw check_atomic(const struct wire_head *head)
{
	const struct wire_atomic *atomic = wire_body(head);
	uint64_t length = wire_get64(atomic->length);

	if (!wire_all_zero(atomic->zero, sizeof(atomic->zero)))
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
	return wire_check_segment(head, wire_get64(data->rest), WIRE_F_LAST);
}

static enum wire_flaw check_collective(const struct wire_head *head)
{
	const struct wire_send *send = wire_body(head);

	if (head->flags != WIRE_F_COLLECTIVE)
		return WIRE_FLAW_COLLECTIVE;
	if ((wire_get64(send->cq_data) & WIRE_COLL_ABORT) >= WIRE_COLL_WAIT &&
	    (head->op != WIRE_SEND || wire_get64(send->length) || wire_get32(head->payload)))
		return WIRE_FLAW_COLLECTIVE;
	return WIRE_FLAWLESS;
}

static enum wire_flaw check_message(const struct wire_head *head)
{
	const struct wire_send *send = wire_body(head);

	if (head->flags & WIRE_F_COLLECTIVE) {
		enum wire_flaw flaw = check_collective(head);

		if (flaw != WIRE_FLAWLESS)
			return flaw;
	} else {
		if (!(head->flags & WIRE_F_CQ_DATA) && wire_get64(send->cq_data))
			return WIRE_FLAW_CQ_DATA;
		if (!(head->flags & WIRE_F_TAGGED) && wire_get64(send->tag))
			return WIRE_FLAW_TAG;
	}
	if (head->op == WIRE_SEND && wire_get64(send->length) != wire_get32(head->payload))
		return WIRE_FLAW_LENGTH;
	return WIRE_FLAWLESS;
}

static enum wire_flaw check_pull(const struct wire_head *head)
{
	const struct wire_pull *pull = wire_body(head);

	if (wire_get64(pull->zero))
		return WIRE_FLAW_ZERO;
	return wire_get64(pull->ref) ? WIRE_FLAWLESS : WIRE_FLAW_REF;
}

static enum wire_flaw check_rnr(const struct wire_head *head)
{
	const struct wire_rnr *rnr = wire_body(head);

	if (wire_get32(rnr->zero))
		return WIRE_FLAW_ZERO;
	return wire_get64(rnr->ref) ? WIRE_FLAWLESS : WIRE_FLAW_REF;
}

static enum wire_flaw check_ref(wire_u64 verdict, wire_u64 ref)
{
	if (!wire_get64(verdict))
		return WIRE_FLAW_VERDICT;
	return wire_get64(ref) ? WIRE_FLAWLESS : WIRE_FLAW_REF;
}

static enum wire_flaw check_verdict(const struct wire_head *head)
{
	const struct wire_verdict *verdict = wire_body(head);

	if (head->op == WIRE_RESULT && !wire_get32(head->payload))
		return WIRE_FLAW_RESULT;
	return check_ref(verdict->verdict, verdict->ref);
}

static enum wire_flaw check_nak(const struct wire_head *head)
{
	const struct wire_nak *nak = wire_body(head);

	if (wire_get64(nak->zero))
		return WIRE_FLAW_ZERO;
	if (!wire_get32(nak->cause))
		return WIRE_FLAW_CAUSE;
	return check_ref(nak->verdict, nak->ref);
}

/* WIRE-88 */
static enum wire_flaw check_taken(const struct wire_head *head)
{
	const struct wire_taken *taken = wire_body(head);

	if (wire_get32(taken->zero))
		return WIRE_FLAW_ZERO;
	if (!wire_get64(taken->ref) || wire_get64(taken->ref) >= wire_get64(head->seq))
		return WIRE_FLAW_REF;
	return wire_get32(taken->status) <= WIRE_CANCELLED ? WIRE_FLAWLESS : WIRE_FLAW_STATUS;
}

#define ATOMIC_FLAGS (WIRE_F_CQ_DATA | WIRE_F_COMMIT | WIRE_F_SETTLES | WIRE_F_DELIVERED)
#define MESSAGE_FLAGS (WIRE_F_CQ_DATA | WIRE_F_TAGGED | WIRE_F_COLLECTIVE | WIRE_F_SETTLES)
#define WRITE_FLAGS                                                                                                        \
	(WIRE_F_CQ_DATA | WIRE_F_COMMIT | WIRE_F_FIRST | WIRE_F_LAST | WIRE_F_TAGGED | WIRE_F_SOLICITED | WIRE_F_SETTLES | \
	 WIRE_F_DELIVERED)
#define RSEND_FLAGS (WIRE_F_CQ_DATA | WIRE_F_FIRST | WIRE_F_LAST | WIRE_F_SOLICITED)

/* A request about a region; another request; an answer or a frame of the greeting. */
#define RMA(text, type) .name = text, .body = sizeof(struct wire_##type), .sequenced = true, .targets = true
#define REQUEST(text, type) .name = text, .body = sizeof(struct wire_##type), .sequenced = true
#define FRAME(text, type) .name = text, .body = sizeof(struct wire_##type)

const struct wire_form wire_forms[256] = {
	[WIRE_HELLO] = { FRAME("HELLO", hello), .check = wire_check_hello },
	[WIRE_BYE] = { FRAME("BYE", bye), .check = wire_check_bye },
	[WIRE_ACK] = { FRAME("ACK", ack) },
	[WIRE_CHALLENGE] = { FRAME("CHALLENGE", challenge), .check = wire_check_challenge },
	[WIRE_PROOF] = { FRAME("PROOF", proof) },
	[WIRE_PAIR] = { FRAME("PAIR", pair), .check = wire_check_pair },
	[WIRE_WRITE] = { RMA("WRITE", write), .flags = WRITE_FLAGS, .payload = WIRE_PAYLOAD_BULK, .check = check_write },
	[WIRE_READ] = { RMA("READ", read), .flags = WIRE_F_TAGGED | WIRE_F_SETTLES },
	[WIRE_SEND] = { REQUEST("SEND", send), .flags = MESSAGE_FLAGS, .payload = WIRE_PAYLOAD_BULK, .check = check_message },
	[WIRE_RTS] = { REQUEST("RTS", send), .flags = MESSAGE_FLAGS, .check = check_message },
	[WIRE_ATOMIC] = { RMA("ATOMIC", atomic), .flags = ATOMIC_FLAGS, .payload = WIRE_PAYLOAD_ATOMIC, .check = check_atomic },
	[WIRE_CONNECT] = { REQUEST("CONNECT", cm), .payload = WIRE_PAYLOAD_BULK, .check = check_cm },
	[WIRE_ACCEPT] = { REQUEST("ACCEPT", cm), .payload = WIRE_PAYLOAD_BULK, .check = check_cm },
	[WIRE_REJECT] = { REQUEST("REJECT", cm), .payload = WIRE_PAYLOAD_BULK, .check = check_cm },
	[WIRE_TAKEN] = { REQUEST("TAKEN", taken), .check = check_taken },
	[WIRE_RSEND] = { REQUEST("RSEND", rsend), .flags = RSEND_FLAGS, .payload = WIRE_PAYLOAD_BULK, .check = check_rsend },
	[WIRE_DATA] = { FRAME("DATA", data), .flags = WIRE_F_LAST | WIRE_F_PULLED, .payload = WIRE_PAYLOAD_BULK,
			.check = check_data },
	[WIRE_PULL] = { FRAME("PULL", pull), .check = check_pull },
	[WIRE_RNR] = { FRAME("RNR", rnr), .check = check_rnr },
	[WIRE_NAK] = { FRAME("NAK", nak), .check = check_nak },
	[WIRE_PARK] = { FRAME("PARK", verdict), .check = check_verdict },
	[WIRE_DONE] = { FRAME("DONE", verdict), .check = check_verdict },
	[WIRE_RESULT] = { FRAME("RESULT", verdict), .payload = WIRE_PAYLOAD_ATOMIC, .check = check_verdict },
};
static_assert(offsetof(struct wire_write, to) == 0 && offsetof(struct wire_read, from) == 0 &&
		      offsetof(struct wire_atomic, to) == 0,
	      "a body of RMA() begins with the target");

void wire_get_nak(const struct wire_head *head, struct wire_nak_fields *fields)
{
	const struct wire_nak *nak = wire_body(head);

	assert(head->op == WIRE_NAK);
	*fields = (struct wire_nak_fields){
		.verdict = wire_get64(nak->verdict),
		.ref = wire_get64(nak->ref),
		.cause = wire_get32(nak->cause),
		.access = wire_get32(nak->access),
		.region = wire_get64(nak->region),
		.excess = wire_get64(nak->excess),
		.age_ns = wire_get64(nak->age_ns),
	};
}

size_t wire_put_ack(void *at, uint64_t verdict)
{
	struct wire_ack *ack = wire_put_head(at, WIRE_ACK, 0, 0, 0);

	ack->verdict = wire_put64(verdict);
	return wire_frame_len(WIRE_ACK);
}

static struct wire_target put_target(const struct wire_target_fields *to)
{
	return (struct wire_target){
		.key = wire_put64(to->key),
		.key_tail = wire_put64(to->key_tail),
		.auth = wire_put64(to->auth),
		.addr = wire_put64(to->addr),
	};
}

void wire_get_target(const struct wire_target *target, struct wire_target_fields *fields)
{
	*fields = (struct wire_target_fields){
		.key = wire_get64(target->key),
		.key_tail = wire_get64(target->key_tail),
		.auth = wire_get64(target->auth),
		.addr = wire_get64(target->addr),
	};
}

size_t wire_put_write(void *at, uint8_t flags, uint32_t payload, uint64_t seq, const struct wire_target_fields *to, uint64_t rest,
		      uint64_t cq_data)
{
	uint8_t last = rest == payload ? WIRE_F_LAST : 0;
	struct wire_write *write = wire_put_head(at, WIRE_WRITE, flags | last, payload, seq);

	*write = (struct wire_write){
		.to = put_target(to),
		.rest = wire_put64(rest),
		.cq_data = wire_put64(cq_data),
	};
	return wire_frame_len(WIRE_WRITE);
}

size_t wire_put_read(void *at, uint8_t flags, uint64_t seq, const struct wire_target_fields *from, uint64_t length)
{
	struct wire_read *read = wire_put_head(at, WIRE_READ, flags, 0, seq);

	*read = (struct wire_read){ .from = put_target(from), .length = wire_put64(length) };
	return wire_frame_len(WIRE_READ);
}

size_t wire_put_atomic(void *at, uint8_t flags, uint64_t seq, const struct wire_atomic_fields *fields)
{
	uint64_t payload = wire_atomic_payload(fields->kind, fields->op, fields->length);
	struct wire_atomic *atomic = wire_put_head(at, WIRE_ATOMIC, flags, (uint32_t)payload, seq);

	*atomic = (struct wire_atomic){
		.to = put_target(&fields->to),
		.length = wire_put64(fields->length),
		.cq_data = wire_put64(fields->cq_data),
		.kind = fields->kind,
		.op = fields->op,
		.type = fields->type,
	};
	return wire_frame_len(WIRE_ATOMIC);
}

void wire_get_atomic(const struct wire_head *head, struct wire_atomic_fields *fields)
{
	const struct wire_atomic *atomic = wire_body(head);

	assert(head->op == WIRE_ATOMIC);
	wire_get_target(&atomic->to, &fields->to);
	fields->length = wire_get64(atomic->length);
	fields->cq_data = wire_get64(atomic->cq_data);
	fields->kind = atomic->kind;
	fields->op = atomic->op;
	fields->type = atomic->type;
}

static void put_message(struct wire_send *send, uint64_t length, const struct wire_message_fields *fields)
{
	*send = (struct wire_send){
		.length = wire_put64(length),
		.tag = wire_put64(fields->tag),
		.cq_data = wire_put64(fields->cq_data),
		.auth = wire_put64(fields->auth),
	};
}

size_t wire_put_send(void *at, uint8_t flags, uint32_t length, uint64_t seq, const struct wire_message_fields *fields)
{
	put_message(wire_put_head(at, WIRE_SEND, flags, length, seq), length, fields);
	return wire_frame_len(WIRE_SEND);
}

size_t wire_put_rts(void *at, uint8_t flags, uint64_t length, uint64_t seq, const struct wire_message_fields *fields)
{
	put_message(wire_put_head(at, WIRE_RTS, flags, 0, seq), length, fields);
	return wire_frame_len(WIRE_RTS);
}

size_t wire_put_rsend(void *at, uint8_t flags, uint32_t payload, uint64_t seq, uint64_t rest,
		      const struct wire_message_fields *fields)
{
	uint8_t last = rest == payload ? WIRE_F_LAST : 0;
	struct wire_rsend *rsend = wire_put_head(at, WIRE_RSEND, flags | last, payload, seq);

	*rsend = (struct wire_rsend){
		.rest = wire_put64(rest),
		.cq_data = wire_put64(fields->cq_data),
		.auth = wire_put64(fields->auth),
		.invalidate = wire_put32(fields->invalidate),
	};
	return wire_frame_len(WIRE_RSEND);
}

size_t wire_put_cm(void *at, uint8_t op, uint32_t payload, uint64_t seq, uint64_t request)
{
	struct wire_cm *cm = wire_put_head(at, op, 0, payload, seq);

	assert(op >= WIRE_CONNECT && op <= WIRE_REJECT);
	*cm = (struct wire_cm){ .request = wire_put64(request) };
	return wire_frame_len(op);
}

size_t wire_put_taken(void *at, uint64_t seq, uint64_t ref, enum wire_status status)
{
	struct wire_taken *taken = wire_put_head(at, WIRE_TAKEN, 0, 0, seq);

	*taken = (struct wire_taken){ .ref = wire_put64(ref), .status = wire_put32(status) };
	return wire_frame_len(WIRE_TAKEN);
}

size_t wire_put_data(void *at, uint8_t flags, uint32_t payload, uint64_t ref, uint64_t offset, uint64_t rest)
{
	struct wire_data *data = wire_put_head(at, WIRE_DATA, flags | (rest == payload ? WIRE_F_LAST : 0), payload, 0);

	*data = (struct wire_data){
		.ref = wire_put64(ref),
		.offset = wire_put64(offset),
		.rest = wire_put64(rest),
	};
	return wire_frame_len(WIRE_DATA);
}

size_t wire_put_pull(void *at, uint64_t ref, uint64_t offset, uint64_t length)
{
	struct wire_pull *pull = wire_put_head(at, WIRE_PULL, 0, 0, 0);

	*pull = (struct wire_pull){
		.ref = wire_put64(ref),
		.offset = wire_put64(offset),
		.length = wire_put64(length),
	};
	return wire_frame_len(WIRE_PULL);
}

size_t wire_put_rnr(void *at, uint64_t ref, uint32_t wait_us)
{
	struct wire_rnr *rnr = wire_put_head(at, WIRE_RNR, 0, 0, 0);

	*rnr = (struct wire_rnr){ .ref = wire_put64(ref), .wait_us = wire_put32(wait_us) };
	return wire_frame_len(WIRE_RNR);
}

size_t wire_put_nak(void *at, const struct wire_nak_fields *fields)
{
	struct wire_nak *nak = wire_put_head(at, WIRE_NAK, 0, 0, 0);

	*nak = (struct wire_nak){
		.verdict = wire_put64(fields->verdict),
		.ref = wire_put64(fields->ref),
		.cause = wire_put32(fields->cause),
		.access = wire_put32(fields->access),
		.region = wire_put64(fields->region),
		.excess = wire_put64(fields->excess),
		.age_ns = wire_put64(fields->age_ns),
	};
	return wire_frame_len(WIRE_NAK);
}

size_t wire_put_verdict(void *at, uint8_t op, uint64_t verdict, uint64_t ref)
{
	struct wire_verdict *body = wire_put_head(at, op, 0, 0, 0);

	assert(op == WIRE_PARK || op == WIRE_DONE);
	*body = (struct wire_verdict){ .verdict = wire_put64(verdict), .ref = wire_put64(ref) };
	return wire_frame_len(op);
}

size_t wire_put_result(void *at, uint32_t payload, uint64_t verdict, uint64_t ref)
{
	struct wire_verdict *body = wire_put_head(at, WIRE_RESULT, 0, payload, 0);

	*body = (struct wire_verdict){ .verdict = wire_put64(verdict), .ref = wire_put64(ref) };
	return wire_frame_len(WIRE_RESULT);
}

size_t wire_put_trailer(void *at, enum wire_status status, uint64_t digest)
{
	struct wire_trailer *trailer = at;

	*trailer = (struct wire_trailer){
		.status = wire_put32(status),
		.digest = wire_put64(wire_trailer_digest(status, digest)),
	};
	return sizeof(*trailer);
}

void wire_end_badly(struct wire_trailer *trailer, enum wire_status status)
{
	if (wire_get32(trailer->status) == WIRE_GOOD)
		wire_put_trailer(trailer, status, wire_get64(trailer->digest));
}

void wire_seal(struct wire_head *head, uint64_t ack, bool digest)
{
	assert(!wire_greets(head->op) || (ack == 0 && digest));
	head->ack = wire_put64(ack);
	head->digest = wire_put64(0);
	if (digest)
		head->digest = wire_put64(digest_blank_head(head));
}
