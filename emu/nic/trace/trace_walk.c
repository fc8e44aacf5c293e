/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_walk.c - a stream's bytes, cut into those captured and those passed over. */
#include "emu/nic/trace/trace_impl.h"

#include <string.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/memory/guard.h"
#include "wire/codec.h"

enum { START = 8 }; /* bytes of a head that tell its frame's length */

static_assert(sizeof(((struct trace_walk *)NULL)->part) >= WIRE_FRAME_MAX, "a head with body");
static_assert(offsetof(struct wire_head, payload) + sizeof(wire_u32) == START, "they do");

/* A frame begins: what of it is captured. */
static void walk_frame(struct trace_walk *walk, const struct wire_head *head)
{
	uint32_t payload = wire_get32(head->payload), kept = payload < TRACE_PAYLOAD ? payload : TRACE_PAYLOAD;

	walk->keep_left = (uint32_t)(sizeof(*head) + wire_body_len(head->op)) + kept;
	walk->gap_left = payload - kept;
	walk->tail_left = payload ? sizeof(struct wire_trailer) : 0;
}

/* Takes up to `want` bytes of a cut head; returns how many. */
static size_t walk_part(struct trace_walk *walk, const uint8_t *at, size_t left, size_t want)
{
	size_t take = want - walk->have < left ? want - walk->have : left;

	if (!guard_copy(walk->part + walk->have, at, take))
		memset(walk->part + walk->have, 0, take);
	walk->have += (uint8_t)take;
	return take;
}

/* Bytes that go on from here without a gap, the frames behind this one included; walks over them. *head_at: of the first head among
 * them, counted from `from`. */
static const uint8_t *walk_on(struct trace_walk *walk, const uint8_t *from, const uint8_t *at, const uint8_t *end,
			      uint32_t *head_at)
{
	while (at < end) {
		size_t take;

		if (!walk->keep_left && walk->gap_left)
			break;
		if (!walk->keep_left && walk->tail_left) {
			walk->keep_left = walk->tail_left;
			walk->tail_left = 0;
		}
		if (!walk->keep_left) {
			if (*head_at == TRACE_NO_HEAD && !walk->have)
				*head_at = (uint32_t)(at - from);
			if (likely(!walk->have && (size_t)(end - at) >= START)) {
				walk_frame(walk, (const struct wire_head *)at);
			} else {
				at += walk_part(walk, at, (size_t)(end - at), START);
				if (walk->have < START)
					break;
				walk_frame(walk, (const struct wire_head *)walk->part);
				walk->have = 0;
				walk->keep_left -= START;
			}
		}
		take = (size_t)(end - at) < walk->keep_left ? (size_t)(end - at) : walk->keep_left;
		at += take;
		walk->keep_left -= (uint32_t)take;
	}
	return at;
}

static size_t walk_gap(struct trace_walk *walk, size_t left)
{
	size_t take = 0;

	if (!walk->keep_left && walk->gap_left) {
		take = left < walk->gap_left ? left : walk->gap_left;
		walk->gap_left -= (uint32_t)take;
		walk->at += take;
	}
	return take;
}

static void walk_runs(struct trace_walk *walk, const uint8_t *at, size_t length, const struct trace_sink *sink)
{
	const uint8_t *end = at + length;

	while (at < end) {
		uint32_t head_at = TRACE_NO_HEAD;
		const uint8_t *from = at, *most = (size_t)(end - at) > TRACE_PIECE ? at + TRACE_PIECE : end;

		at = walk_on(walk, from, at, most, &head_at);
		if (at > from)
			sink->run(sink->arg, walk->at, from, (uint32_t)(at - from), head_at);
		walk->at += (uint64_t)(at - from);
		at += walk_gap(walk, (size_t)(end - at));
	}
}

/* Heads and bodies, for a sink that reads them; all else is passed over. */
static void walk_frames(struct trace_walk *walk, const uint8_t *at, size_t length, const struct trace_sink *sink)
{
	const uint8_t *end = at + length;

	walk->at += length;
	while (at < end) {
		const struct wire_head *head = (const struct wire_head *)walk->part;
		size_t take;

		if (walk->gap_left) {
			take = (size_t)(end - at) < walk->gap_left ? (size_t)(end - at) : walk->gap_left;
			at += take;
			walk->gap_left -= (uint32_t)take;
			continue;
		}
		take = walk->have < sizeof(*head) ? sizeof(*head) : sizeof(*head) + wire_body_len(head->op);
		at += walk_part(walk, at, (size_t)(end - at), take);
		if (walk->have < sizeof(*head) || walk->have < sizeof(*head) + wire_body_len(head->op))
			continue;
		sink->frame(sink->arg, head);
		walk->gap_left = wire_get32(head->payload);
		walk->gap_left += walk->gap_left ? sizeof(struct wire_trailer) : 0;
		walk->have = 0;
	}
}

/* Does a frame begin there, most likely? The stream's own validators are not asked: with one more caller they are not compiled into
 * the place where each frame needs them. */
static bool begins_frame(const uint8_t *at, size_t length)
{
	struct wire_head head;
	const struct wire_form *form;
	uint32_t payload;

	if (length < sizeof(head) || !guard_copy(&head, at, sizeof(head)))
		return false;
	form = &wire_forms[head.op];
	payload = wire_get32(head.payload);
	return form->body && !(head.flags & ~form->flags) && !wire_get16(head.zero) && payload <= WIRE_SEGMENT_MAX &&
	       (!payload || form->payload) && form->sequenced == (wire_get64(head.seq) != 0);
}

void trace_walk(struct trace_walk *walk, const struct iovec *iov, int count, size_t length, const struct trace_sink *sink)
{
	if (unlikely(walk->lost)) {
		if (!count || !begins_frame(iov->iov_base, iov->iov_len < length ? iov->iov_len : length)) {
			walk->at += length;
			return;
		}
		walk->lost = false;
	}
	for (int i = 0; i < count && length; i++) {
		size_t take = iov[i].iov_len < length ? iov[i].iov_len : length;

		if (sink->run)
			walk_runs(walk, iov[i].iov_base, take, sink);
		else
			walk_frames(walk, iov[i].iov_base, take, sink);
		length -= take;
	}
}
