/* SPDX-License-Identifier: BSD-2-Clause */
/* codec.c - the table of ops, and the encoders and decoders of frames. The validators are in check.c. */
#include "wire/codec.h"

#include <assert.h>

#include "wire/digest.h"

#define ATOMIC_FLAGS (WIRE_F_CQ_DATA | WIRE_F_COMMIT)
#define MESSAGE_FLAGS (WIRE_F_CQ_DATA | WIRE_F_TAGGED)
#define WRITE_FLAGS (WIRE_F_CQ_DATA | WIRE_F_COMMIT | WIRE_F_FIRST | WIRE_F_LAST)

const struct wire_form wire_forms[256] = {
	[WIRE_HELLO] = { .body = sizeof(struct wire_hello) },
	[WIRE_BYE] = { .body = sizeof(struct wire_bye) },
	[WIRE_ACK] = { .body = sizeof(struct wire_ack) },
	[WIRE_CHALLENGE] = { .body = sizeof(struct wire_challenge) },
	[WIRE_PROOF] = { .body = sizeof(struct wire_proof) },
	[WIRE_WRITE] = { sizeof(struct wire_write), WRITE_FLAGS, .payload = WIRE_PAYLOAD_BULK, .sequenced = true },
	[WIRE_READ] = { sizeof(struct wire_read), .sequenced = true },
	[WIRE_SEND] = { sizeof(struct wire_send), MESSAGE_FLAGS, .payload = WIRE_PAYLOAD_BULK, .sequenced = true },
	[WIRE_RTS] = { sizeof(struct wire_send), MESSAGE_FLAGS, .sequenced = true },
	[WIRE_ATOMIC] = { sizeof(struct wire_atomic), ATOMIC_FLAGS, .payload = WIRE_PAYLOAD_ATOMIC, .sequenced = true },
	[WIRE_CONNECT] = { sizeof(struct wire_cm), .payload = WIRE_PAYLOAD_BULK, .sequenced = true },
	[WIRE_ACCEPT] = { sizeof(struct wire_cm), .payload = WIRE_PAYLOAD_BULK, .sequenced = true },
	[WIRE_REJECT] = { sizeof(struct wire_cm), .payload = WIRE_PAYLOAD_BULK, .sequenced = true },
	[WIRE_DATA] = { sizeof(struct wire_data), WIRE_F_LAST | WIRE_F_PULLED, .payload = WIRE_PAYLOAD_BULK },
	[WIRE_PULL] = { .body = sizeof(struct wire_pull) },
	[WIRE_RNR] = { .body = sizeof(struct wire_rnr) },
	[WIRE_NAK] = { .body = sizeof(struct wire_nak) },
	[WIRE_PARK] = { .body = sizeof(struct wire_verdict) },
	[WIRE_DONE] = { .body = sizeof(struct wire_verdict) },
	[WIRE_RESULT] = { sizeof(struct wire_verdict), .payload = WIRE_PAYLOAD_ATOMIC },
};

void wire_get_hello(const struct wire_head *head, struct wire_hello_fields *fields)
{
	const struct wire_hello *hello = wire_body(head);

	assert(head->op == WIRE_HELLO);
	fields->version_min = wire_get16(hello->version_min);
	fields->version_max = wire_get16(hello->version_max);
	fields->features = wire_get32(hello->features);
	memcpy(fields->instance, hello->instance, WIRE_ID_LEN);
	memcpy(fields->expected, hello->expected, WIRE_ID_LEN);
	fields->session = wire_get64(hello->session);
	fields->epoch = wire_get64(hello->epoch);
	fields->seen = wire_get64(hello->seen);
	fields->verdict_seen = wire_get64(hello->verdict_seen);
	fields->requests = wire_get32(hello->requests);
	fields->reads = wire_get32(hello->reads);
	fields->segment = wire_get32(hello->segment);
	fields->at.family = wire_get16(hello->family);
	fields->at.port = wire_get16(hello->port);
	memcpy(fields->at.addr, hello->addr, sizeof(fields->at.addr));
	fields->at.scope = wire_get32(hello->scope);
	fields->known_port = wire_get16(hello->known_port);
}

void wire_get_challenged(const struct wire_head *head, struct wire_address_fields *to)
{
	const struct wire_challenge *challenge = wire_body(head);

	assert(head->op == WIRE_CHALLENGE);
	*to = (struct wire_address_fields){ .family = wire_get16(challenge->family), .port = wire_get16(challenge->port) };
	memcpy(to->addr, challenge->addr, sizeof(to->addr));
}

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

