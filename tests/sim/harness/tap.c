/* SPDX-License-Identifier: BSD-2-Clause */
/* tap.c - watches the bytes that NICs send, frame by frame. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/harness/tap.h"
#include "wire/frame_text.h"

struct tap *tap_open(struct world *world, uint32_t cable, uint8_t dir)
{
	struct tap *tap = calloc(1, sizeof(*tap));

	assert(tap);
	tap->world = world;
	tap->cable = cable;
	tap->dir = dir;
	tap->next = world->taps;
	world->taps = tap;
	return tap;
}

static enum tap_kind tap_kind(const struct wire_head *head)
{
	static const uint8_t kinds[256] = {
		[WIRE_HELLO] = TAP_HELLO,   [WIRE_CHALLENGE] = TAP_CHALLENGE,
		[WIRE_PROOF] = TAP_PROOF,   [WIRE_BYE] = TAP_BYE,
		[WIRE_ACK] = TAP_ACK,       [WIRE_WRITE] = TAP_WRITE,
		[WIRE_READ] = TAP_READ,     [WIRE_SEND] = TAP_SEND,
		[WIRE_RTS] = TAP_RTS,       [WIRE_DATA] = TAP_DATA,
		[WIRE_PULL] = TAP_PULL,     [WIRE_RNR] = TAP_RNR,
		[WIRE_NAK] = TAP_NAK,       [WIRE_PARK] = TAP_PARK,
		[WIRE_DONE] = TAP_DONE,     [WIRE_ATOMIC] = TAP_ATOMIC,
		[WIRE_RESULT] = TAP_RESULT, [WIRE_CONNECT] = TAP_CONNECT,
		[WIRE_ACCEPT] = TAP_ACCEPT, [WIRE_REJECT] = TAP_REJECT,
		[WIRE_TAKEN] = TAP_TAKEN,   [WIRE_RSEND] = TAP_RSEND,
	};
	bool whole = (head->flags & (WIRE_F_FIRST | WIRE_F_LAST)) == (WIRE_F_FIRST | WIRE_F_LAST);

	if (head->op == WIRE_WRITE && !whole)
		return TAP_WRITE_PART;
	if (head->op == WIRE_RSEND && !whole)
		return TAP_RSEND_PART;
	return kinds[head->op];
}

static void tap_trace(const struct tap *tap, const struct wire_head *head)
{
	char line[WIRE_LINE_MAX];

	if (!getenv("SIM_TRACE"))
		return;
	wire_text(line, sizeof(line), head);
	fprintf(stderr, "%12llu cable %u %s %s\n", (unsigned long long)tap->world->now_ns, tap->cable, tap->dir ? "<-" : "->",
		line);
}

static struct tap *tap_other(const struct tap *tap)
{
	struct tap *other = tap->world->taps;

	while (other->cable != tap->cable || other->dir == tap->dir)
		other = other->next;
	return other;
}

/* HELLO.seen says with which request the other direction goes on. */
static void tap_hello(const struct tap *tap, const struct wire_head *head)
{
	struct wire_hello_fields hello;

	wire_get_hello(head, &hello);
	tap_other(tap)->seq = hello.seen;
	tap_other(tap)->granted = hello.requests;
}

/* A request may go back, after RNR or for a READ asked again, but never leave a number out, nor pass the grant. */
static void tap_request(struct tap *tap, uint64_t seq)
{
	const struct tap *other = tap_other(tap);
	uint64_t acked = other->ack > other->noted ? other->ack : other->noted;

	WORLD_CHECK(tap->world, seq <= tap->seq + 1, "cable %u dir %u: request %llu after %llu", tap->cable, tap->dir,
		    (unsigned long long)seq, (unsigned long long)tap->seq);
	WORLD_CHECK(tap->world, !acked || seq <= acked + tap->granted, "cable %u dir %u: request %llu is beyond the grant",
		    tap->cable, tap->dir, (unsigned long long)seq);
	tap->seq = seq > tap->seq ? seq : tap->seq;
}

void tap_noted(struct tap *tap, uint64_t number)
{
	if (!tap)
		return;
	WORLD_CHECK(tap->world, number > tap->ack && number > tap->noted, "cable %u dir %u: notes %llu after %llu and %llu",
		    tap->cable, tap->dir, (unsigned long long)number, (unsigned long long)tap->ack, (unsigned long long)tap->noted);
	tap->noted = number;
}

