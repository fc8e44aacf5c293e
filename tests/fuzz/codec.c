/* SPDX-License-Identifier: BSD-2-Clause */
/* codec.c - the validators of frames take any bytes; what they pass is, decoded and encoded again, what it was, and has a
 * line of text.
 *
 * Input: head and body, and a trailer behind them if there is more. */
#include "tests/fuzz/fuzz.h"
#include "wire/frame_text.h"

static size_t again_message(const struct wire_head *head, uint8_t *at)
{
	const struct wire_send *send = wire_body(head);
	struct wire_message_fields fields = { wire_get64(send->tag), wire_get64(send->cq_data), wire_get64(send->auth), false };
	uint64_t length = wire_get64(send->length), seq = wire_get64(head->seq);

	if (head->op == WIRE_SEND)
		return wire_put_send(at, head->flags, (uint32_t)length, seq, &fields);
	return wire_put_rts(at, head->flags, length, seq, &fields);
}

static size_t again_rsend(const struct wire_head *head, uint8_t *at)
{
	const struct wire_rsend *rsend = wire_body(head);
	struct wire_message_fields fields = { 0, wire_get64(rsend->cq_data), wire_get64(rsend->auth),
					      wire_get32(rsend->invalidate) };

	return wire_put_rsend(at, head->flags & ~WIRE_F_LAST, wire_get32(head->payload), wire_get64(head->seq),
			      wire_get64(rsend->rest), &fields);
}

static size_t again_request(const struct wire_head *head, uint8_t *at)
{
	const struct wire_write *write = wire_body(head);
	const struct wire_read *read = wire_body(head);
	const struct wire_taken *taken = wire_body(head);
	const struct wire_cm *cm = wire_body(head);
	uint32_t payload = wire_get32(head->payload);
	uint64_t seq = wire_get64(head->seq);
	struct wire_target_fields to;
	struct wire_atomic_fields atomic;

	switch (head->op) {
	case WIRE_WRITE:
		wire_get_target(&write->to, &to);
		return wire_put_write(at, head->flags & ~WIRE_F_LAST, payload, seq, &to, wire_get64(write->rest),
				      wire_get64(write->cq_data));
	case WIRE_READ:
		wire_get_target(&read->from, &to);
		return wire_put_read(at, head->flags, seq, &to, wire_get64(read->length));
	case WIRE_ATOMIC:
		wire_get_atomic(head, &atomic);
		FUZZ_CHECK(wire_atomic_payload(atomic.kind, atomic.op, atomic.length) == payload);
		return wire_put_atomic(at, head->flags, seq, &atomic);
	case WIRE_SEND:
	case WIRE_RTS:
		return again_message(head, at);
	case WIRE_RSEND:
		return again_rsend(head, at);
	case WIRE_TAKEN:
		return wire_put_taken(at, seq, wire_get64(taken->ref), wire_get32(taken->status));
	default:
		return wire_put_cm(at, head->op, payload, seq, wire_get64(cm->request));
	}
}

static size_t again_answer(const struct wire_head *head, uint8_t *at)
{
	const struct wire_data *data = wire_body(head);
	const struct wire_pull *pull = wire_body(head);
	const struct wire_rnr *rnr = wire_body(head);
	const struct wire_verdict *verdict = wire_body(head);
	uint32_t payload = wire_get32(head->payload);
	struct wire_nak_fields nak;

	switch (head->op) {
	case WIRE_DATA:
		return wire_put_data(at, head->flags & ~WIRE_F_LAST, payload, wire_get64(data->ref), wire_get64(data->offset),
				     wire_get64(data->rest));
	case WIRE_PULL:
		return wire_put_pull(at, wire_get64(pull->ref), wire_get64(pull->offset), wire_get64(pull->length));
	case WIRE_RNR:
		return wire_put_rnr(at, wire_get64(rnr->ref), wire_get32(rnr->wait_us));
	case WIRE_NAK:
		wire_get_nak(head, &nak);
		return wire_put_nak(at, &nak);
	case WIRE_RESULT:
		return wire_put_result(at, payload, wire_get64(verdict->verdict), wire_get64(verdict->ref));
	default:
		return wire_put_verdict(at, head->op, wire_get64(verdict->verdict), wire_get64(verdict->ref));
	}
}

static size_t again_control(const struct wire_head *head, uint8_t *at)
{
	const struct wire_ack *ack = wire_body(head);
	const struct wire_challenge *challenge = wire_body(head);
	const struct wire_proof *proof = wire_body(head);
	struct wire_address_fields to;
	struct wire_hello_fields hello;
	struct wire_pair_fields pair;
	struct wire_bye_fields bye;

	switch (head->op) {
	case WIRE_HELLO:
		wire_get_hello(head, &hello);
		return wire_put_hello(at, &hello);
	case WIRE_BYE:
		wire_get_bye(head, &bye);
		return wire_put_bye(at, bye.reason, bye.text);
	case WIRE_CHALLENGE:
		wire_get_challenged(head, &to);
		return wire_put_challenge(at, challenge->nonce, &to);
	case WIRE_PAIR:
		wire_get_pair(head, &pair);
		return wire_put_pair(at, &pair);
	case WIRE_PROOF:
		return wire_put_proof(at, proof->proof);
	default:
		return wire_put_ack(at, wire_get64(ack->verdict));
	}
}

static void check_again(const struct wire_head *head, size_t length)
{
	uint8_t bytes[WIRE_FRAME_MAX];
	struct wire_head *again = (struct wire_head *)bytes;
	size_t n;

	memset(bytes, 0xa5, sizeof(bytes));
	if (wire_is_request(head->op))
		n = again_request(head, bytes);
	else if (head->op == WIRE_HELLO || head->op == WIRE_BYE || head->op == WIRE_ACK || head->op == WIRE_CHALLENGE ||
		 head->op == WIRE_PROOF || head->op == WIRE_PAIR)
		n = again_control(head, bytes);
	else
		n = again_answer(head, bytes);
	FUZZ_CHECK(n == length);
	again->ack = head->ack;
	again->digest = head->digest;
	FUZZ_CHECK(!memcmp(bytes, head, length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[WIRE_LINE_MAX];
	const struct wire_head *head;
	size_t length;
	uint8_t *bytes;

	if (size < sizeof(*head) || size > WIRE_FRAME_MAX + sizeof(struct wire_trailer))
		return 0;
	length = sizeof(*head) + wire_body_len(data[0]);
	if (size < length || wire_check_head((const struct wire_head *)data, WIRE_SEGMENT_MAX))
		return 0;
	bytes = malloc(length); /* of its own size: what reads behind it is found */
	FUZZ_CHECK(bytes);
	memcpy(bytes, data, length);
	head = (const struct wire_head *)bytes;
	FUZZ_CHECK(wire_text(text, sizeof(text), head) < sizeof(text));
	if ((head->op != WIRE_HELLO || !wire_check_greeting(head)) && !wire_check_body(head))
		check_again(head, length);
	free(bytes);
	if (size >= length + sizeof(struct wire_trailer))
		FUZZ_CHECK(wire_check_trailer((const struct wire_trailer *)(data + length)) < WIRE_FLAWS);
	return 0;
}