void wire_get_bye(const struct wire_head *head, struct wire_bye_fields *fields)
{
	const struct wire_bye *bye = wire_body(head);

	assert(head->op == WIRE_BYE);
	fields->reason = (enum wire_bye_reason)wire_get32(bye->reason);
	memcpy(fields->text, bye->text, WIRE_TEXT_LEN);
	fields->text[WIRE_TEXT_LEN] = 0;
}

/* Writes the head and returns where the body goes. */
static void *put_head(void *at, uint8_t op, uint8_t flags, uint32_t payload, uint64_t seq)
{
	struct wire_head *head = at;

	assert(!(flags & ~wire_forms[op].flags));
	*head = (struct wire_head){
		.op = op,
		.flags = flags,
		.payload = wire_put32(payload),
		.seq = wire_put64(seq),
	};
	return head + 1;
}

static size_t frame_len(uint8_t op)
{
	return sizeof(struct wire_head) + wire_body_len(op);
}

size_t wire_put_hello(void *at, const struct wire_hello_fields *fields)
{
	struct wire_hello *hello = put_head(at, WIRE_HELLO, 0, 0, 0);

	memset(hello, 0, sizeof(*hello));
	memcpy(hello->magic, WIRE_MAGIC, sizeof(hello->magic));
	hello->version_min = wire_put16(fields->version_min);
	hello->version_max = wire_put16(fields->version_max);
	hello->features = wire_put32(fields->features);
	memcpy(hello->instance, fields->instance, WIRE_ID_LEN);
	memcpy(hello->expected, fields->expected, WIRE_ID_LEN);
	hello->session = wire_put64(fields->session);
	hello->epoch = wire_put64(fields->epoch);
	hello->seen = wire_put64(fields->seen);
	hello->verdict_seen = wire_put64(fields->verdict_seen);
	hello->requests = wire_put32(fields->requests);
	hello->reads = wire_put32(fields->reads);
	hello->segment = wire_put32(fields->segment);
	hello->family = wire_put16(fields->at.family);
	hello->port = wire_put16(fields->at.port);
	memcpy(hello->addr, fields->at.addr, sizeof(hello->addr));
	hello->scope = wire_put32(fields->at.scope);
	hello->known_port = wire_put16(fields->known_port);
	return frame_len(WIRE_HELLO);
}

size_t wire_put_bye(void *at, enum wire_bye_reason reason, const char *text)
{
	struct wire_bye *bye = put_head(at, WIRE_BYE, 0, 0, 0);

	memset(bye, 0, sizeof(*bye));
	bye->reason = wire_put32(reason);
	for (size_t i = 0; i < WIRE_TEXT_LEN && text[i]; i++)
		bye->text[i] = text[i] >= ' ' && text[i] <= '~' ? (uint8_t)text[i] : '?';
	return frame_len(WIRE_BYE);
}

size_t wire_put_ack(void *at, uint64_t verdict)
{
	struct wire_ack *ack = put_head(at, WIRE_ACK, 0, 0, 0);

	ack->verdict = wire_put64(verdict);
	return frame_len(WIRE_ACK);
}

size_t wire_put_challenge(void *at, const uint8_t nonce[WIRE_NONCE_LEN], const struct wire_address_fields *to)
{
	struct wire_challenge *challenge = put_head(at, WIRE_CHALLENGE, 0, 0, 0);

	*challenge = (struct wire_challenge){ .family = wire_put16(to->family), .port = wire_put16(to->port) };
	memcpy(challenge->nonce, nonce, sizeof(challenge->nonce));
	memcpy(challenge->addr, to->addr, sizeof(challenge->addr));
	return frame_len(WIRE_CHALLENGE);
}