/* The order of frames, as far as one direction alone can tell. */
static void tap_judge(struct tap *tap, const struct wire_head *head)
{
	struct world *world = tap->world;
	enum wire_flaw flaw = wire_check_body(head);

	WORLD_CHECK(world, flaw == WIRE_FLAWLESS, "cable %u dir %u sends %s with flaw: %s", tap->cable, tap->dir,
		    wire_op_name(head->op), wire_flaw_name(flaw));
	WORLD_CHECK(world, !tap->ended, "cable %u dir %u sends %s after BYE", tap->cable, tap->dir, wire_op_name(head->op));
	WORLD_CHECK(world, head->op == WIRE_HELLO ? !tap->greeted : tap->greeted || head->op == WIRE_BYE || wire_greets(head->op),
		    "cable %u dir %u sends %s as frame %u", tap->cable, tap->dir, wire_op_name(head->op), tap->frames);
	tap->ended = head->op == WIRE_BYE;
	if (head->op == WIRE_HELLO)
		tap_hello(tap, head);
	tap->greeted |= head->op == WIRE_HELLO;
	if (wire_greets(head->op) || head->op == WIRE_BYE)
		return;
	WORLD_CHECK(world, wire_get64(head->ack) >= tap->ack, "cable %u dir %u: ack goes back from %llu to %llu", tap->cable,
		    tap->dir, (unsigned long long)tap->ack, (unsigned long long)wire_get64(head->ack));
	tap->ack = wire_get64(head->ack);
	if (wire_is_request(head->op))
		tap_request(tap, wire_get64(head->seq));
}

static void tap_note(struct tap *tap, const struct wire_head *head, size_t head_len)
{
	uint32_t payload = wire_get32(head->payload);

	if (tap->frames == tap->room) {
		tap->room = tap->room ? tap->room * 2 : 16;
		tap->frame = realloc(tap->frame, tap->room * sizeof(*tap->frame));
		assert(tap->frame);
	}
	tap->skip = payload ? payload + sizeof(struct wire_trailer) : 0;
	tap->frame[tap->frames++] = (struct tap_frame){
		.kind = tap_kind(head),
		.cable = tap->cable,
		.dir = tap->dir,
		.offset = tap->offset - head_len,
		.length = (uint32_t)(head_len + tap->skip),
		.payload = payload,
	};
}

/* Takes one byte of head or body. */
static void tap_byte(struct tap *tap, uint8_t byte)
{
	const struct wire_head *head = (const struct wire_head *)tap->part;
	enum wire_flaw flaw;

	tap->part[tap->have++] = byte;
	tap->offset++;
	if (tap->have < sizeof(*head))
		return;
	if (tap->have == sizeof(*head)) {
		flaw = wire_check_head(head, WIRE_SEGMENT_MAX);
		WORLD_CHECK(tap->world, flaw == WIRE_FLAWLESS, "cable %u dir %u sends a head with flaw: %s", tap->cable, tap->dir,
			    wire_flaw_name(flaw));
	}
	if (tap->have < sizeof(*head) + wire_body_len(head->op))
		return;
	tap_trace(tap, head);
	tap_judge(tap, head);
	tap_note(tap, head, tap->have);
	tap->have = 0;
}

void tap_feed(struct tap *tap, const uint8_t *bytes, size_t length)
{
	while (length) {
		size_t n = tap->skip < length ? tap->skip : length;

		tap->skip -= n;
		tap->offset += n;
		bytes += n;
		length -= n;
		if (length) {
			tap_byte(tap, *bytes++);
			length--;
		}
	}
}

void tap_free_all(struct world *world)
{
	while (world->taps) {
		struct tap *tap = world->taps;

		world->taps = tap->next;
		free(tap->frame);
		free(tap);
	}
}

const struct tap *tap_find(const struct world *world, uint32_t cable, uint8_t dir)
{
	const struct tap *tap = world->taps;

	while (tap && (tap->cable != cable || tap->dir != dir))
		tap = tap->next;
	return tap;
}

uint32_t tap_count(const struct world *world, enum tap_kind kind)
{
	uint32_t count = 0;

	for (const struct tap *tap = world->taps; tap; tap = tap->next)
		for (uint32_t i = 0; i < tap->frames; i++)
			count += tap->frame[i].kind == kind;
	return count;
}

const char *tap_kind_name(enum tap_kind kind)
{
	static const char *const names[TAP_KINDS] = {
		"HELLO",
		"CHALLENGE",
		"PROOF",
		"BYE",
		"ACK",
		"WRITE",
		"WRITE of several",
		"READ",
		"SEND",
		"RTS",
		"DATA",
		"PULL",
		"RNR",
		"NAK",
		"PARK",
		"DONE",
		"ATOMIC",
		"RESULT",
		"CONNECT",
		"ACCEPT",
		"REJECT",
		"TAKEN",
		"RSEND",
		"RSEND of several",
	};

	return names[kind];
}
