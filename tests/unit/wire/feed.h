/* SPDX-License-Identifier: BSD-2-Clause */
/* feed.h - feeds bytes to a stream in pieces and writes down what it yields, as the bytes that would yield it. */
#ifndef TESTS_UNIT_WIRE_FEED_H
#define TESTS_UNIT_WIRE_FEED_H

#include "golden.h"
#include "wire/stream.h"

enum feed_mode { FEED_HEAD, FEED_FULL, FEED_OFF, FEED_MODES }; /* what the two HELLOs agreed on digests */
enum { FEED_MAX = 4096 };

struct feed {
	struct stream stream;
	struct digest_state digest;
	enum feed_mode mode;
	bool stated; /* the stream has asked for a state */
	uint8_t op;  /* of the frame under way */
	enum wire_flaw flaw;
	struct digest_state check; /* of the payload under way, from what was yielded */
	int frames, ends;
	size_t length;
	uint8_t out[FEED_MAX]; /* what was yielded, encoded again */
};

/* All golden frames (one HELLO) with digests as `mode` wants them; returns their length. */
size_t feed_goldens(enum feed_mode mode, uint8_t bytes[FEED_MAX]);

/* One frame that lies at `bytes`, made whole for `mode`: head digest, and trailer digest where there is payload. */
void feed_redigest(uint8_t *bytes, enum feed_mode mode);

void feed_init(struct feed *feed, enum feed_mode mode);

/* Feeds `length` bytes as one piece, from memory that ends with them; false: the stream found a flaw. */
bool feed_piece(struct feed *feed, const uint8_t *bytes, size_t length);

/* `length` payload bytes came to lie in their place. */
void feed_placed(struct feed *feed, const uint8_t *bytes, uint32_t length);

#endif
