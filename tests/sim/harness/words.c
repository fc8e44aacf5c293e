/* SPDX-License-Identifier: BSD-2-Clause */
/* words.c - frames in a row, as they go over the wire. */
#include "tests/sim/harness/words.h"

#include <assert.h>
#include <string.h>

#include "wire/digest.h"

uint8_t *here(struct words *words)
{
	assert(words->length + WIRE_FRAME_MAX <= ROOM);
	return words->bytes + words->length;
}

void seal(struct words *words, size_t length, uint64_t ack)
{
	words->op = *here(words);
	wire_seal((struct wire_head *)here(words), ack, true);
	words->length += length;
}

void add_bytes(struct words *words, const void *bytes, size_t length, uint32_t status)
{
	bool covered = words->op == WIRE_ATOMIC || words->op == WIRE_RESULT;

	memcpy(here(words), bytes, length);
	words->length += length;
	words->length += wire_put_trailer(here(words), (enum wire_status)status, covered ? digest_bytes(bytes, length) : 0);
}

void add_payload(struct words *words, size_t length, uint32_t status)
{
	uint8_t bytes[ROOM];

	assert(length <= sizeof(bytes));
	memset(bytes, 0x77, length);
	add_bytes(words, bytes, length, status);
}

struct wire_hello_fields plain_hello(struct words *words)
{
	struct wire_hello_fields fields = {
		.version_min = 1,
		.version_max = 1,
		.instance = { 1, 2, 3 },
		.session = 99,
		.epoch = 1,
		.requests = 64,
		.reads = 8,
		.segment = WIRE_SEGMENT_MIN,
		.at = { .family = 4, .port = (uint16_t)(100 + words->who), .addr = { 10, 9, 9, 9 } },
	};

	memcpy(fields.instance + 4, &words->who, sizeof(words->who));
	return fields;
}

void say_hello(struct words *words, const struct wire_hello_fields *fields)
{
	seal(words, wire_put_hello(here(words), fields), 0);
}

const struct wire_target_fields *at(const struct words *words, uint64_t addr)
{
	static struct wire_target_fields to;

	to = (struct wire_target_fields){ .key = words->target->key, .addr = addr };
	return &to;
}
