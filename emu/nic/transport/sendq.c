/* SPDX-License-Identifier: BSD-2-Clause */
/* sendq.c - pieces in, bytes out. */
#include "emu/nic/transport/sendq.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/role/driver.h"
#include "wire/codec.h"

static void buffers_free(struct sendq_buffer *first)
{
	struct sendq_buffer *buffer;

	while ((buffer = first)) {
		first = buffer->next;
		free(buffer);
	}
}

void sendq_spares_free(struct sendq_spares *spares)
{
	role_assert();
	buffers_free(spares->first[false]);
	buffers_free(spares->first[true]);
	*spares = (struct sendq_spares){ 0 };
}

static bool sendq_take_buffer(struct sendq *q, struct sendq_spares *spares)
{
	struct sendq_buffer *buffer = spares->first[q->copy_all];

	if (!buffer)
		return false;
	spares->first[q->copy_all] = buffer->next;
	spares->count[q->copy_all]--;
	q->buffer = buffer;
	return true;
}

/* sendq_room() where there is no buffer, nor a spare one. */
static __attribute__((cold)) void *sendq_new_room(struct sendq *q, struct sendq_spares *spares, size_t bytes, unsigned runs)
{
	uint32_t size = q->copy_all ? SENDQ_LONG_BYTES : SENDQ_BYTES;

	q->buffer = malloc(sizeof(*q->buffer) + size);
	q->no_memory = !q->buffer;
	if (!q->buffer)
		return NULL;
	q->buffer->size = size;
	q->buffer->is_long = q->copy_all;
	return sendq_room(q, spares, bytes, runs);
}

void *sendq_room(struct sendq *q, struct sendq_spares *spares, size_t bytes, unsigned runs)
{
	role_assert();
	if (likely(!q->buffer) && !sendq_take_buffer(q, spares))
		return sendq_new_room(q, spares, bytes, runs);
	q->full = bytes > q->buffer->size - q->used || runs + 2 > (unsigned)SENDQ_PIECES - q->end || q->batch_full;
	return unlikely(q->full) ? NULL : q->buffer->bytes + q->used;
}

static __attribute__((cold)) void kept_free(struct sendq *q)
{
	struct sendq_saved *saved;

	while ((saved = q->saved)) {
		q->saved = saved->next;
		free(saved);
	}
}

void sendq_drop(struct sendq *q, struct sendq_spares *spares)
{
	struct sendq_buffer *buffer = q->buffer;
	bool is_long;

	role_assert();
	if (!buffer)
		return;
	if (unlikely(q->saved))
		kept_free(q);
	*q = (struct sendq){ .copy_all = q->copy_all, .digest_batch = q->digest_batch };
	is_long = buffer->is_long; /* q->copy_all may be younger than the buffer */
	if (spares->count[is_long] >= (is_long ? SENDQ_LONG_SPARES : SENDQ_SPARES)) {
		free(buffer);
		return;
	}
	buffer->next = spares->first[is_long];
	spares->first[is_long] = buffer;
	spares->count[is_long]++;
}

static void add_piece(struct sendq *q, const struct sendq_piece *piece)
{
	q->buffer->piece[q->end++] = *piece;
	q->in_pieces += piece->length;
}

/* Adds a piece behind the bytes that wait in the buffer. */
static void add_foreign(struct sendq *q, const struct sendq_piece *piece)
{
	if (q->consumed < q->used)
		add_piece(q, &(struct sendq_piece){ .base = q->buffer->bytes + q->consumed, .length = q->used - q->consumed });
	q->consumed = q->used;
	add_piece(q, piece);
}

void sendq_lend(struct sendq *q, const struct iovec *run, const void *owner)
{
	role_assert();
	add_foreign(q, &(struct sendq_piece){ .base = run->iov_base, .length = run->iov_len, .owner = owner });
	q->batch_full = q->digest_batch && q->in_pieces >= q->digest_batch;
}

void sendq_trailer(struct sendq *q, unsigned pieces, struct wire_trailer *trailer)
{
	role_assert();
	for (unsigned i = 1; i <= pieces; i++)
		q->buffer->piece[q->end - i].trailer = trailer;
}

/* False: no memory, or it cannot be read. */
static bool piece_keep(struct sendq *q, struct sendq_piece *piece, enum wire_status status)
{
	struct sendq_saved *saved = malloc(sizeof(*saved) + piece->length);

	if (!saved)
		return false;
	if (!guard_copy(saved->bytes, piece->base, piece->length)) {
		free(saved);
		return false;
	}
	saved->next = q->saved;
	q->saved = saved;
	piece->base = saved->bytes;
	piece->owner = NULL;
	if (piece->trailer)
		wire_end_badly(piece->trailer, status);
	return true;
}

void sendq_revoke(struct sendq *q, const void *owner, enum wire_status status)
{
	role_assert();
	for (unsigned i = q->first; i < q->end; i++) {
		struct sendq_piece *piece = &q->buffer->piece[i];

		if (piece->owner == owner && !piece_keep(q, piece, status))
			q->lent_lost = true;
	}
}

/* The waiting pieces as iovecs. */
static int sendq_runs(const struct sendq *q, struct iovec *runs)
{
	int count = 0;

	for (unsigned i = q->first; i < q->end; i++) {
		const struct sendq_piece *piece = &q->buffer->piece[i];

		runs[count++] = (struct iovec){ piece->base, piece->length };
	}
	if (q->consumed < q->used)
		runs[count++] = (struct iovec){ q->buffer->bytes + q->consumed, q->used - q->consumed };
	return count;
}

static void sendq_sent(struct sendq *q, size_t bytes)
{
	while (bytes > 0 && q->first < q->end) {
		struct sendq_piece *piece = &q->buffer->piece[q->first];
		size_t take = bytes < piece->length ? bytes : piece->length;

		q->in_pieces -= take;
		bytes -= take;
		if (take < piece->length) {
			piece->base += take;
			piece->length -= take;
			return;
		}
		q->first++;
	}
	q->consumed += (uint32_t)bytes;
}

/* Sends pieces, and the bytes that wait behind them. */
static int sendq_send_lent(struct sendq *q, const struct link_ops *link, struct line *line)
{
	struct iovec runs[SENDQ_PIECES];
	int count = sendq_runs(q, runs);
	ssize_t sent;

	if (q->lent_lost)
		return -ECANCELED;
	sent = link->send(line, runs, count);
	if (sent == -EFAULT && count > 1)
		sent = link->send(line, runs, 1); /* which piece is it? the first alone */
	if (sent == -EFAULT)
		q->faulted = q->buffer->piece[q->first].owner;
	if (sent < 0)
		return (int)sent;
	sendq_sent(q, (size_t)sent);
	return 0;
}

int sendq_flush(struct sendq *q, struct sendq_spares *spares, const struct link_ops *link, struct line *line)
{
	role_assert();
	while (unlikely(q->first < q->end)) {
		int err = sendq_send_lent(q, link, line);

		if (err)
			return err;
	}
	while (q->consumed < q->used) {
		struct iovec run = { q->buffer->bytes + q->consumed, q->used - q->consumed };
		ssize_t sent = link->send(line, &run, 1);

		if (unlikely(sent < 0))
			return (int)sent;
		q->consumed += (uint32_t)sent;
	}
	sendq_drop(q, spares);
	return 0;
}
