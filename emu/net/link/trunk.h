/* SPDX-License-Identifier: BSD-2-Clause */
/* trunk.h - one stream for the lines between this process and another: a send, a receive and a place in the poll are shared by all
 * of them (PROTOCOL.md, WIRE-130).
 *
 *   a line's state            what it is                                 becomes
 *   LINE_OPEN                 a stream of its own                        LINE_JOINING, at line_join()
 *   LINE_JOINING              waits for the peer's word on how to go on  LINE_OPEN, or
 *   LINE_CHANNEL              has no stream: its bytes are chunks of a trunk's
 *
 * The dialler decides: its first line to a process stays alone, so that a pair of endpoints pays nothing, and between neighbours
 * the second, too; the next becomes a trunk, and those after it move there. A trunk's own stream is a line too, the
 * carrier, whose conn is NULL. The two sides are otherwise alike.
 *
 * Owner:  the link; a trunk ends with its stream, or with its last line.
 * Thread: holder of the driver role. Nothing of a chunk's head is trusted: a channel that is not known is skipped. */
#ifndef EMU_NET_TRUNK_H
#define EMU_NET_TRUNK_H

#include "emu/net/link/tcp_line.h"
#include "emu/nic/base/hash.h"
#include "emu/nic/base/limits.h"
#include "wire/chunk.h"

struct trunk {
	struct tcp *tcp;
	struct trunk *next; /* tcp->trunks */
	struct line *carrier;
	bool broken;                 /* its stream takes nothing any more */
	bool unanswered;             /* bytes were sent, and none received since */
	bool answers;                /* reading it has made something to send */
	bool reading;                /* it stays, whatever lines end */
	uint64_t name;               /* drawn by the dialler, told to nobody but the accepter */
	uint32_t channels;           /* numbers given so far; 0: the peer began the trunk, and gives them */
	uint32_t pauses;             /* lines that are rx_paused: nothing is received for any */
	uint64_t acks[SHM_CHANNELS]; /* the last that the peer has stored, by channel */
	struct hash by_channel;
	uint64_t hash_secret[2];
	struct line *lines;
	struct line *blocked, **blocked_end; /* in the order in which they found no room */
	uint32_t current, left;              /* of the chunk that is being read: its channel, and the bytes to come */
	uint8_t head[sizeof(struct wire_chunk)], head_bytes; /* of the next one: what has come of it */
	size_t in_at, in_end;                                /* reading: what is left in tcp->trunk_in */
	size_t out_at, out_end;                              /* bytes that wait to be sent */
	uint8_t out[TRUNK_BYTES + TRUNK_ENDS];
};

/* trunk.c: the chunks. The line becomes the carrier of a trunk, and its conn has the first channel; NULL without memory. */
struct trunk *trunk_make(struct line *carrier, uint64_t name);
/* The line, which has or had a stream of its own, has a channel. */
void trunk_add(struct trunk *trunk, struct line *line, uint32_t channel);
void trunk_remove(struct line *line);
struct line *trunk_line(const struct trunk *trunk, uint32_t channel); /* NULL: none */
ssize_t trunk_send(struct line *line, const struct iovec *iov, int count);
ssize_t trunk_recv(struct line *line, const struct iovec *iov, int count);
bool trunk_stored_ack(struct trunk *trunk, uint32_t channel, uint64_t *number); /* link_ops.stored_ack() */
void trunk_acks(struct trunk *trunk);                                           /* conn_ack_stored() for each that is new */
void trunk_want_write(struct line *line);
void trunk_leave(struct line *line); /* it is being closed: tells the peer */
void trunk_read(struct line *carrier);
void trunk_flush(struct trunk *trunk);           /* sends, and wakes a line that waits for room */
void trunk_down(struct trunk *trunk, int error); /* conn_down() for each line; the trunk is gone */
void trunk_set_readable(struct line *line);      /* rx_paused has changed */
void trunk_end_unused(struct trunk *trunk);      /* if it has no line and nothing to send */
bool trunks_flush(void *link, bool all);         /* link_ops.flush() */
void trunks_close(struct tcp *tcp);

/* trunk_join.c: link_ops.join(), and the bytes that a line in LINE_JOINING waits for. */
int line_join(struct line *line, bool dialled, const uint8_t *process);
bool line_join_is_late(struct line *line); /* asked at each tick, as line_stuck() */
void line_joined(struct line *line);       /* its trunk has brought bytes for it: the peer has agreed */

#endif
