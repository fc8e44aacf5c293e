/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz.c - what the fuzz targets share. */
#include "tests/fuzz/fuzz.h"

#include "wire/digest.h"

bool fuzz_frame(const uint8_t *bytes, size_t left, size_t *frame)
{
	const struct wire_head *head = (const struct wire_head *)bytes;
	uint64_t length;

	if (left < sizeof(*head) || !wire_body_len(head->op))
		return false;
	length = wire_get32(head->payload);
	length += length ? sizeof(struct wire_trailer) : 0;
	length += sizeof(*head) + wire_body_len(head->op);
	*frame = (size_t)length;
	return length <= left;
}

void fuzz_redigest(uint8_t *frame, bool heads, bool payloads)
{
	struct wire_head *head = (struct wire_head *)frame;
	uint32_t payload = wire_get32(head->payload);
	uint8_t *at = frame + sizeof(*head) + wire_body_len(head->op);
	struct wire_trailer *trailer = (struct wire_trailer *)(at + payload);

	head->digest = wire_put64(heads || head->op == WIRE_HELLO ? digest_head(head) : 0);
	payloads |= heads && wire_forms[head->op].payload == WIRE_PAYLOAD_ATOMIC;
	if (payload)
		trailer->digest = wire_put64(
			wire_trailer_digest(wire_get32(trailer->status), payloads ? digest_bytes(at, payload) : 0));
}
