/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - the parser of received bytes: it takes any bytes, yields no more than it was fed and nothing that the
 * validators refuse, and the same whatever pieces the bytes come in.
 *
 * Input: two bytes that say how, then the stream. */
#include "tests/fuzz/fuzz.h"
#include "wire/digest.h"
#include "wire/stream.h"

enum { HOW_HEADS = 1, HOW_PAYLOADS = 2, HOW_REPAIR = 4, HOW_PLACED = 8, MOST = 1 << 16 };

struct feed {
	struct stream stream;
	struct digest_state digest;
	uint8_t how;
	uint64_t yielded, frames, ends;
	uint64_t sum; /* of all that was yielded, in order */
	enum wire_flaw flaw;
};

static void add(struct feed *feed, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		feed->sum = (feed->sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
	feed->yielded += length;
}

static void take_frame(struct feed *feed, const struct wire_head *head)
{
	size_t length = sizeof(*head) + wire_body_len(head->op);

	FUZZ_CHECK(wire_check_head(head, WIRE_SEGMENT_MAX) == WIRE_FLAWLESS);
	FUZZ_CHECK(wire_check_body(head) == WIRE_FLAWLESS);
	FUZZ_CHECK(stream_payload_left(&feed->stream) == wire_get32(head->payload));
	add(feed, head, length);
	feed->frames++;
	if (head->op == WIRE_HELLO)
		stream_modes(&feed->stream, feed->how & HOW_HEADS, feed->how & HOW_PAYLOADS, WIRE_SEGMENT_MIN);
}

/* Payload that is received straight into its place instead of being fed. */
static void place(struct feed *feed, const uint8_t **from, const uint8_t *end)
{
	uint32_t left = stream_payload_left(&feed->stream);

	if (!(feed->how & HOW_PLACED) || !left || *from == end)
		return;
	left = left < (uint64_t)(end - *from) ? left : (uint32_t)(end - *from);
	if (stream_hashes(&feed->stream))
		stream_state(&feed->stream, &feed->digest);
	stream_placed(&feed->stream, *from, left);
	add(feed, *from, left);
	*from += left;
}

/* False: the stream is dead. */
static bool feed_piece(struct feed *feed, const uint8_t *from, const uint8_t *end)
{
	struct stream_item item;

	for (;;) {
		place(feed, &from, end);
		switch (stream_next(&feed->stream, &from, end, &item)) {
		case STREAM_MORE:
			FUZZ_CHECK(from == end);
			return true;
		case STREAM_FRAME:
			take_frame(feed, item.head);
			break;
		case STREAM_PAYLOAD:
			FUZZ_CHECK(item.length && item.bytes + item.length <= end);
			add(feed, item.bytes, item.length);
			break;
		case STREAM_END:
			FUZZ_CHECK(!item.length || item.bytes + item.length <= end);
			add(feed, item.bytes, item.length);
			add(feed, &item.status, sizeof(item.status));
			feed->yielded -= sizeof(item.status);
			feed->ends++;
			break;
		case STREAM_STATE:
			stream_state(&feed->stream, &feed->digest);
			break;
		case STREAM_FLAW:
			feed->flaw = item.flaw;
			FUZZ_CHECK(item.flaw && item.flaw < WIRE_FLAWS && wire_flaw_name(item.flaw));
			FUZZ_CHECK(stream_next(&feed->stream, &from, end, &item) == STREAM_FLAW);
			return false;
		}
	}
}

/* In pieces of 1 to `most` bytes, each in memory of its own size. */
static void feed_all(struct feed *feed, uint8_t how, const uint8_t *bytes, size_t length, size_t most)
{
	uint32_t draw = 1;

	*feed = (struct feed){ .how = how };
	stream_init(&feed->stream, WIRE_SEGMENT_MIN);
	for (size_t at = 0, n; at < length; at += n) {
		uint8_t *piece;
		bool alive;

		draw = draw * 1103515245u + 12345u;
		n = 1 + (draw >> 8) % most;
		n = n < length - at ? n : length - at;
		piece = malloc(n);
		FUZZ_CHECK(piece);
		memcpy(piece, bytes + at, n);
		alive = feed_piece(feed, piece, piece + n);
		free(piece);
		if (!alive)
			break;
	}
	FUZZ_CHECK(feed->yielded <= length);
	FUZZ_CHECK(feed->ends <= feed->frames);
}

static void repair(uint8_t *bytes, size_t length, uint8_t how)
{
	size_t frame;

	for (size_t at = 0; fuzz_frame(bytes + at, length - at, &frame); at += frame)
		fuzz_redigest(bytes + at, how & HOW_HEADS, how & HOW_PAYLOADS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[MOST];
	struct feed whole, pieces;
	size_t length;

	if (size < 2 || size - 2 > MOST)
		return 0;
	length = size - 2;
	memcpy(bytes, data + 2, length);
	if (data[0] & HOW_REPAIR)
		repair(bytes, length, data[0]);
	feed_all(&whole, data[0], bytes, length, MOST);
	feed_all(&pieces, data[0] ^ HOW_PLACED, bytes, length, 1u + data[1]);
	FUZZ_CHECK(whole.flaw == pieces.flaw && whole.frames == pieces.frames);
	/* The part of a payload that comes before its flaw depends on the pieces. */
	FUZZ_CHECK(whole.flaw || (whole.yielded == pieces.yielded && whole.sum == pieces.sum && whole.ends == pieces.ends));
	return 0;
}
