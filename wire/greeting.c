/* SPDX-License-Identifier: BSD-2-Clause */
/* greeting.c - HELLO, CHALLENGE, PROOF and BYE: encoders, decoders, validators. */
#include <assert.h>

#include "wire/codec_impl.h"

bool wire_address_is_good(uint16_t family, uint16_t port, const uint8_t addr[16], uint32_t scope)
{
	if (!port)
		return false;
	return family == 6 || (family == 4 && wire_all_zero(addr + 4, 12) && !scope);
}

size_t wire_put_hello(void *at, const struct wire_hello_fields *fields)
{
	struct wire_hello *hello = wire_put_head(at, WIRE_HELLO, 0, 0, 0);

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
	if (fields->version_min < WIRE_VERSION_PAIRS)
		hello->known_port = wire_put16(fields->known_port);
	else
		hello->known_port = (wire_u16){ { fields->index, fields->peer_index } };
	return wire_frame_len(WIRE_HELLO);
}

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
	fields->known_port = 0;
	fields->index = fields->peer_index = 0;
	if (fields->version_min < WIRE_VERSION_PAIRS) {
		fields->known_port = wire_get16(hello->known_port);
	} else {
		fields->index = hello->known_port.b[0];
		fields->peer_index = hello->known_port.b[1];
	}
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

enum wire_flaw wire_check_hello(const struct wire_head *head)
{
	const struct wire_hello *hello = wire_body(head);
	uint32_t segment = wire_get32(hello->segment);
	enum wire_flaw flaw = wire_check_greeting(head);

	if (flaw)
		return flaw;
	if (wire_all_zero(hello->instance, sizeof(hello->instance)))
		return WIRE_FLAW_INSTANCE;
	if (!wire_get64(hello->session) || !wire_get64(hello->epoch))
		return WIRE_FLAW_SESSION;
	if (!wire_get32(hello->requests) || !wire_get32(hello->reads))
		return WIRE_FLAW_GRANT;
	if (segment < WIRE_SEGMENT_MIN || segment > WIRE_SEGMENT_MAX)
		return WIRE_FLAW_SEGMENT;
	if (wire_get16(hello->zero))
		return WIRE_FLAW_ZERO;
	return wire_address_is_good(wire_get16(hello->family), wire_get16(hello->port), hello->addr, wire_get32(hello->scope))
		       ? WIRE_FLAWLESS
		       : WIRE_FLAW_ADDRESS;
}

size_t wire_put_challenge(void *at, const uint8_t nonce[WIRE_NONCE_LEN], const struct wire_address_fields *to)
{
	struct wire_challenge *challenge = wire_put_head(at, WIRE_CHALLENGE, 0, 0, 0);

	*challenge = (struct wire_challenge){ .family = wire_put16(to->family), .port = wire_put16(to->port) };
	memcpy(challenge->nonce, nonce, sizeof(challenge->nonce));
	memcpy(challenge->addr, to->addr, sizeof(challenge->addr));
	return wire_frame_len(WIRE_CHALLENGE);
}

void wire_get_challenged(const struct wire_head *head, struct wire_address_fields *to)
{
	const struct wire_challenge *challenge = wire_body(head);

	assert(head->op == WIRE_CHALLENGE);
	*to = (struct wire_address_fields){ .family = wire_get16(challenge->family), .port = wire_get16(challenge->port) };
	memcpy(to->addr, challenge->addr, sizeof(to->addr));
}

enum wire_flaw wire_check_challenge(const struct wire_head *head)
{
	const struct wire_challenge *challenge = wire_body(head);

	if (wire_get32(challenge->zero))
		return WIRE_FLAW_ZERO;
	return wire_address_is_good(wire_get16(challenge->family), wire_get16(challenge->port), challenge->addr, 0)
		       ? WIRE_FLAWLESS
		       : WIRE_FLAW_ADDRESS;
}

size_t wire_put_proof(void *at, const uint8_t proof[WIRE_PROOF_LEN])
{
	struct wire_proof *body = wire_put_head(at, WIRE_PROOF, 0, 0, 0);

	memcpy(body->proof, proof, sizeof(body->proof));
	return wire_frame_len(WIRE_PROOF);
}

size_t wire_put_pair(void *at, const struct wire_pair_fields *fields)
{
	struct wire_pair *pair = wire_put_head(at, WIRE_PAIR, 0, 0, 0);

	*pair = (struct wire_pair){
		.sq_psn = wire_put32(fields->sq_psn),
		.rq_psn = wire_put32(fields->rq_psn),
		.path_mtu = wire_put32(fields->path_mtu),
	};
	return wire_frame_len(WIRE_PAIR);
}

void wire_get_pair(const struct wire_head *head, struct wire_pair_fields *fields)
{
	const struct wire_pair *pair = wire_body(head);

	assert(head->op == WIRE_PAIR);
	fields->sq_psn = wire_get32(pair->sq_psn);
	fields->rq_psn = wire_get32(pair->rq_psn);
	fields->path_mtu = wire_get32(pair->path_mtu);
}

enum wire_flaw wire_check_pair(const struct wire_head *head)
{
	const struct wire_pair *pair = wire_body(head);

	if (wire_get32(pair->zero))
		return WIRE_FLAW_ZERO;
	return wire_get32(pair->sq_psn) <= WIRE_PSN_UNKNOWN && wire_get32(pair->rq_psn) <= WIRE_PSN_MAX &&
			       wire_get32(pair->path_mtu)
		       ? WIRE_FLAWLESS
		       : WIRE_FLAW_PAIR;
}

size_t wire_put_bye(void *at, enum wire_bye_reason reason, const char *text)
{
	struct wire_bye *bye = wire_put_head(at, WIRE_BYE, 0, 0, 0);

	memset(bye, 0, sizeof(*bye));
	bye->reason = wire_put32(reason);
	for (size_t i = 0; i < WIRE_TEXT_LEN && text[i]; i++)
		bye->text[i] = text[i] >= ' ' && text[i] <= '~' ? (uint8_t)text[i] : '?';
	return wire_frame_len(WIRE_BYE);
}

void wire_get_bye(const struct wire_head *head, struct wire_bye_fields *fields)
{
	const struct wire_bye *bye = wire_body(head);

	assert(head->op == WIRE_BYE);
	fields->reason = (enum wire_bye_reason)wire_get32(bye->reason);
	memcpy(fields->text, bye->text, WIRE_TEXT_LEN);
	fields->text[WIRE_TEXT_LEN] = 0;
}

enum wire_flaw wire_check_bye(const struct wire_head *head)
{
	const struct wire_bye *bye = wire_body(head);
	uint32_t reason = wire_get32(bye->reason);
	size_t length = 0;

	if (wire_get32(bye->zero))
		return WIRE_FLAW_ZERO;
	if (reason < WIRE_BYE_CLOSED || reason > WIRE_BYE_UNPAIRED)
		return WIRE_FLAW_BYE;
	while (length < WIRE_TEXT_LEN && bye->text[length] >= ' ' && bye->text[length] <= '~')
		length++;
	return wire_all_zero(bye->text + length, WIRE_TEXT_LEN - length) ? WIRE_FLAWLESS : WIRE_FLAW_BYE;
}
