/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - however the bytes are cut, the same frames come out. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "feed.h"

enum { WITH_PAYLOAD = 11 }; /* golden frames that have payload */

static void assert_all_yielded(const struct feed *feed, const uint8_t *bytes, size_t length)
{
	cr_assert_eq(feed->flaw, WIRE_FLAWLESS);
	cr_assert_eq(feed->frames, GOLDENS - 3);
	cr_assert_eq(feed->ends, WITH_PAYLOAD, "END comes once for each frame with payload, and for no other");
	cr_assert_eq(feed->length, length);
	cr_assert_arr_eq(feed->out, bytes, length);
}

/* WIRE-2 */
Test(stream, whole)
{
	for (enum feed_mode mode = 0; mode < FEED_MODES; mode++) {
		uint8_t bytes[FEED_MAX];
		size_t length = feed_goldens(mode, bytes);
		struct feed feed;

		feed_init(&feed, mode);
		cr_assert(feed_piece(&feed, bytes, length), "%s", wire_flaw_name(feed.flaw));
		assert_all_yielded(&feed, bytes, length);
	}
}

Test(stream, byte_by_byte)
{
	for (enum feed_mode mode = 0; mode < FEED_MODES; mode++) {
		uint8_t bytes[FEED_MAX];
		size_t length = feed_goldens(mode, bytes);
		struct feed feed;

		feed_init(&feed, mode);
		for (size_t i = 0; i < length; i++) {
			cr_assert(feed_piece(&feed, bytes + i, 1), "%s", wire_flaw_name(feed.flaw));
			cr_assert(feed_piece(&feed, bytes, 0), "nothing fed, nothing changed");
		}
		assert_all_yielded(&feed, bytes, length);
	}
}

/* Each way to cut the sequence in two, and in three with the middle piece short. */
Test(stream, every_split)
{
	uint8_t bytes[FEED_MAX];
	size_t length = feed_goldens(FEED_FULL, bytes);

	for (size_t cut = 0; cut <= length; cut++) {
		for (size_t middle = 0; middle < 40 && cut + middle <= length; middle++) {
			struct feed feed;

			feed_init(&feed, FEED_FULL);
			feed_piece(&feed, bytes, cut);
			feed_piece(&feed, bytes + cut, middle);
			feed_piece(&feed, bytes + cut + middle, length - cut - middle);
			assert_all_yielded(&feed, bytes, length);
		}
	}
}

Test(stream, random_pieces)
{
	uint8_t bytes[FEED_MAX];
	size_t length = feed_goldens(FEED_FULL, bytes);

	for (unsigned int seed = 0; seed < 2000; seed++) {
		unsigned int state = seed;
		struct feed feed;

		feed_init(&feed, FEED_FULL);
		for (size_t done = 0, piece; done < length; done += piece) {
			piece = (size_t)rand_r(&state) % 100;
			piece = piece < length - done ? piece : length - done;
			cr_assert(feed_piece(&feed, bytes + done, piece), "seed %u", seed);
		}
		assert_all_yielded(&feed, bytes, length);
	}
}

/* WIRE-9, WIRE-11: by another build of xxHash. */
Test(stream, goldens_have_the_digests_of_the_default_setting)
{
	uint8_t frame[FEED_MAX];

	for (int name = 0; name < GOLDENS; name++) {
		memcpy(frame, goldens[name].bytes, goldens[name].length);
		feed_redigest(frame, FEED_HEAD);
		cr_assert_arr_eq(frame, goldens[name].bytes, goldens[name].length, "%s", goldens[name].text);
	}
}

