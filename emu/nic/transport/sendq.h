/* SPDX-License-Identifier: BSD-2-Clause */
/* sendq.h - the send queue of a connection: frame heads and small payloads copied, large payloads lent.
 *
 * Owner:  the connection. Thread: holder of the driver role.
 * Its buffer is taken from the nic's spares while there is something to send: an idle connection holds none. If all
 * payload is copied, the buffer is a long one, which a whole segment fits in. */
#ifndef EMU_NIC_SENDQ_H
#define EMU_NIC_SENDQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/device/link.h"
#include "wire/frame.h"

struct sendq_spares;

enum {
	SENDQ_BYTES = 64 * 1024,                 /* heads, trailers, copied payload */
	SENDQ_LONG_BYTES = LIMIT_SEGMENT + 4096, /* the same where all payload is copied */
	SENDQ_PIECES = 64,                       /* that leave in one send */
	SENDQ_SPARES = 16,                       /* buffers kept of each sort */
	SENDQ_LONG_SPARES = 4,
};

/* A run of bytes: in the buffer, or lent by its owner. */
struct sendq_piece {
	uint8_t *base;
	size_t length;
	const void *owner;            /* op or region whose memory it is; NULL: the buffer's own */
	struct wire_trailer *trailer; /* of the payload it belongs to: says so if its op has ended */
};

/* A copy of lent bytes that were revoked before they were sent. */
struct sendq_saved {
	struct sendq_saved *next;
	uint8_t bytes[];
};

struct sendq_buffer {
	struct sendq_piece piece[SENDQ_PIECES - 1];
	struct sendq_buffer *next; /* among the spares */
	uint32_t size;
	bool is_long;
	uint8_t bytes[];
};

void sendq_spares_free(struct sendq_spares *spares);

/* Copied bytes make no piece until something is lent behind them: most sends are one run of bytes. */
struct sendq {
	struct sendq_buffer *buffer; /* NULL: nothing waits */
	uint32_t used;               /* bytes of the buffer given out */
	uint32_t consumed;           /* of them, those that were sent or are in pieces; the rest waits behind all pieces */
	uint64_t in_pieces;          /* bytes that wait */
	uint32_t digest_batch;       /* lent payload has a digest, is sent as it is or not at all, and so much of it at once: set
					 * by its owner. 0: no digests, and as much as there is */
	uint16_t first, end;         /* pieces that wait */
	bool full;                   /* there was no room for something */
	bool no_memory;              /* there was no memory for a buffer */
	bool copy_all;               /* takes long buffers: set by its owner, which copies all payload */
	bool batch_full;             /* a full digest batch is queued: flush before lending more */
	bool lent_lost;              /* a lent payload is not there any more */
	struct sendq_saved *saved;
	const void *faulted; /* owner whose memory sendq_flush() could not read */
};

/* Where `bytes` of buffer are, to be given out by sendq_add(), with room for `runs` lent between them. Takes a buffer if there
 * is none; NULL: no room, or no memory. */
MUST_USE void *sendq_room(struct sendq *q, struct sendq_spares *spares, size_t bytes, unsigned runs);

/* After sendq_room(): `length` bytes of the buffer, to be filled before the next call of sendq_flush(). */
static inline void *sendq_add(struct sendq *q, size_t length)
{
	uint8_t *at = q->buffer->bytes + q->used;

	q->used += (uint32_t)length;
	return at;
}

static inline uint64_t sendq_waiting(const struct sendq *q)
{
	return q->in_pieces + q->used - q->consumed;
}

/* After sendq_room(): lent memory; `trailer` was added or will be added behind it. */
void sendq_lend(struct sendq *q, const struct iovec *run, const void *owner);
/* The trailer of the `pieces` pieces lent last. */
void sendq_trailer(struct sendq *q, unsigned pieces, struct wire_trailer *trailer);
/* Takes lent memory back: unsent bytes of it are copied, and their trailer says `status`. */
void sendq_revoke(struct sendq *q, const void *owner, enum wire_status status);
/* With a buffer. 0: all sent, and no buffer any more; -EAGAIN: the line takes no more now; -EFAULT: memory of q->faulted could
 * not be read, in the middle of its payload; -ECANCELED: a lent payload is not there any more; with both the line is of no use,
 * since nothing may go in the place of these bytes; other: the line is broken. */
MUST_USE int sendq_flush(struct sendq *q, struct sendq_spares *spares, const struct link_ops *link, struct line *line);
/* Forgets everything. */
void sendq_drop(struct sendq *q, struct sendq_spares *spares);

#endif
