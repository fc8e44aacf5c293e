/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_words.c - see rs_words.h. */
#include "emu/cm/rsocket/rs_words.h"

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <string.h>

static const uint8_t magic[4] = { 'e', 'm', 'r', 's' };
static const uint8_t head_magic[4] = { 'e', 'm', 'r', 'd' };

struct greeting_bytes {
	uint8_t magic[4];
	uint8_t version;
	uint8_t zero[3];
	uint64_t ring_at;
	uint32_t ring_key, ring_size, slots, iomaps;
};
static_assert(sizeof(struct greeting_bytes) == RS_GREETING_BYTES, "no padding");
static_assert(offsetof(struct greeting_bytes, ring_at) == 8, "no padding");

struct control_bytes {
	uint8_t kind;
	uint8_t zero[3];
	uint32_t slots, room, key;
	uint64_t offset, at, length;
};
static_assert(sizeof(struct control_bytes) == RS_CONTROL_BYTES, "no padding");
static_assert(offsetof(struct control_bytes, offset) == 16, "no padding");

struct head_bytes {
	uint8_t magic[4];
	uint8_t version;
	uint8_t kind;
	uint16_t port;
	uint32_t qpn;
	uint8_t token[8];
};
static_assert(sizeof(struct head_bytes) == RS_HEAD_BYTES, "no padding");

static bool all_zero(const uint8_t bytes[3])
{
	return !(bytes[0] | bytes[1] | bytes[2]);
}

void rs_greeting_put(const struct rs_greeting *greeting, uint8_t bytes[RS_GREETING_BYTES])
{
	struct greeting_bytes raw = {
		.version = RS_VERSION,
		.ring_at = htobe64(greeting->ring_at),
		.ring_key = htobe32(greeting->ring_key),
		.ring_size = htobe32(greeting->ring_size),
		.slots = htobe32(greeting->slots),
		.iomaps = htobe32(greeting->iomaps),
	};

	memcpy(raw.magic, magic, sizeof(magic));
	memcpy(bytes, &raw, sizeof(raw));
}

bool rs_greeting_get(const uint8_t bytes[RS_GREETING_BYTES], struct rs_greeting *greeting)
{
	struct greeting_bytes raw;

	memcpy(&raw, bytes, sizeof(raw));
	if (memcmp(raw.magic, magic, sizeof(magic)) || raw.version != RS_VERSION || !all_zero(raw.zero))
		return false;
	*greeting = (struct rs_greeting){
		.ring_at = be64toh(raw.ring_at),
		.ring_key = be32toh(raw.ring_key),
		.ring_size = be32toh(raw.ring_size),
		.slots = be32toh(raw.slots),
		.iomaps = be32toh(raw.iomaps),
	};
	return true;
}

void rs_control_put(const struct rs_control *control, uint8_t bytes[RS_CONTROL_BYTES])
{
	const struct control_bytes raw = {
		.kind = (uint8_t)control->kind,
		.slots = htobe32(control->slots),
		.room = htobe32(control->room),
		.key = htobe32(control->key),
		.offset = htobe64(control->offset),
		.at = htobe64(control->at),
		.length = htobe64(control->length),
	};

	memcpy(bytes, &raw, sizeof(raw));
}

bool rs_control_get(const uint8_t bytes[RS_CONTROL_BYTES], struct rs_control *control)
{
	struct control_bytes raw;

	memcpy(&raw, bytes, sizeof(raw));
	if (raw.kind < RS_CREDIT || raw.kind >= RS_CONTROLS || !all_zero(raw.zero))
		return false;
	*control = (struct rs_control){
		.kind = raw.kind,
		.slots = be32toh(raw.slots),
		.room = be32toh(raw.room),
		.key = be32toh(raw.key),
		.offset = be64toh(raw.offset),
		.at = be64toh(raw.at),
		.length = be64toh(raw.length),
	};
	return true;
}

void rs_head_put(const struct rs_head *head, uint8_t bytes[RS_HEAD_BYTES])
{
	struct head_bytes raw = {
		.version = RS_VERSION, .kind = (uint8_t)head->kind, .port = htobe16(head->port), .qpn = htobe32(head->qpn)
	};

	memcpy(raw.magic, head_magic, sizeof(head_magic));
	memcpy(raw.token, &head->token, sizeof(raw.token)); /* it means nothing to others */
	memcpy(bytes, &raw, sizeof(raw));
}

bool rs_head_get(const uint8_t bytes[RS_HEAD_BYTES], struct rs_head *head)
{
	struct head_bytes raw;

	memcpy(&raw, bytes, sizeof(raw));
	if (memcmp(raw.magic, head_magic, sizeof(head_magic)) || raw.version != RS_VERSION || raw.kind < RS_MESSAGE ||
	    raw.kind >= RS_HEADS)
		return false;
	*head = (struct rs_head){ .kind = raw.kind, .port = be16toh(raw.port), .qpn = be32toh(raw.qpn) };
	memcpy(&head->token, raw.token, sizeof(raw.token));
	return true;
}