/* A frame that lies whole in what was fed is not copied. */
Test(stream, whole_frames_are_yielded_in_place)
{
	const struct golden *write = &goldens[GOLDEN_WRITE];
	const uint8_t *from = write->bytes, *end = from + write->length;
	struct stream stream;
	struct stream_item item;

	stream_init(&stream, WIRE_SEGMENT_MIN);
	stream_modes(&stream, true, false, WIRE_SEGMENT_MIN);
	cr_assert_eq(stream_next(&stream, &from, end, &item), STREAM_FRAME);
	cr_assert_eq((const uint8_t *)item.head, write->bytes);
	cr_assert_eq(stream_next(&stream, &from, end, &item), STREAM_END);
	cr_assert_eq(item.bytes, write->bytes + sizeof(struct wire_head) + sizeof(struct wire_write));
	cr_assert_eq(item.length, 8);
	cr_assert_eq(item.status, WIRE_GOOD);
	cr_assert_eq(stream_next(&stream, &from, end, &item), STREAM_MORE);
}

/* Takes over `place` bytes of each payload by stream_placed(), in pieces of `piece`; feeds the rest. */
static void feed_placing(struct feed *feed, const uint8_t *bytes, size_t length, uint32_t place, uint32_t piece)
{
	size_t at = 0;

	while (at < length) {
		uint32_t left = stream_payload_left(&feed->stream), todo = left < place ? left : place;

		while (todo) {
			uint32_t now = todo < piece ? todo : piece;

			feed_placed(feed, bytes + at, now);
			at += now;
			todo -= now;
		}
		do { /* the rest of this payload, then up to the next payload */
			cr_assert(feed_piece(feed, bytes + at++, 1), "%s", wire_flaw_name(feed->flaw));
		} while (at < length && (left = stream_payload_left(&feed->stream)) < place);
	}
}

Test(stream, payload_placed_straight)
{
	for (enum feed_mode mode = 0; mode < FEED_MODES; mode++) {
		for (uint32_t place = 1; place <= 17; place++) {
			uint8_t bytes[FEED_MAX];
			size_t length = feed_goldens(mode, bytes);
			struct feed feed;

			feed_init(&feed, mode);
			feed_placing(&feed, bytes, length, place, place / 2 + 1);
			assert_all_yielded(&feed, bytes, length);
		}
	}
}

/* All of a segment of the largest size, placed without a byte of it being fed. */
Test(stream, largest_segment_placed)
{
	static const struct wire_target_fields to = { .key = 2, .addr = 3 };
	static uint8_t payload[WIRE_SEGMENT_MAX];
	uint8_t frame[WIRE_FRAME_MAX], trailer[sizeof(struct wire_trailer)];
	const uint8_t *from = frame, *end;
	struct digest_state digest;
	struct stream stream;
	struct stream_item item;

	memset(payload, 0x5a, sizeof(payload));
	end = frame + wire_put_write(frame, WIRE_F_FIRST, sizeof(payload), 1, &to, sizeof(payload), 0);
	wire_seal((struct wire_head *)frame, 0, true);
	wire_put_trailer(trailer, WIRE_SOURCE_FAULT, digest_bytes(payload, sizeof(payload)));

	stream_init(&stream, WIRE_SEGMENT_MAX);
	stream_modes(&stream, true, true, WIRE_SEGMENT_MAX);
	stream_state(&stream, &digest);
	cr_assert_eq(stream_next(&stream, &from, end, &item), STREAM_FRAME);
	cr_assert_eq(stream_next(&stream, &from, end, &item), STREAM_MORE);
	cr_assert_eq(stream_payload_left(&stream), sizeof(payload));
	stream_placed(&stream, payload, 100000);
	stream_placed(&stream, payload + 100000, sizeof(payload) - 100000);
	cr_assert_eq(stream_payload_left(&stream), 0);
	from = trailer;
	cr_assert_eq(stream_next(&stream, &from, trailer + sizeof(trailer), &item), STREAM_END);
	cr_assert_eq(item.length, 0);
	cr_assert_eq(item.status, WIRE_SOURCE_FAULT);
}

/* WIRE-20: a side that refuses a connection may say BYE in HELLO's place. */
Test(stream, bye_may_be_the_first_frame)
{
	struct feed feed;

	feed_init(&feed, FEED_HEAD);
	cr_assert(feed_piece(&feed, goldens[GOLDEN_BYE].bytes, goldens[GOLDEN_BYE].length));
	cr_assert_eq(feed.frames, 1);
}
