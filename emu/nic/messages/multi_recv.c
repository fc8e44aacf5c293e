/* SPDX-License-Identifier: BSD-2-Clause */
/* multi_recv.c - buffers that take many messages. The pool of pieces bounds the memory of their completions: pieces are given
 * back when the program has read them; beyond that senders are told RNR. */
#include "emu/nic/messages/multi_recv.h"

#include "emu/nic/base/driver.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/endpoint/ep.h"
#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/requests/completer.h"

static uint64_t left_in(const struct rx *whole)
{
	return whole->capacity - whole->multi.used;
}

static bool is_over(const struct rx *whole)
{
	return left_in(whole) == 0 || left_in(whole) < whole->multi.least;
}

/* Reports the buffer's release, if nothing of it is in use and nothing more will be. */
static void settle(struct rx *whole)
{
	if (!whole->multi.over || whole->multi.pieces)
		return;
	if (!whole->multi.ended) {
		complete_released(whole);
		return;
	}
	whole->done.c.flags |= whole->srx->nic->config.front->cq_multi;
	complete_receive_failed(whole, whole->multi.ended);
}

static struct rx *piece_new(const struct rx *whole)
{
	const struct ep *ep = srx_reporter(whole);

	/* Errors are kept apart from the pieces, so they have a bound of their own. */
	if (ep && ep->attr.rx_cq && cq_choked(ep->attr.rx_cq))
		return NULL;
	return pool_take(whole->srx->pieces);
}

/* The next `length` bytes, or as much as is left. */
static void piece_cut(struct rx *piece, struct rx *whole, uint64_t length)
{
	uint8_t *at = (uint8_t *)whole->iov[0].iov_base + whole->multi.used;
	uint64_t take = length < left_in(whole) ? length : left_in(whole);

	*piece = (struct rx){
		.srx = whole->srx, .ep = whole->ep, .pool = whole->srx->pieces, .iov[0] = { at, take }, .iov_count = 1,
		.flags = whole->flags & POST_COMPLETE, .capacity = take, .source = whole->source, .whole = whole,
		.done.c = { .context = whole->done.c.context, .flags = whole->done.c.flags, .buf = at, .source = AV_NONE },
	};
	whole->multi.used += take;
	whole->multi.pieces++;
	whole->multi.over = is_over(whole);
}

void multi_start(struct rx *whole)
{
	bool over = false;

	role_assert();
	while (!over) {
		struct rx *piece = piece_new(whole);
		struct message *message = piece ? rx_match_post(&whole->srx->match, whole) : NULL;

		if (!piece) {	/* given back early, with nothing lost: messages wait for the next one */
			whole->multi.over = true;
			settle(whole);
			return;
		}
		if (!message) {
			pool_give(whole->srx->pieces, piece);
			return;
		}
		piece_cut(piece, whole, message->length);
		over = whole->multi.over;	/* then it may be gone with the piece */
		message_matched(message, piece);
	}
}

struct rx *multi_take(struct rx *whole, uint64_t length)
{
	struct rx *piece = piece_new(whole);

	role_assert();
	if (piece)
		piece_cut(piece, whole, length);
	if (!whole->multi.over)
		rx_match_queue(&whole->srx->match, whole);
	return piece;
}

void multi_done(struct rx *whole)
{
	role_assert();
	whole->multi.pieces--;
	settle(whole);
}

void multi_undo(struct rx *piece)
{
	struct rx *whole = piece->whole;
	const uint8_t *end = (const uint8_t *)whole->iov[0].iov_base + whole->multi.used;
	bool last = (const uint8_t *)piece->iov[0].iov_base + piece->capacity == end;
	bool was_over = whole->multi.over;

	role_assert();
	whole->multi.pieces--;
	if (last)
		whole->multi.used -= piece->capacity;
	pool_give(piece->pool, piece);
	if (last && was_over && !whole->multi.ended) {
		whole->multi.over = false;
		multi_start(whole);
	} else {
		settle(whole);
	}
}

void multi_cancel(struct rx *whole, enum refusal_cause cause)
{
	role_assert();
	whole->multi.over = true;
	whole->multi.ended = cause;
	settle(whole);
}
