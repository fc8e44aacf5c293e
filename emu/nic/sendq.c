/* SPDX-License-Identifier: BSD-2-Clause */
/* sendq.c - pieces in, bytes out. */
#include "emu/nic/sendq.h"

#include <errno.h>
#include <stdlib.h>

#include "wire/codec.h"

enum { SEND_RUNS = 64 };

/* Never written; not const, since lent bytes are passed on as iovecs. */
static uint8_t zeros[SENDQ_ZEROS];

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
	buffers_free(spares->first);
	buffers_free(spares->first_long);
	*spares = (struct sendq_spares){ 0 };
}

static bool sendq_take_buffer(struct sendq *q, struct sendq_spares *spares)
{
	struct sendq_buffer **first = q->copies ? &spares->first_long : &spares->first;
	uint32_t size = q->copies ? SENDQ_LONG_BYTES : SENDQ_BYTES;

	if (*first) {
		q->buffer = *first;
		*first = q->buffer->next;
		--*(q->copies ? &spares->count_long : &spares->count);
	} else {
		q->buffer = malloc(sizeof(*q->buffer) + size);
		if (q->buffer)
			q->buffer->size = size;
	}
	q->used = 0;
	q->first = q->end = 0;
	q->waiting = 0;
	q->starved = !q->buffer;
	return q->buffer;
}

void sendq_drop(struct sendq *q, struct sendq_spares *spares)
{
	struct sendq_buffer *buffer = q->buffer;

	if (!buffer)
		return;
	if (buffer->size == SENDQ_BYTES && spares->count < SENDQ_SPARES) {
		buffer->next = spares->first;
		spares->first = buffer;
		spares->count++;
	} else if (buffer->size == SENDQ_LONG_BYTES && spares->count_long < SENDQ_LONG_SPARES) {
		buffer->next = spares->first_long;
		spares->first_long = buffer;
		spares->count_long++;
	} else {
		free(buffer);
	}
	*q = (struct sendq){ .copies = q->copies };
}

bool sendq_room(struct sendq *q, struct sendq_spares *spares, size_t bytes, unsigned pieces)
{
	if (!q->buffer && !sendq_take_buffer(q, spares))
		return false;
	return bytes <= q->buffer->size - q->used && pieces <= (unsigned)SENDQ_PIECES - q->end;
}

void *sendq_add(struct sendq *q, size_t length)
{
	uint8_t *at = q->buffer->bytes + q->used;
	struct sendq_piece *last = q->end > q->first ? &q->buffer->piece[q->end - 1] : NULL;

	q->used += (uint32_t)length;
	q->waiting += length;
	if (last && !last->owner && !last->zero && last->base + last->length == at)
		last->length += length;
	else
		q->buffer->piece[q->end++] = (struct sendq_piece){ .base = at, .length = length };
	return at;
}

void sendq_lend(struct sendq *q, const struct iovec *run, const void *owner)
{
	q->buffer->piece[q->end++] = (struct sendq_piece){
		.base = run->iov_base, .length = run->iov_len, .owner = owner,
	};
	q->waiting += run->iov_len;
}

void sendq_trailer(struct sendq *q, unsigned pieces, struct wire_trailer *trailer)
{
	/* The trailer itself is the last piece. */
	for (unsigned i = 0; i < pieces; i++)
		q->buffer->piece[q->end - 2 - i].trailer = trailer;
}

static void piece_revoke(struct sendq_piece *piece, enum wire_status status)
{
	piece->zero = true;
	piece->owner = NULL;
	if (piece->trailer)
		piece->trailer->status = wire_put32(status);
}

void sendq_revoke(struct sendq *q, const void *owner, enum wire_status status)
{
	for (unsigned i = q->first; i < q->end; i++)
		if (q->buffer->piece[i].owner == owner)
			piece_revoke(&q->buffer->piece[i], status);
}

/* The waiting pieces as iovecs; a zero piece is cut to what `zeros` holds. */
static int sendq_runs(const struct sendq *q, struct iovec *runs, int room)
{
	int count = 0;

	for (unsigned i = q->first; i < q->end && count < room; i++) {
		const struct sendq_piece *piece = &q->buffer->piece[i];

		runs[count].iov_base = piece->zero ? zeros : piece->base;
		runs[count].iov_len = piece->length;
		if (piece->zero && piece->length > sizeof(zeros)) {
			runs[count++].iov_len = sizeof(zeros);
			break;
		}
		count++;
	}
	return count;
}

static void sendq_sent(struct sendq *q, size_t bytes)
{
	q->waiting -= bytes;
	while (bytes > 0) {
		struct sendq_piece *piece = &q->buffer->piece[q->first];

		if (bytes < piece->length) {
			if (!piece->zero)
				piece->base += bytes;
			piece->length -= bytes;
			return;
		}
		bytes -= piece->length;
		q->first++;
	}
}

int sendq_flush(struct sendq *q, struct sendq_spares *spares, const struct link_ops *link, struct line *line)
{
	struct iovec runs[SEND_RUNS];
	int room = SEND_RUNS;

	while (q->buffer && q->first < q->end) {
		int count = sendq_runs(q, runs, room);
		ssize_t sent = link->send(line, runs, count);

		if (sent == -EFAULT && count > 1) {
			room = 1;	/* which piece is it? one at a time */
		} else if (sent == -EFAULT) {
			q->faulted = q->buffer->piece[q->first].owner;
			sendq_revoke(q, q->faulted, WIRE_SOURCE_FAULT);
			return -EFAULT;
		} else if (sent < 0) {
			return (int)sent;
		} else {
			sendq_sent(q, (size_t)sent);
		}
	}
	sendq_drop(q, spares);
	return 0;
}
