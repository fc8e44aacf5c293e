/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.h - the received bytes of one connection, cut into frames.
 *
 * Sans-I/O and without allocation: is fed the bytes that arrive and yields items. A frame that lies whole in the bytes fed
 * is yielded in place; only a head, body or trailer that is cut by the end of the bytes is kept inside. Every frame
 * yielded has passed the validators of codec.h and, where agreed, its digest. Flaws are reported after as few bytes as
 * possible: an alien first byte at once, an absurd length after the head.
 * Owner: the connection. Thread: holder of the driver role. */
#ifndef WIRE_STREAM_H
#define WIRE_STREAM_H

#include <assert.h>

#include "wire/codec.h"
#include "wire/digest.h"

enum stream_event {
	STREAM_MORE,    /* all bytes are taken; feed more */
	STREAM_FRAME,   /* item.head: head and body, valid until the next call or until the bytes fed go */
	STREAM_PAYLOAD, /* item.bytes, item.length: the next run of the frame's payload, in the bytes fed */
	STREAM_END,     /* the payload's last run, if it was not yielded before; else item.length is 0. item.status: payload
			   complete, trailer valid. A frame without payload does not yield it */
	STREAM_STATE,   /* a payload with digest comes in pieces: call stream_state(), then go on. Once a stream */
	STREAM_FLAW,    /* item.flaw: the stream is dead, each further call returns the same */
};

struct stream_item {
	const struct wire_head *head;
	const uint8_t *bytes;
	uint32_t length;
	enum wire_status status;
	enum wire_flaw flaw;
};

/* The state of the digest of the payload under way. */
enum stream_hash {
	STREAM_HASH_NONE,  /* the payload is not covered */
	STREAM_HASH_DUE,   /* no byte was taken yet */
	STREAM_HASH_BEGUN, /* is computed in pieces */
	STREAM_HASH_KNOWN, /* was computed of the whole payload */
};

struct stream {
	struct digest_state *state; /* the caller's, for payloads that come in pieces; NULL: none with digest has come yet */
	uint32_t segment_max;
	uint32_t payload_left; /* of the frame under way */
	bool greeted;          /* the greeting is over: stream_modes() */
	bool proves;           /* CHALLENGE and PROOF belong to the greeting */
	bool head_digest;
	uint8_t cover;                /* enum wire_payload: the sorts that have digests */
	uint8_t hash;                 /* enum stream_hash */
	bool in_payload;              /* payload and trailer are next, else a head */
	uint8_t flaw;                 /* enum wire_flaw that killed the stream */
	uint16_t have;                /* bytes kept in part */
	uint64_t known;               /* the digest, with STREAM_HASH_KNOWN */
	uint8_t part[WIRE_FRAME_MAX]; /* a cut head with body, or trailer */
};
static_assert(sizeof(struct stream) < 256, "an idle connection is small");

/* Expects HELLO (or BYE in its place), with head digest. If a secret is to be proved, the caller then sets
 * stream->proves: frames of the greeting come until stream_modes(), and the caller checks their order. */
void stream_init(struct stream *stream, uint32_t segment_max);

/* Sets the modes that both HELLOs agreed to. Called once, when the last frame of the greeting was yielded and before the next
 * stream_next(). payload_digest: all payloads are covered; else those of atomics are, if heads are. segment_max: payload bytes
 * granted. */
void stream_modes(struct stream *stream, bool head_digest, bool payload_digest, uint32_t segment_max);

/* After STREAM_STATE. The stream uses the state until it ends. */
static inline void stream_state(struct stream *stream, struct digest_state *state)
{
	stream->state = state;
}

/* Do payloads of that op, sent or received, have a digest on this connection? */
static inline bool stream_covers(const struct stream *stream, uint8_t op)
{
	return wire_forms[op].payload & stream->cover;
}

/* Takes bytes from *from, which it moves, and yields the next item. Call until STREAM_MORE or STREAM_FLAW. */
enum stream_event stream_next(struct stream *stream, const uint8_t **from, const uint8_t *end, struct stream_item *item);

/* Payload bytes of the current frame still to come: they may be received directly at their destination instead of being
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

/* Does the payload under way have a digest? */
static inline bool stream_hashes(const struct stream *stream)
{
	return stream->hash != STREAM_HASH_NONE;
}

/* Adds a piece to the digest of the payload under way. */
void stream_hash_piece(struct stream *stream, const void *bytes, uint32_t length);

/* `length` payload bytes, at most stream_payload_left(), were received at `bytes`. Call it in order, once for each piece; with a
 * digest only after stream_state(). No STREAM_PAYLOAD is yielded for them; STREAM_END comes when the trailer is fed. */
static inline void stream_placed(struct stream *stream, const void *bytes, uint32_t length)
{
	assert(stream->in_payload && length <= stream->payload_left);
	if (stream_hashes(stream))
		stream_hash_piece(stream, bytes, length);
	stream->payload_left -= length;
}

/* The whole payload of the current frame was received, and this is its digest. Only with stream_hashes(), and before any other call
 * for its bytes. No STREAM_PAYLOAD is yielded for it. */
static inline void stream_digested(struct stream *stream, uint64_t digest)
{
	assert(stream->in_payload && stream->hash == STREAM_HASH_DUE);
	stream->payload_left = 0;
	stream->known = digest;
	stream->hash = STREAM_HASH_KNOWN;
}

#endif
