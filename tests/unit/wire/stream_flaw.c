/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_flaw.c - each flaw is found, under its name, after as few bytes as can tell; nothing corrupt comes out. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "feed.h"

enum { HEAD = 32, GREETING = 48, WHOLE = 0 };
enum seal { SEALED, AS_IS }; /* is the head digest made to agree with the change? */

/* One change to a golden frame. */
static const struct row {
	enum wire_flaw flaw;
	enum golden_name frame;
	uint16_t offset; /* where `count` bytes become `value` */
	uint16_t count;
	uint8_t value;
	uint8_t known; /* bytes of the frame after which it is known; WHOLE: head and body */
	enum seal seal;
} rows[] = {
	{ WIRE_FLAW_OP, GOLDEN_ACK, 0, 1, 0, 1, SEALED },
	{ WIRE_FLAW_OP, GOLDEN_ACK, 0, 1, 7, 1, SEALED },
	{ WIRE_FLAW_OP, GOLDEN_ACK, 0, 1, 255, 1, SEALED },
	{ WIRE_FLAW_SECOND_HELLO, GOLDEN_HELLO6, 0, 0, 0, 1, SEALED },
	{ WIRE_FLAW_PROOF, GOLDEN_CHALLENGE, 0, 0, 0, 1, SEALED },
	{ WIRE_FLAW_PROOF, GOLDEN_PROOF, 0, 0, 0, 1, SEALED },
	{ WIRE_FLAW_FLAGS, GOLDEN_ACK, 1, 1, WIRE_F_LAST, HEAD, SEALED },
	{ WIRE_FLAW_FLAGS, GOLDEN_SEND, 1, 1, 0x01, HEAD, SEALED },
	/* WIRE-5 */
	{ WIRE_FLAW_ZERO, GOLDEN_ACK, 2, 1, 1, HEAD, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_ACK, 3, 1, 1, HEAD, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_HELLO4, HEAD + 119, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_CHALLENGE, HEAD + 55, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_BYE, HEAD + 7, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_DATA, HEAD + 31, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_TAKEN, HEAD + 15, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_PULL, HEAD + 24, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_RNR, HEAD + 15, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_NAK, HEAD + 55, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_WRITE, HEAD + 48 + 8 + 7, 1, 1, HEAD + 48 + 8 + 16, SEALED },
	{ WIRE_FLAW_PAYLOAD, GOLDEN_READ, 7, 1, 1, HEAD, SEALED },
	{ WIRE_FLAW_PAYLOAD, GOLDEN_HELLO4, 4, 4, 255, HEAD, SEALED },
	{ WIRE_FLAW_PAYLOAD_LONG, GOLDEN_WRITE, 5, 1, 2, HEAD, SEALED },
	{ WIRE_FLAW_PAYLOAD_LONG, GOLDEN_SEND, 4, 4, 255, HEAD, SEALED },
	{ WIRE_FLAW_SEQ_MISSING, GOLDEN_SEND, 15, 1, 0, HEAD, SEALED },
	{ WIRE_FLAW_SEQ, GOLDEN_NAK, 8, 1, 1, HEAD, SEALED },
	{ WIRE_FLAW_HELLO_ACK, GOLDEN_HELLO4, 23, 1, 1, HEAD, SEALED },
	{ WIRE_FLAW_HELLO_ACK, GOLDEN_CHALLENGE, 16, 1, 1, HEAD, SEALED },
	{ WIRE_FLAW_HELLO_ACK, GOLDEN_PROOF, 23, 1, 1, HEAD, SEALED },
	{ WIRE_FLAW_HEAD_DIGEST, GOLDEN_PROOF, HEAD + 31, 1, 0, WHOLE, AS_IS },
	{ WIRE_FLAW_HEAD_DIGEST, GOLDEN_DONE, HEAD + 15, 1, 12, WHOLE, AS_IS },
	{ WIRE_FLAW_HEAD_DIGEST, GOLDEN_DONE, 24, 8, 0, WHOLE, AS_IS },
	{ WIRE_FLAW_HEAD_DIGEST, GOLDEN_HELLO4, GREETING + 3, 1, 0, WHOLE, AS_IS },
	{ WIRE_FLAW_MAGIC, GOLDEN_HELLO4, HEAD + 7, 1, '\r', GREETING, SEALED },
	{ WIRE_FLAW_VERSION_RANGE, GOLDEN_HELLO4, HEAD + 9, 1, 0, GREETING, SEALED },
	{ WIRE_FLAW_VERSION_RANGE, GOLDEN_HELLO4, HEAD + 9, 1, 2, GREETING, SEALED },
	{ WIRE_FLAW_PAIR, GOLDEN_PAIR, HEAD, 4, 2, WHOLE, SEALED },
	{ WIRE_FLAW_PAIR, GOLDEN_PAIR, HEAD + 4, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_PAIR, GOLDEN_PAIR, HEAD + 8, 4, 0, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_PAIR, HEAD + 15, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_VERSION, GOLDEN_HELLO4, HEAD + 8, 4, 1, GREETING, AS_IS },
	{ WIRE_FLAW_INSTANCE, GOLDEN_HELLO4, HEAD + 16, 16, 0, WHOLE, SEALED },
	/* WIRE-24 */
	{ WIRE_FLAW_SESSION, GOLDEN_HELLO4, HEAD + 48, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_SESSION, GOLDEN_HELLO4, HEAD + 56, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_GRANT, GOLDEN_HELLO4, HEAD + 80, 4, 0, WHOLE, SEALED },
	{ WIRE_FLAW_GRANT, GOLDEN_HELLO4, HEAD + 84, 4, 0, WHOLE, SEALED },
	{ WIRE_FLAW_SEGMENT, GOLDEN_HELLO4, HEAD + 89, 1, 0, WHOLE, SEALED },
	{ WIRE_FLAW_SEGMENT, GOLDEN_HELLO4, HEAD + 88, 4, 255, WHOLE, SEALED },
	/* WIRE-26 */
	{ WIRE_FLAW_ADDRESS, GOLDEN_HELLO4, HEAD + 93, 1, 5, WHOLE, SEALED },
	{ WIRE_FLAW_ADDRESS, GOLDEN_HELLO4, HEAD + 94, 2, 0, WHOLE, SEALED },
	{ WIRE_FLAW_ADDRESS, GOLDEN_HELLO4, HEAD + 111, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ADDRESS, GOLDEN_HELLO4, HEAD + 115, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ADDRESS, GOLDEN_CHALLENGE, HEAD + 33, 1, 5, WHOLE, SEALED },
	{ WIRE_FLAW_ADDRESS, GOLDEN_CHALLENGE, HEAD + 34, 2, 0, WHOLE, SEALED },
	{ WIRE_FLAW_ADDRESS, GOLDEN_CHALLENGE, HEAD + 40, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_BYE, GOLDEN_BYE, HEAD + 3, 1, 0, WHOLE, SEALED },
	{ WIRE_FLAW_BYE, GOLDEN_BYE, HEAD + 3, 1, 11, WHOLE, SEALED },
	{ WIRE_FLAW_BYE, GOLDEN_BYE, HEAD + 8, 1, '\n', WHOLE, SEALED },
	{ WIRE_FLAW_BYE, GOLDEN_BYE, HEAD + 8, 1, 0x7f, WHOLE, SEALED },
	{ WIRE_FLAW_BYE, GOLDEN_BYE, HEAD + 9, 1, 0, WHOLE, SEALED },
	{ WIRE_FLAW_REST, GOLDEN_WRITE, HEAD + 39, 1, 7, WHOLE, SEALED },
	{ WIRE_FLAW_REST, GOLDEN_DATA, HEAD + 23, 1, 16, WHOLE, SEALED },
	{ WIRE_FLAW_LAST, GOLDEN_WRITE, HEAD + 39, 1, 9, WHOLE, SEALED },
	{ WIRE_FLAW_LAST, GOLDEN_WRITE, 1, 1, WIRE_F_FIRST, WHOLE, SEALED },
	{ WIRE_FLAW_LAST, GOLDEN_DATA, HEAD + 16, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_LAST, GOLDEN_DATA, 1, 1, 0, WHOLE, SEALED },
	{ WIRE_FLAW_EMPTY, GOLDEN_WRITE_EMPTY, 1, 1, WIRE_F_LAST, WHOLE, SEALED },
	{ WIRE_FLAW_EMPTY, GOLDEN_WRITE_PART, 7, 1, 0, WHOLE, SEALED },
	/* WIRE-42, WIRE-43, WIRE-44 */
	{ WIRE_FLAW_CQ_DATA, GOLDEN_WRITE, HEAD + 47, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_CQ_DATA, GOLDEN_SEND, 1, 1, WIRE_F_TAGGED, WHOLE, SEALED },
	{ WIRE_FLAW_TAG, GOLDEN_SEND, 1, 1, WIRE_F_CQ_DATA, WHOLE, SEALED },
	{ WIRE_FLAW_TAG, GOLDEN_RTS, 1, 1, 0, WHOLE, SEALED },
	/* WIRE-120, WIRE-124 */
	{ WIRE_FLAW_COLLECTIVE, GOLDEN_SEND_WAIT, 0, 1, WIRE_RTS, WHOLE, SEALED },
	{ WIRE_FLAW_COLLECTIVE, GOLDEN_SEND, 1, 1, WIRE_F_COLLECTIVE | WIRE_F_TAGGED, WHOLE, SEALED },
	{ WIRE_FLAW_COLLECTIVE, GOLDEN_RTS, 1, 1, WIRE_F_COLLECTIVE | WIRE_F_CQ_DATA, WHOLE, SEALED },
	{ WIRE_FLAW_LENGTH, GOLDEN_SEND, HEAD + 7, 1, 6, WHOLE, SEALED },
	{ WIRE_FLAW_LENGTH, GOLDEN_SEND_EMPTY, HEAD + 0, 1, 1, WHOLE, SEALED },
	/* WIRE-41, WIRE-42, WIRE-146 */
	{ WIRE_FLAW_SOLICITED, GOLDEN_WRITE, 1, 1, WIRE_F_FIRST | WIRE_F_LAST | WIRE_F_SOLICITED, WHOLE, SEALED },
	{ WIRE_FLAW_REST, GOLDEN_RSEND, HEAD + 7, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_LAST, GOLDEN_RSEND, HEAD + 7, 1, 3, WHOLE, SEALED },
	{ WIRE_FLAW_LAST, GOLDEN_RSEND, 1, 1, WIRE_F_FIRST, WHOLE, SEALED },
	{ WIRE_FLAW_EMPTY, GOLDEN_RSEND_PART, 7, 1, 0, WHOLE, SEALED },
	{ WIRE_FLAW_CQ_DATA, GOLDEN_RSEND, HEAD + 27, 1, 0, WHOLE, SEALED },
	{ WIRE_FLAW_INVALIDATE, GOLDEN_RSEND, HEAD + 27, 1, 2, WHOLE, SEALED },
	{ WIRE_FLAW_INVALIDATE, GOLDEN_RSEND_PART, HEAD + 27, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_RSEND, HEAD + 31, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_REF, GOLDEN_DATA, HEAD + 0, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_REF, GOLDEN_TAKEN, HEAD + 0, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_REF, GOLDEN_TAKEN, HEAD + 7, 1, 23, WHOLE, SEALED }, /* itself */
	{ WIRE_FLAW_REF, GOLDEN_PULL, HEAD + 0, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_REF, GOLDEN_RNR, HEAD + 0, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_REF, GOLDEN_NAK, HEAD + 8, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_REF, GOLDEN_PARK, HEAD + 8, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_VERDICT, GOLDEN_NAK, HEAD + 0, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_VERDICT, GOLDEN_DONE, HEAD + 0, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_CAUSE, GOLDEN_NAK, HEAD + 16, 4, 0, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_ATOMIC, HEAD + 51, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_ATOMIC, HEAD + 55, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_CONNECT, HEAD + 8, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_ZERO, GOLDEN_REJECT, HEAD + 15, 1, 1, WHOLE, SEALED },
	{ WIRE_FLAW_CM, GOLDEN_CONNECT, HEAD, 8, 0, WHOLE, SEALED }, /* no request */
	{ WIRE_FLAW_CM, GOLDEN_ACCEPT, HEAD, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_CM, GOLDEN_REJECT, HEAD, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_CM, GOLDEN_CONNECT, 6, 1, 1, WHOLE, SEALED }, /* 260 bytes */
	{ WIRE_FLAW_CM, GOLDEN_REJECT, 5, 1, 1, WHOLE, SEALED },  /* 64 KiB */
	{ WIRE_FLAW_CQ_DATA, GOLDEN_ATOMIC_READ, HEAD + 47, 1, 1, WHOLE, SEALED },
	/* WIRE-75 */
	{ WIRE_FLAW_ATOMIC, GOLDEN_ATOMIC, HEAD + 48, 1, 3, WHOLE, SEALED },       /* kind */
	{ WIRE_FLAW_ATOMIC, GOLDEN_ATOMIC, HEAD + 49, 1, 20, WHOLE, SEALED },      /* op */
	{ WIRE_FLAW_ATOMIC, GOLDEN_ATOMIC, HEAD + 50, 1, 20, WHOLE, SEALED },      /* type */
	{ WIRE_FLAW_ATOMIC, GOLDEN_ATOMIC, HEAD + 48, 1, 1, WHOLE, SEALED },       /* payload for two */
	{ WIRE_FLAW_ATOMIC, GOLDEN_ATOMIC, HEAD + 39, 1, 16, WHOLE, SEALED },      /* for half of it */
	{ WIRE_FLAW_ATOMIC, GOLDEN_ATOMIC, HEAD + 49, 1, 10, WHOLE, SEALED },      /* for none */
	{ WIRE_FLAW_ATOMIC, GOLDEN_ATOMIC_READ, HEAD + 32, 8, 0, WHOLE, SEALED },  /* of nothing */
	{ WIRE_FLAW_ATOMIC, GOLDEN_ATOMIC_READ, HEAD + 38, 1, 17, WHOLE, SEALED }, /* of too much */
	{ WIRE_FLAW_REF, GOLDEN_RESULT, HEAD + 8, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_VERDICT, GOLDEN_RESULT, HEAD + 0, 8, 0, WHOLE, SEALED },
	{ WIRE_FLAW_RESULT, GOLDEN_RESULT, 7, 1, 0, WHOLE, SEALED },
	{ WIRE_FLAW_STATUS, GOLDEN_TAKEN, HEAD + 11, 1, 3, WHOLE, SEALED },
	{ WIRE_FLAW_STATUS, GOLDEN_WRITE, HEAD + 48 + 8 + 3, 1, 3, HEAD + 48 + 8 + 16, SEALED },
	{ WIRE_FLAW_STATUS, GOLDEN_WRITE, HEAD + 48 + 8, 1, 1, HEAD + 48 + 8 + 16, SEALED },
	{ WIRE_FLAW_PAYLOAD_DIGEST, GOLDEN_WRITE, HEAD + 48, 1, 'E', HEAD + 48 + 8 + 16, AS_IS },
	{ WIRE_FLAW_PAYLOAD_DIGEST, GOLDEN_WRITE, HEAD + 48 + 8 + 15, 1, 0, HEAD + 48 + 8 + 16, AS_IS },
	/* By other tests: WIRE_FLAW_NOT_HELLO */
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* The row's frame, in full digest mode, with the row's change. Changes only what is asked, even op and payload. */
static size_t change(const struct row *row, uint8_t bytes[FEED_MAX])
{
	const struct golden *golden = &goldens[row->frame];
	bool in_head = row->offset < HEAD;

	memcpy(bytes, golden->bytes, golden->length);
	feed_redigest(bytes, FEED_FULL);
	memset(bytes + row->offset, row->value, row->count);
	if (row->seal == AS_IS)
		return golden->length;
	if (in_head || row->offset < HEAD + wire_body_len(bytes[0]))
		((struct wire_head *)bytes)->digest = wire_put64(digest_head((struct wire_head *)bytes));
	return golden->length;
}

/* Feeds a change byte by byte, or at once; asserts when and how it is noticed. */
static void assert_noticed(const struct row *row, size_t piece)
{
	bool greeting = row->frame <= GOLDEN_HELLO4 && row->flaw != WIRE_FLAW_PROOF, found = false;
	size_t known, length, fed = 0;
	uint8_t bytes[FEED_MAX];
	struct feed feed;
	int at = (int)(row - rows);

	feed_init(&feed, FEED_FULL);
	if (!greeting)
		feed_piece(&feed, goldens[GOLDEN_HELLO4].bytes, goldens[GOLDEN_HELLO4].length);
	length = change(row, bytes);
	known = row->known ? row->known : HEAD + wire_body_len(bytes[0]);
	piece = piece ? piece : length;
	while (!found && fed < length) {
		found = !feed_piece(&feed, bytes + fed, piece);
		fed += piece;
	}
	cr_assert(found, "row %d: not noticed", at);
	cr_assert_eq(feed.flaw, row->flaw, "row %d: %s, expected %s", at, wire_flaw_name(feed.flaw), wire_flaw_name(row->flaw));
	cr_assert(piece != 1 || fed == known, "row %d: noticed after %zu bytes, not %zu", at, fed, known);
	cr_assert_eq(feed.ends, 0);
}

Test(stream_flaw, each_is_named_as_early_as_can_be)
{
	for (int i = 0; i < ROWS; i++) {
		assert_noticed(&rows[i], 1);
		assert_noticed(&rows[i], 0);
	}
}

Test(stream_flaw, none_is_forgotten)
{
	for (int flaw = WIRE_FLAWLESS + 1; flaw < WIRE_FLAWS; flaw++) {
		bool reached = flaw == WIRE_FLAW_NOT_HELLO;

		for (int i = 0; i < ROWS; i++)
			reached = reached || rows[i].flaw == (enum wire_flaw)flaw;
		cr_assert(reached, "no row for: %s", wire_flaw_name((enum wire_flaw)flaw));
	}
}

/* WIRE-20: aliens are known by their first byte, since they may send no more before we answer. */
Test(stream_flaw, aliens)
{
	static const char *const openings[] = {
		"GET / HTTP/1.0\r\n\r\n", "SSH-2.0-x\r\n", "\x16\x03\x01", "", "\xff", "\x10",
	};

	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		struct feed feed;

		feed_init(&feed, FEED_HEAD);
		cr_assert_not(feed_piece(&feed, (const uint8_t *)openings[i], 1));
		cr_assert_eq(feed.flaw, WIRE_FLAW_NOT_HELLO);
		feed_init(&feed, FEED_HEAD);
		cr_assert_not(feed_piece(&feed, (const uint8_t *)openings[i], strlen(openings[i]) + 1));
		cr_assert_eq(feed.flaw, WIRE_FLAW_NOT_HELLO);
	}
}

