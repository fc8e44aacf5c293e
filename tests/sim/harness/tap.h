/* SPDX-License-Identifier: BSD-2-Clause */
/* tap.h - watches the bytes that NICs send, frame by frame.
 *
 * Every frame must pass wire's validators and keep the protocol's order (HELLO first and once, requests numbered
 * without gaps and within the grant, acknowledgements never going back, nothing after BYE): what a NIC says is judged
 * on the wire, too, not only by what it leads to. The list of frames tells a test which frame a byte belongs to. */
#ifndef TESTS_SIM_TAP_H
#define TESTS_SIM_TAP_H

#include "tests/sim/harness/world.h"
#include "wire/codec.h"

enum tap_kind { /* what the cut test must have cut: ops, with WRITE and RSEND told apart by segments */
		TAP_HELLO,
		TAP_CHALLENGE,
		TAP_PROOF,
		TAP_BYE,
		TAP_ACK,
		TAP_WRITE,
		TAP_WRITE_PART,
		TAP_READ,
		TAP_SEND,
		TAP_RTS,
		TAP_DATA,
		TAP_PULL,
		TAP_RNR,
		TAP_NAK,
		TAP_PARK,
		TAP_DONE,
		TAP_ATOMIC,
		TAP_RESULT,
		TAP_CONNECT,
		TAP_ACCEPT,
		TAP_REJECT,
		TAP_TAKEN,
		TAP_RSEND,
		TAP_RSEND_PART,
		TAP_KINDS
};

struct tap_frame {
	enum tap_kind kind;
	uint32_t cable;
	uint8_t dir;
	uint64_t offset; /* in its direction of its cable */
	uint32_t length; /* head, body, payload and trailer */
	uint32_t payload;
};

struct tap {
	struct tap *next;
	struct world *world;
	uint32_t cable;
	uint8_t dir;
	uint64_t offset;   /* bytes seen */
	uint64_t seq, ack; /* highest request so far; of the last frame */
	uint64_t noted;    /* acknowledged by notes, which frames do not know of that were made before */
	uint64_t granted;  /* requests that this direction may have unacknowledged */
	uint64_t skip;     /* payload and trailer still to come */
	uint32_t have;     /* bytes of `part` */
	uint8_t part[WIRE_FRAME_MAX];
	bool greeted; /* HELLO was sent */
	bool ended;   /* BYE was sent */
	uint32_t frames, room;
	struct tap_frame *frame;
};

struct tap *tap_open(struct world *world, uint32_t cable, uint8_t dir);
/* Bytes that a NIC has sent, before anything happens to them on their way. */
void tap_feed(struct tap *tap, const uint8_t *bytes, size_t length);
/* The NIC has acknowledged by a note; there may be no tap. */
void tap_noted(struct tap *tap, uint64_t number);
void tap_free_all(struct world *world);
/* The tap of a direction, or NULL. */
const struct tap *tap_find(const struct world *world, uint32_t cable, uint8_t dir);
/* Frames of a kind sent so far, of all connections. */
uint32_t tap_count(const struct world *world, enum tap_kind kind);
const char *tap_kind_name(enum tap_kind kind);

#endif