size_t wire_put_proof(void *at, const uint8_t proof[WIRE_PROOF_LEN])
{
	struct wire_proof *body = put_head(at, WIRE_PROOF, 0, 0, 0);

	memcpy(body->proof, proof, sizeof(body->proof));
	return frame_len(WIRE_PROOF);
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

size_t wire_put_write(void *at, uint8_t flags, uint32_t payload, uint64_t seq, const struct wire_target_fields *to,
		      uint64_t rest, uint64_t cq_data)
{
	uint8_t last = rest == payload ? WIRE_F_LAST : 0;
	struct wire_write *write = put_head(at, WIRE_WRITE, flags | last, payload, seq);

	*write = (struct wire_write){
		.to = put_target(to),
		.rest = wire_put64(rest),
		.cq_data = wire_put64(cq_data),
	};
	return frame_len(WIRE_WRITE);
}

size_t wire_put_read(void *at, uint64_t seq, const struct wire_target_fields *from, uint64_t length)
{
	struct wire_read *read = put_head(at, WIRE_READ, 0, 0, seq);

	*read = (struct wire_read){ .from = put_target(from), .length = wire_put64(length) };
	return frame_len(WIRE_READ);
}

size_t wire_put_atomic(void *at, uint8_t flags, uint64_t seq, const struct wire_atomic_fields *fields)
{
	uint64_t payload = wire_atomic_payload(fields->kind, fields->op, fields->length);
	struct wire_atomic *atomic = put_head(at, WIRE_ATOMIC, flags, (uint32_t)payload, seq);

	*atomic = (struct wire_atomic){
		.to = put_target(&fields->to),
		.length = wire_put64(fields->length),
		.cq_data = wire_put64(fields->cq_data),
		.kind = fields->kind,
		.op = fields->op,
		.type = fields->type,
	};
	return frame_len(WIRE_ATOMIC);
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
	put_message(put_head(at, WIRE_SEND, flags, length, seq), length, fields);
	return frame_len(WIRE_SEND);
}

size_t wire_put_rts(void *at, uint8_t flags, uint64_t length, uint64_t seq, const struct wire_message_fields *fields)
{
	put_message(put_head(at, WIRE_RTS, flags, 0, seq), length, fields);
	return frame_len(WIRE_RTS);
}

size_t wire_put_cm(void *at, uint8_t op, uint32_t payload, uint64_t seq, uint64_t request)
{
	struct wire_cm *cm = put_head(at, op, 0, payload, seq);

	assert(op >= WIRE_CONNECT && op <= WIRE_REJECT);
	*cm = (struct wire_cm){ .request = wire_put64(request) };
	return frame_len(op);
}

size_t wire_put_data(void *at, uint8_t flags, uint32_t payload, uint64_t ref, uint64_t offset, uint64_t rest)
{
	struct wire_data *data = put_head(at, WIRE_DATA, flags | (rest == payload ? WIRE_F_LAST : 0), payload, 0);

	*data = (struct wire_data){
		.ref = wire_put64(ref),
		.offset = wire_put64(offset),
		.rest = wire_put64(rest),
	};
	return frame_len(WIRE_DATA);
}

size_t wire_put_pull(void *at, uint64_t ref, uint64_t offset, uint64_t length)
{
	struct wire_pull *pull = put_head(at, WIRE_PULL, 0, 0, 0);

	*pull = (struct wire_pull){
		.ref = wire_put64(ref),
		.offset = wire_put64(offset),
		.length = wire_put64(length),
	};
	return frame_len(WIRE_PULL);
}

size_t wire_put_rnr(void *at, uint64_t ref, uint32_t wait_us)
{
	struct wire_rnr *rnr = put_head(at, WIRE_RNR, 0, 0, 0);

	*rnr = (struct wire_rnr){ .ref = wire_put64(ref), .wait_us = wire_put32(wait_us) };
	return frame_len(WIRE_RNR);
}

size_t wire_put_nak(void *at, const struct wire_nak_fields *fields)
{
	struct wire_nak *nak = put_head(at, WIRE_NAK, 0, 0, 0);

	*nak = (struct wire_nak){
		.verdict = wire_put64(fields->verdict),
		.ref = wire_put64(fields->ref),
		.cause = wire_put32(fields->cause),
		.access = wire_put32(fields->access),
		.region = wire_put64(fields->region),
		.excess = wire_put64(fields->excess),
		.age_ns = wire_put64(fields->age_ns),
	};
	return frame_len(WIRE_NAK);
}

size_t wire_put_verdict(void *at, uint8_t op, uint64_t verdict, uint64_t ref)
{
	struct wire_verdict *body = put_head(at, op, 0, 0, 0);

	assert(op == WIRE_PARK || op == WIRE_DONE);
	*body = (struct wire_verdict){ .verdict = wire_put64(verdict), .ref = wire_put64(ref) };
	return frame_len(op);
}

size_t wire_put_result(void *at, uint32_t payload, uint64_t verdict, uint64_t ref)
{
	struct wire_verdict *body = put_head(at, WIRE_RESULT, 0, payload, 0);

	*body = (struct wire_verdict){ .verdict = wire_put64(verdict), .ref = wire_put64(ref) };
	return frame_len(WIRE_RESULT);
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
