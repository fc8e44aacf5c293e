/* SPDX-License-Identifier: BSD-2-Clause */
/* feed.c - see feed.h. */
#include "feed.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static bool covered(uint8_t op, enum feed_mode mode)
{
	return mode == FEED_FULL || (mode == FEED_HEAD && (op == WIRE_ATOMIC || op == WIRE_RESULT));
}

void feed_redigest(uint8_t *bytes, enum feed_mode mode)
{
	struct wire_head *head = (struct wire_head *)bytes;
	uint32_t payload = wire_get32(head->payload);
	bool greeting = wire_greets(head->op);
	uint8_t *at = bytes + sizeof(*head) + wire_body_len(head->op);
	struct wire_trailer *trailer = (struct wire_trailer *)(at + payload);

	head->digest = wire_put64(mode == FEED_OFF && !greeting ? 0 : digest_head(head));
	if (payload)
		wire_put_trailer(trailer, (enum wire_status)wire_get32(trailer->status),
				 covered(head->op, mode) ? digest_bytes(at, payload) : 0);
}

size_t feed_goldens(enum feed_mode mode, uint8_t bytes[FEED_MAX])
{
	size_t length = 0;

	for (int name = 0; name < GOLDENS; name++) {
		if (name == GOLDEN_HELLO6 || name == GOLDEN_HELLO_KNOWN || name == GOLDEN_HELLO_PAIR)
			continue;
		cr_assert_leq(length + goldens[name].length, FEED_MAX);
		memcpy(bytes + length, goldens[name].bytes, goldens[name].length);
		feed_redigest(bytes + length, mode);
		length += goldens[name].length;
	}
	return length;
}

void feed_init(struct feed *feed, enum feed_mode mode)
{
	memset(feed, 0, sizeof(*feed));
	feed->mode = mode;
	stream_init(&feed->stream, WIRE_SEGMENT_MIN);
	feed->stream.proves = true;
}

static void put(struct feed *feed, const void *bytes, size_t length)
{
	cr_assert_leq(feed->length + length, FEED_MAX, "more was yielded than was fed");
	memcpy(feed->out + feed->length, bytes, length);
	feed->length += length;
}

static void put_frame(struct feed *feed, const struct wire_head *head)
{
	put(feed, head, sizeof(*head) + wire_body_len(head->op));
	feed->op = head->op;
	feed->frames++;
	digest_begin(&feed->check);
	cr_assert_eq(stream_payload_left(&feed->stream), wire_get32(head->payload));
	if (head->op == WIRE_HELLO)
		stream_modes(&feed->stream, feed->mode != FEED_OFF, feed->mode == FEED_FULL, WIRE_SEGMENT_MIN);
}

static void put_payload(struct feed *feed, const uint8_t *bytes, size_t length)
{
	cr_assert_neq(length, 0);
	put(feed, bytes, length);
	digest_add(&feed->check, bytes, length);
}

static void put_end(struct feed *feed, enum wire_status status)
{
	uint8_t trailer[sizeof(struct wire_trailer)];

	cr_assert_eq(stream_payload_left(&feed->stream), 0);
	wire_put_trailer(trailer, status, covered(feed->op, feed->mode) ? digest_end(&feed->check) : 0);
	put(feed, trailer, sizeof(trailer));
	feed->ends++;
}

bool feed_piece(struct feed *feed, const uint8_t *bytes, size_t length)
{
	uint8_t *piece = malloc(length ? length : 1); /* its own, so that a read behind it is found */
	const uint8_t *from = piece, *end = piece + length;

	memcpy(piece, bytes, length);
	for (;;) {
		struct stream_item item;
		enum stream_event event = stream_next(&feed->stream, &from, end, &item);

		cr_assert(from >= piece && from <= end);
		switch (event) {
		case STREAM_FRAME:
			put_frame(feed, item.head);
			break;
		case STREAM_PAYLOAD:
			put_payload(feed, item.bytes, item.length);
			break;
		case STREAM_END:
			if (item.length)
				put_payload(feed, item.bytes, item.length);
			put_end(feed, item.status);
			break;
		case STREAM_STATE:
			cr_assert(feed->mode != FEED_OFF && !feed->stated);
			feed->stated = true;
			stream_state(&feed->stream, &feed->digest);
			break;
		case STREAM_FLAW:
			feed->flaw = item.flaw;
			free(piece);
			return false;
		case STREAM_MORE:
			cr_assert_eq(from, end, "bytes left behind");
			free(piece);
			return true;
		}
	}
}

void feed_placed(struct feed *feed, const uint8_t *bytes, uint32_t length)
{
	if (stream_hashes(&feed->stream))
		stream_state(&feed->stream, &feed->digest);
	stream_placed(&feed->stream, bytes, length);
	put_payload(feed, bytes, length);
}