/* Where no secret is to be proved, nobody begins by proving one. */
Test(stream_flaw, proofs_that_are_not_asked_for)
{
	for (int name = GOLDEN_CHALLENGE; name <= GOLDEN_PROOF; name++) {
		struct feed feed;

		feed_init(&feed, FEED_HEAD);
		feed.stream.proves = false;
		cr_assert_not(feed_piece(&feed, goldens[name].bytes, 1));
		cr_assert_eq(feed.flaw, WIRE_FLAW_NOT_HELLO);
	}
}

Test(stream_flaw, dead_stays_dead)
{
	struct feed feed;

	feed_init(&feed, FEED_HEAD);
	cr_assert_not(feed_piece(&feed, (const uint8_t *)"x", 1));
	cr_assert_not(feed_piece(&feed, goldens[GOLDEN_HELLO4].bytes, goldens[GOLDEN_HELLO4].length));
	cr_assert_eq(feed.flaw, WIRE_FLAW_NOT_HELLO);
	cr_assert_eq(feed.length, 0);
}

/* WIRE-9, WIRE-11: a digest where none was agreed is no better than a wrong one. */
Test(stream_flaw, digests_that_were_not_agreed)
{
	uint8_t bytes[FEED_MAX];
	struct feed feed;
	size_t length = feed_goldens(FEED_FULL, bytes);

	feed_init(&feed, FEED_HEAD);
	cr_assert_not(feed_piece(&feed, bytes, length));
	cr_assert_eq(feed.flaw, WIRE_FLAW_PAYLOAD_DIGEST);
	feed_init(&feed, FEED_OFF);
	cr_assert_not(feed_piece(&feed, bytes, length));
	cr_assert_eq(feed.flaw, WIRE_FLAW_HEAD_DIGEST);
	length = feed_goldens(FEED_OFF, bytes);
	feed_init(&feed, FEED_HEAD);
	cr_assert_not(feed_piece(&feed, bytes, length));
	cr_assert_eq(feed.flaw, WIRE_FLAW_HEAD_DIGEST);
}

