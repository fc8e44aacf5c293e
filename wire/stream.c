/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - the incremental parser: head, body, payload, trailer, and again. */
#include "wire/stream.h"

#include <assert.h>

void stream_init(struct stream *stream, uint32_t segment_max)
{
	memset(stream, 0, sizeof(*stream));
	stream->segment_max = segment_max;
	stream->head_digest = true;
}

void stream_modes(struct stream *stream, bool head_digest, bool payload_digest, uint32_t segment_max)
{
	assert(!stream->greeted && !stream->in_payload);
	stream->greeted = true;
	stream->head_digest = head_digest;
	stream->cover = payload_digest ? WIRE_PAYLOAD_BULK | WIRE_PAYLOAD_ATOMIC : head_digest ? WIRE_PAYLOAD_ATOMIC : 0;
	stream->segment_max = segment_max;
}

void stream_hash_piece(struct stream *stream, const void *bytes, uint32_t length)
{
	assert(stream->state && stream->hash != STREAM_HASH_KNOWN);
	if (stream->hash == STREAM_HASH_DUE)
		digest_begin(stream->state);
	stream->hash = STREAM_HASH_BEGUN;
	digest_add(stream->state, bytes, length);
}

__attribute__((cold)) static enum stream_event die(struct stream *stream, enum wire_flaw flaw, struct stream_item *item)
{
	stream->flaw = (uint8_t)flaw;
	stream->in_payload = false;
	item->flaw = flaw;
	return STREAM_FLAW;
}

/* May this op stand here? Needs one byte, so that an alien peer is detected before it waits for our answer. */
static enum wire_flaw check_place(const struct stream *stream, uint8_t op)
{
	if (!stream->greeted)
		return op == WIRE_HELLO || op == WIRE_BYE || (stream->proves && wire_greets(op)) ? WIRE_FLAWLESS
												 : WIRE_FLAW_NOT_HELLO;
	if (wire_greets(op))
		return op == WIRE_HELLO ? WIRE_FLAW_SECOND_HELLO : WIRE_FLAW_PROOF;
	return wire_body_len(op) ? WIRE_FLAWLESS : WIRE_FLAW_OP;
}

static enum wire_flaw digest_flaw(const struct stream *stream, const struct wire_head *head)
{
	uint64_t digest = stream->head_digest ? digest_head(head) : 0;

	return wire_get64(head->digest) == digest ? WIRE_FLAWLESS : WIRE_FLAW_HEAD_DIGEST;
}

/* Checks the first `have` bytes of a frame as far as possible. *need: the bytes needed to check further; if that is at most
 * `have`, head and body are valid and *need is their length. */
static enum wire_flaw stream_check_frame(const struct stream *stream, const struct wire_head *head, size_t have, size_t *need)
{
	enum wire_flaw flaw = check_place(stream, head->op);

	*need = sizeof(*head);
	if (flaw || have < *need)
		return flaw;
	flaw = wire_check_head(head, stream->segment_max);
	if (flaw)
		return flaw;
	if (head->op == WIRE_HELLO) { /* with an unknown version nothing behind magic and versions can be checked */
		*need += offsetof(struct wire_hello, instance);
		flaw = have < *need ? WIRE_FLAWLESS : wire_check_greeting(head);
		if (flaw || have < *need)
			return flaw;
	}
	*need = sizeof(*head) + wire_body_len(head->op);
	if (have < *need)
		return WIRE_FLAWLESS;
	flaw = digest_flaw(stream, head);
	return flaw ? flaw : wire_check_body(head);
}

/* Moves bytes fed into `part` until it has `need`; false: more must be fed. */
static bool stream_fill_part(struct stream *stream, const uint8_t **from, const uint8_t *end, size_t need)
{
	size_t take = need - stream->have;

	assert(need <= sizeof(stream->part) && stream->have <= need);
	if (take > (size_t)(end - *from))
		take = (size_t)(end - *from);
	memcpy(stream->part + stream->have, *from, take);
	stream->have = (uint16_t)(stream->have + take);
	*from += take;
	return stream->have == need;
}

static enum stream_event yield_frame(struct stream *stream, const struct wire_head *head, struct stream_item *item)
{
	stream->have = 0;
	stream->payload_left = wire_get32(head->payload);
	stream->in_payload = stream->payload_left != 0;
	if (stream->in_payload)
		stream->hash = stream_covers(stream, head->op) ? STREAM_HASH_DUE : STREAM_HASH_NONE;
	item->head = head;
	return STREAM_FRAME;
}

