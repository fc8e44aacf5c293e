/* SPDX-License-Identifier: BSD-2-Clause */
/* golden.h - one frame or more of each op, as bytes and as text. In this order they make a stream that a parser
 * accepts, with the first HELLO and without the others. */
#ifndef TESTS_UNIT_WIRE_GOLDEN_H
#define TESTS_UNIT_WIRE_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

enum golden_name {
	GOLDEN_CHALLENGE,
	GOLDEN_PROOF,
	GOLDEN_HELLO4,
	GOLDEN_HELLO6,
	GOLDEN_HELLO_KNOWN, /* known_port is not zero */
	GOLDEN_HELLO_PAIR,  /* version 2 */
	GOLDEN_BYE,
	GOLDEN_ACK,
	GOLDEN_PAIR,
	GOLDEN_WRITE,
	GOLDEN_WRITE_PART,
	GOLDEN_WRITE_EMPTY,
	GOLDEN_READ,
	GOLDEN_READ_TAGGED,
	GOLDEN_TAKEN,
	GOLDEN_SEND,
	GOLDEN_SEND_EMPTY,
	GOLDEN_RTS,
	GOLDEN_SEND_GROUP, /* COLLECTIVE */
	GOLDEN_SEND_WAIT,  /* COLLECTIVE, its sender waits */
	GOLDEN_RSEND_PART,
	GOLDEN_RSEND, /* invalidates */
	GOLDEN_ATOMIC,
	GOLDEN_ATOMIC_READ,
	GOLDEN_CONNECT,
	GOLDEN_ACCEPT,
	GOLDEN_REJECT,
	GOLDEN_DATA,
	GOLDEN_DATA_EMPTY,
	GOLDEN_DATA_PULLED,
	GOLDEN_PULL,
	GOLDEN_RNR,
	GOLDEN_NAK,
	GOLDEN_PARK,
	GOLDEN_DONE,
	GOLDEN_RESULT,
	GOLDENS
};

struct golden {
	const uint8_t *bytes; /* head, body, payload, trailer, with the digests of the default setting */
	size_t length;
	const char *text; /* of its head and body */
};
extern const struct golden goldens[GOLDENS];

#endif