/* With full digests no single flipped bit of the whole sequence goes unnoticed, and nothing behind it comes out. */
Test(stream_flaw, every_flipped_bit)
{
	uint8_t bytes[FEED_MAX];
	size_t length = feed_goldens(FEED_FULL, bytes), more = goldens[GOLDEN_BYE].length;

	/* A last op may turn into one of a longer body: let there be enough behind it. */
	memcpy(bytes + length, goldens[GOLDEN_BYE].bytes, more);
	for (size_t bit = 0; bit < 8 * length; bit++) {
		struct feed feed;

		feed_init(&feed, FEED_FULL);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_not(feed_piece(&feed, bytes, length + more), "bit %zu was not noticed", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_leq(feed.length, bit / 8 + 32, "came out although corrupt");
	}
}

/* Noise behind a good HELLO, with no digests to catch it: whatever it is taken for, the parser stays within bounds. */
Test(stream_flaw, noise)
{
	for (unsigned int seed = 0; seed < 20000; seed++) {
		unsigned int state = seed;
		uint8_t bytes[600];
		struct feed feed;
		bool alive = true;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = rand_r(&state) % 3 ? 0 : (uint8_t)(rand_r(&state) >> 3);
		for (size_t i = 0; i < sizeof(bytes); i += 64)
			bytes[i] = (uint8_t[]){ 2, 3, 16, 17, 18, 19, 32, 33, 34, 48, 49, 50 }[rand_r(&state) % 12];
		feed_init(&feed, FEED_OFF);
		feed_piece(&feed, goldens[GOLDEN_HELLO4].bytes, goldens[GOLDEN_HELLO4].length);
		for (size_t done = 0, piece; alive && done < sizeof(bytes); done += piece) {
			piece = (size_t)rand_r(&state) % (sizeof(bytes) - done) + 1;
			alive = feed_piece(&feed, bytes + done, piece);
		}
	}
}
