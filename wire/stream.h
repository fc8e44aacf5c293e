/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.h - the received bytes of one connection, cut into frames.
 *
 * Sans-I/O and without allocation: is fed whatever arrived and yields items. A frame that lies whole in the bytes fed
 * is yielded in place; only a head, body or trailer that is cut by the end of the bytes is kept inside. Every frame
 * yielded has passed the validators of codec.h and, where agreed, its digest. What is wrong is named after as few
 * bytes as can tell: an alien first byte at once, an absurd length after the head.
 * Owner: the connection. Thread: holder of the driver role. */
#ifndef WIRE_STREAM_H
#define WIRE_STREAM_H

#include <assert.h>

#include "wire/codec.h"
#include "wire/digest.h"

enum stream_event {
	STREAM_MORE,	/* all bytes are taken; feed more */
	STREAM_FRAME,	/* item.head: head and body, valid until the next call or until the bytes fed go */
	STREAM_PAYLOAD,	/* item.bytes, item.length: the next run of the frame's payload, in the bytes fed */
	STREAM_END,	/* the same of its last run, if that was not yielded before: else item.length is 0. item.status: payload
			   complete, trailer valid. Not yielded by a frame without payload */
	STREAM_FLAW,	/* item.flaw: the stream is dead, each further call says so again */
};

struct stream_item {
	const struct wire_head *head;
	const uint8_t *bytes;
	uint32_t length;
	enum wire_status status;
	enum wire_flaw flaw;
};

struct stream {
	struct digest_state *digest;	/* of the payload under way; NULL: no payload digests. The caller's */
	uint32_t segment_max;
	uint32_t payload_left;		/* of the frame under way */
	bool	 greeted;		/* the greeting is over: stream_modes() */
	bool	 proves;		/* CHALLENGE and PROOF belong to it */
	bool	 head_digest;
	bool	 digested;		/* the caller has made the digest of the payload under way */
	bool	 in_payload;		/* payload and trailer are next, else a head */
	uint8_t	 flaw;			/* enum wire_flaw that killed the stream */
	uint16_t have;			/* bytes kept in part */
	uint64_t known;			/* that digest */
	uint8_t	 part[WIRE_FRAME_MAX];	/* a cut head with body, or trailer */
};
static_assert(sizeof(struct stream) < 256, "an idle connection is small");

/* Expects HELLO (or BYE in its place), with head digest. Where a secret is to be proved, the caller then sets
 * stream->proves: frames of the greeting, whose order is his to see to, come until stream_modes(). */
void stream_init(struct stream *stream, uint32_t segment_max);

/* What both HELLOs agreed to. Called once, when the last frame of the greeting was yielded and before the next
 * stream_next(). `digest` is NULL if payloads carry no digest; else it belongs to the stream until that ends. segment_max:
 * payload bytes granted. */
void stream_modes(struct stream *stream, bool head_digest, struct digest_state *digest, uint32_t segment_max);

/* Takes bytes from *from, which it moves, and yields the next item. Call until STREAM_MORE or STREAM_FLAW. */
enum stream_event stream_next(struct stream *stream, const uint8_t **from, const uint8_t *end,
			      struct stream_item *item);

/* Payload bytes of the current frame still to come: they may be received straight into their place instead of being
 * fed. Zero when a head or trailer is next. */
static inline uint32_t stream_payload_left(const struct stream *stream)
{
	return stream->payload_left;
}

/* Does the next byte to be fed begin a frame? */
static inline bool stream_at_head(const struct stream *stream)
{
	return !stream->in_payload && !stream->have;
}

/* `length` of them came to lie at `bytes`; at most stream_payload_left(). In order, as often as there are pieces.
 * No STREAM_PAYLOAD is yielded for them; STREAM_END comes when the trailer is fed. */
static inline void stream_placed(struct stream *stream, const void *bytes, uint32_t length)
{
	assert(stream->in_payload && length <= stream->payload_left);
	if (stream->digest)
		digest_add(stream->digest, bytes, length);
	stream->payload_left -= length;
}

/* All of the payload of the current frame was taken, and this is its digest; with digests, and before anything else was said of
 * its bytes. No STREAM_PAYLOAD is yielded for it. */
static inline void stream_digested(struct stream *stream, uint64_t digest)
{
	assert(stream->in_payload && stream->digest && stream->payload_left);
	stream->payload_left = 0;
	stream->known = digest;
	stream->digested = true;
}

#endif
