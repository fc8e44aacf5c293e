/* SPDX-License-Identifier: BSD-2-Clause */
/* multi_recv.c - buffers that take many messages. The pool of pieces bounds the memory of their completions: pieces are given
 * back when the program has read them; beyond that senders are told RNR. */
#include "emu/nic/messages/srx.h"

#include "emu/nic/base/pool.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/role/driver.h"

static uint64_t left_in(const struct rx *parent)
{
	return parent->capacity - parent->multi.used;
}

static bool is_over(const struct rx *parent)
{
	return left_in(parent) == 0 || left_in(parent) < parent->multi.least;
}

/* Reports the buffer's release, if nothing of it is in use and nothing more will be. */
static void multi_recv_release(struct rx *parent)
{
	if (!parent->multi.over || parent->multi.pieces)
		return;
	if (!parent->multi.ended) {
		complete_released(parent);
		return;
	}
	parent->done.c.flags |= parent->srx->nic->config.front->cq_multi;
	complete_receive_failed(parent, parent->multi.ended);
}

static struct rx *piece_new(const struct rx *parent)
{
	const struct ep *ep = srx_reporter(parent);

	/* Errors are kept apart from the pieces, so they have a bound of their own. */
	if (ep && ep->attr.rx_cq && cq_choked(ep->attr.rx_cq))
		return NULL;
	return pool_take(parent->srx->pieces);
}

/* The next `length` bytes, or as much as is left. */
static void piece_cut(struct rx *piece, struct rx *parent, uint64_t length)
{
	uint8_t *at = (uint8_t *)parent->iov[0].iov_base + parent->multi.used;
	uint64_t take = length < left_in(parent) ? length : left_in(parent);

	*piece = (struct rx){
		.srx = parent->srx,
		.ep = parent->ep,
		.pool = parent->srx->pieces,
		.iov[0] = { at, take },
		.iov_count = 1,
		.flags = parent->flags & POST_COMPLETE,
		.capacity = take,
		.source = parent->source,
		.parent = parent,
		.done.c = { .context = parent->done.c.context, .flags = parent->done.c.flags, .buf = at, .source = AV_NONE },
	};
	parent->multi.used += take;
	parent->multi.pieces++;
	parent->multi.over = is_over(parent);
}

void multi_start(struct rx *parent)
{
	bool over = false;

	role_assert();
	while (!over) {
		struct rx *piece = piece_new(parent);
		struct message *message = piece ? rx_match_post(&parent->srx->match, parent) : NULL;

		if (!piece) { /* given back early, with nothing lost: messages wait for the next one */
			parent->multi.over = true;
			multi_recv_release(parent);
			return;
		}
		if (!message) {
			pool_give(parent->srx->pieces, piece);
			return;
		}
		piece_cut(piece, parent, message->length);
		over = parent->multi.over; /* then it may be gone with the piece */
		message_matched(message, piece);
	}
}

struct rx *multi_take(struct rx *parent, uint64_t length)
{
	struct rx *piece = piece_new(parent);

	role_assert();
	if (piece)
		piece_cut(piece, parent, length);
	if (!parent->multi.over)
		rx_match_queue(&parent->srx->match, parent);
	return piece;
}

uint64_t multi_last_flag(struct rx *piece)
{
	struct rx *parent = piece->parent;

	role_assert();
	if (!parent || !(parent->flags & POST_MULTI_LAST))
		return 0;
	parent->multi.told = parent->multi.over && parent->multi.pieces == 1 && !parent->multi.ended;
	return parent->multi.told ? parent->srx->nic->config.front->cq_multi : 0;
}

void multi_done(struct rx *parent)
{
	role_assert();
	parent->multi.pieces--;
	multi_recv_release(parent);
}

void multi_undo(struct rx *piece)
{
	struct rx *parent = piece->parent;
	const uint8_t *end = (const uint8_t *)parent->iov[0].iov_base + parent->multi.used;
	bool last = (const uint8_t *)piece->iov[0].iov_base + piece->capacity == end;
	bool was_over = parent->multi.over;

	role_assert();
	parent->multi.pieces--;
	if (last)
		parent->multi.used -= piece->capacity;
	pool_give(piece->pool, piece);
	if (last && was_over && !parent->multi.ended) {
		parent->multi.over = false;
		multi_start(parent);
	} else {
		multi_recv_release(parent);
	}
}

void multi_cancel(struct rx *parent, enum refusal_cause cause)
{
	role_assert();
	parent->multi.over = true;
	parent->multi.ended = cause;
	multi_recv_release(parent);
}
