/* SPDX-License-Identifier: BSD-2-Clause */
/* datagram.h - unreliable datagrams, PROTOCOL.md section 11: bytes to fields and back. Pure; any thread. */
#ifndef WIRE_DATAGRAM_H
#define WIRE_DATAGRAM_H

#include "wire/codec.h"

/* What is wrong with a datagram. */
enum wire_datagram_flaw {
	WIRE_DG_FLAWLESS = 0,
	WIRE_DG_SHORT, /* ends within its head */
	WIRE_DG_MAGIC,
	WIRE_DG_VERSION,
	WIRE_DG_FLAGS,  /* an unknown flag, or two that exclude each other */
	WIRE_DG_LENGTH, /* payload is not the number of bytes that follow, or is above WIRE_MTU */
	WIRE_DG_ADDRESS,
	WIRE_DG_CQ_DATA_FLAG, /* cq_data without its flag */
	WIRE_DG_DIGEST,
	WIRE_DG_PAIR, /* of a queue pair: a number or a fact of the GRH is out of its range */
	WIRE_DG_FLAWS
};

/* A phrase for a log line, with the rule of PROTOCOL.md. */
const char *wire_datagram_flaw_name(enum wire_datagram_flaw flaw);

struct wire_datagram_fields {
	uint16_t flags; /* enum wire_datagram_flag */
	struct wire_address_fields from;
	uint32_t payload;
	uint64_t cq_data, auth;
};

/* Of a queue pair's, beside: `payload` counts the bytes of the message alone. */
struct wire_pair_datagram_fields {
	uint32_t dest_qpn, src_qpn, qkey, flow_label;
	uint8_t traffic_class, hop_limit, sl;
	uint8_t dgid[16];
};

/* Checks `length` received bytes, including a digest, but not a tag (secret.h). */
enum wire_datagram_flaw wire_check_datagram(const void *bytes, size_t length);
/* Reads a datagram that is flawless. */
void wire_get_datagram(const void *bytes, struct wire_datagram_fields *fields);
/* Writes the head and its digest, but no tag; the payload stands behind it already. Returns the whole length. */
size_t wire_put_datagram(void *at, const struct wire_datagram_fields *fields);

/* Likewise, between queue pairs (WIRE-150). The message stands WIRE_PAIR_HEAD bytes behind `at`. */
enum { WIRE_PAIR_HEAD = sizeof(struct wire_datagram) + sizeof(struct wire_pair_datagram) };
enum wire_datagram_flaw wire_check_pair_datagram(const void *bytes, size_t length);
void wire_get_pair_datagram(const void *bytes, struct wire_datagram_fields *fields, struct wire_pair_datagram_fields *pair);
size_t wire_put_pair_datagram(void *at, const struct wire_datagram_fields *fields, const struct wire_pair_datagram_fields *pair);

#endif