/* A frame that does not lie whole in the bytes fed, or whose beginning is kept in `part`. */
__attribute__((noinline)) static enum stream_event next_cut_frame(struct stream *stream, const uint8_t **from, const uint8_t *end,
								  struct stream_item *item)
{
	const struct wire_head *head = (const struct wire_head *)stream->part;
	size_t need = stream->have + 1u;

	while (stream_fill_part(stream, from, end, need)) {
		enum wire_flaw flaw = stream_check_frame(stream, head, stream->have, &need);

		if (flaw)
			return die(stream, flaw, item);
		if (stream->have == need)
			return yield_frame(stream, head, item);
	}
	return STREAM_MORE;
}

static enum stream_event next_frame(struct stream *stream, const uint8_t **from, const uint8_t *end, struct stream_item *item)
{
	const struct wire_head *head = (const struct wire_head *)*from;
	size_t have = (size_t)(end - *from), need;
	enum wire_flaw flaw;

	if (stream->flaw)
		return die(stream, (enum wire_flaw)stream->flaw, item);
	if (stream->have)
		return next_cut_frame(stream, from, end, item);
	flaw = stream_check_frame(stream, head, have, &need);
	if (flaw)
		return die(stream, flaw, item);
	if (have < need)
		return next_cut_frame(stream, from, end, item);
	*from += need;
	return yield_frame(stream, head, item);
}

static enum wire_flaw check_trailer(const struct stream *stream, const struct wire_trailer *trailer)
{
	enum wire_flaw flaw = wire_check_trailer(trailer);
	uint64_t hash = 0;

	if (flaw)
		return flaw;
	if (stream_hashes(stream))
		hash = stream->hash == STREAM_HASH_KNOWN ? stream->known : digest_end(stream->state);
	return wire_get64(trailer->digest) == wire_trailer_digest(wire_get32(trailer->status), hash) ? WIRE_FLAWLESS
												     : WIRE_FLAW_PAYLOAD_DIGEST;
}

static enum stream_event yield_end(struct stream *stream, const struct wire_trailer *trailer, struct stream_item *item)
{
	item->status = (enum wire_status)wire_get32(trailer->status);
	stream->have = 0;
	stream->in_payload = false;
	return STREAM_END;
}

/* A trailer that is flawed, does not lie whole in the bytes fed, or whose beginning is kept in `part`. */
__attribute__((noinline)) static enum stream_event next_cut_trailer(struct stream *stream, const uint8_t **from, const uint8_t *end,
								    struct stream_item *item)
{
	const struct wire_trailer *trailer = (const struct wire_trailer *)stream->part;
	enum wire_flaw flaw;

	if (!stream_fill_part(stream, from, end, sizeof(*trailer)))
		return STREAM_MORE;
	flaw = check_trailer(stream, trailer);
	return flaw ? die(stream, flaw, item) : yield_end(stream, trailer, item);
}

/* Digests the next `length` bytes of a payload. False: a state is missing. */
__attribute__((noinline)) static bool hash_fed(struct stream *stream, const uint8_t *bytes, uint32_t length)
{
	if (stream->hash == STREAM_HASH_DUE && length == stream->payload_left) {
		stream->known = digest_bytes(bytes, length);
		stream->hash = STREAM_HASH_KNOWN;
	} else if (length) {
		if (!stream->state)
			return false;
		stream_hash_piece(stream, bytes, length);
	}
	return true;
}

/* Yields payload, and the trailer with it if that is here and good. */
static enum stream_event next_payload(struct stream *stream, const uint8_t **from, const uint8_t *end, struct stream_item *item)
{
	size_t have = (size_t)(end - *from);
	uint32_t length = have < stream->payload_left ? (uint32_t)have : stream->payload_left;
	const struct wire_trailer *trailer = (const struct wire_trailer *)(*from + length);

	if (stream_hashes(stream) && !hash_fed(stream, *from, length))
		return STREAM_STATE;
	item->bytes = *from;
	item->length = length;
	*from += length;
	stream->payload_left -= length;
	if (!stream->payload_left && !stream->have && have - length >= sizeof(*trailer) && !check_trailer(stream, trailer)) {
		*from += sizeof(*trailer);
		return yield_end(stream, trailer, item);
	}
	return length ? STREAM_PAYLOAD : next_cut_trailer(stream, from, end, item);
}

enum stream_event stream_next(struct stream *stream, const uint8_t **from, const uint8_t *end, struct stream_item *item)
{
	if (*from >= end && !stream->flaw) {
		assert(*from == end);
		return STREAM_MORE;
	}
	return stream->in_payload ? next_payload(stream, from, end, item) : next_frame(stream, from, end, item);
}
