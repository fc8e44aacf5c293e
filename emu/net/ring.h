/* SPDX-License-Identifier: BSD-2-Clause */
/* ring.h - the shorter way of a stream between two neighbours: bytes that go through memory both have (board.h), in turn with
 * those that go by the socket.
 *
 * Each direction has a ring. Who reads it opens it while he polls, and else closes it: then all goes by the socket, which
 * wakes him. What is put into the ring says how many bytes went by the socket before it, and who sends by the socket says
 * first how far he means to go: so the reader knows at each moment which of the two is next. All [role]; the peer's
 * words and bytes may be anything at any time. PROTOCOL.md, WIRE-77. */
#ifndef EMU_NET_RING_H
#define EMU_NET_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { RING_BYTES = 512 * 1024 };

/* What one end writes of both rings. */
struct ring_words {
	atomic_uint_fast64_t by_socket;	/* bytes of its stream that go by the socket, so far */
	atomic_uint_fast64_t put;	/* bytes of its own ring that were ever used; the lowest bit is the reader's: it is open */
	uint64_t apart[11];
	atomic_uint_fast64_t taken;	/* of the other's ring. Apart, as it changes while its writer's other words are read */
};

struct ring {
	struct ring_words *own, *peer;	/* NULL: there is none, and the rest counts the socket's bytes */
	uint8_t *out;
	const uint8_t *in;
	uint64_t sent, told, heard;	/* by the socket; told: by_socket */
	uint64_t put, taken;
	uint64_t last;		/* closed: what was put before */
	uint32_t left, at;	/* of what is being read: bytes, and where they lie */
	bool open;		/* the peer's ring, by us */
};

enum ring_next { RING_ITSELF, RING_SOCKET, RING_FLAW };

/* `out`: our own ring, `in`: the peer's, who may put something there once ring_open() lets him. Both are aligned as records are. */
void ring_begin(struct ring *ring, struct ring_words *own, struct ring_words *peer, uint8_t *out, const uint8_t *in);

/* Puts all of it there, or a large part; how much. 0: it is to go by the socket: the ring is closed, has no room, or some of the
 * memory cannot be read. */
size_t ring_put(struct ring *ring, const struct iovec *iov, int count);
/* This goes by the socket next; what it takes is to be added to `sent`. */
void ring_tell(struct ring *ring, const struct iovec *iov, int count);

/* Where the next bytes are to be had: in the ring, or, at most *bytes, from the socket. */
enum ring_next ring_next(struct ring *ring, uint64_t *bytes);
/* RING_ITSELF: as recv(), -EFAULT included. */
ssize_t ring_take(struct ring *ring, const struct iovec *iov, int count);
bool ring_has(const struct ring *ring);		/* is anything in the ring? */
bool ring_waits(const struct ring *ring);	/* there, or by the socket? */
/* After `false` nothing more is put; what was is still to be taken. */
void ring_open(struct ring *ring, bool open);

#endif
