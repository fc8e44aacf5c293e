/* SPDX-License-Identifier: BSD-2-Clause */
/* datagram.h - unreliable datagrams, PROTOCOL.md section 11: bytes to fields and back. Pure; any thread. */
#ifndef WIRE_DATAGRAM_H
#define WIRE_DATAGRAM_H

#include "wire/codec.h"

/* What is wrong with a datagram. */
enum wire_datagram_flaw {
	WIRE_DG_FLAWLESS = 0,
	WIRE_DG_SHORT,		/* ends within its head */
	WIRE_DG_MAGIC,
	WIRE_DG_VERSION,
	WIRE_DG_FLAGS,		/* one that there is not, or two that exclude each other */
	WIRE_DG_LENGTH,		/* payload is not what follows, or longer than WIRE_MTU */
	WIRE_DG_ADDRESS,
	WIRE_DG_CQ_DATA_FLAG,	/* cq_data without its flag */
	WIRE_DG_DIGEST,
	WIRE_DG_FLAWS
};

/* A phrase for a log line, with the rule of PROTOCOL.md. */
const char *wire_datagram_flaw_name(enum wire_datagram_flaw flaw);

struct wire_datagram_fields {
	uint16_t flags;		/* enum wire_datagram_flag */
	struct wire_address_fields from;
	uint32_t payload;
	uint64_t cq_data, auth;
};

/* Judges `length` bytes as they came, digest included; but a tag is not its to judge (secret.h). */
enum wire_datagram_flaw wire_check_datagram(const void *bytes, size_t length);
/* Of one that is flawless. */
void wire_get_datagram(const void *bytes, struct wire_datagram_fields *fields);
/* Writes the head and seals it, but for a tag: the payload stands behind it already. Returns the whole length. */
size_t wire_put_datagram(void *at, const struct wire_datagram_fields *fields);

#endif
