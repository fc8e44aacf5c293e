/* SPDX-License-Identifier: BSD-2-Clause */
/* shm_ring.h - the fast path of a stream between two neighbours: bytes go through the shared segment (shm.h), in turn with those
 * that go by the socket.
 *
 * Each direction has a ring. Its reader opens it while it polls and closes it otherwise: then all goes by the socket, which wakes
 * the reader. Each record in the ring says how many bytes went by the socket before it, and a writer says in `by_socket` how far it
 * will go before it sends by the socket: so the reader always knows which of the two comes next. All [role]; the peer's words
 * and bytes may be anything at any time. PROTOCOL.md, WIRE-77. */
#ifndef EMU_NET_SHM_RING_H
#define EMU_NET_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { RING_BYTES = 512 * 1024 };

/* The words that one end writes, for both rings. */
struct shm_ring_words {
	atomic_uint_fast64_t by_socket; /* bytes of its stream committed to the socket so far, sent or about to be sent */
	atomic_uint_fast64_t put;       /* bytes of its own ring that were ever used; the lowest bit is the reader's: open */
	uint64_t apart[11];
	atomic_uint_fast64_t taken; /* of the other's ring. Apart, as it changes while its writer's other words are read */
};

struct shm_ring {
	struct shm_ring_words *own, *peer; /* NULL: there is none, and the rest counts the socket's bytes */
	uint8_t *out;
	const uint8_t *in;
	uint64_t sent, told, received; /* by the socket; told: by_socket */
	uint64_t put, taken;
	uint64_t last;     /* closed: the peer's `put` at that time */
	uint32_t left, at; /* of the record that is being read: bytes, and where they lie */
	bool open;         /* the peer's ring, by us */
};

enum shm_ring_next { RING_ITSELF, RING_SOCKET, RING_FLAW };

/* `out` is our own ring. `in` is the peer's, which writes there once shm_ring_open() lets it. Both are aligned as records
 * are. */
void shm_ring_begin(struct shm_ring *ring, struct shm_ring_words *own, struct shm_ring_words *peer, uint8_t *out,
		    const uint8_t *in);

bool shm_ring_is_open(const struct shm_ring_words *own); /* our own ring, by the peer; sequentially consistent */
/* Puts all of it there, or a large part; returns how much. 0: send by the socket, as the ring is closed or has no room, or some of
 * the memory cannot be read. */
size_t shm_ring_put(struct shm_ring *ring, const struct iovec *iov, int count);
/* Announces these bytes in `by_socket`, before they are sent; the caller adds what the socket takes to `sent`. */
void shm_ring_tell(struct shm_ring *ring, const struct iovec *iov, int count);

/* Where the next bytes come from: the ring, or the socket, which has at most *bytes of them. */
enum shm_ring_next shm_ring_next(struct shm_ring *ring, uint64_t *bytes);
/* RING_ITSELF: as recv(), -EFAULT included. */
ssize_t shm_ring_take(struct shm_ring *ring, const struct iovec *iov, int count);
bool shm_ring_has(const struct shm_ring *ring);   /* is anything in the ring? */
bool shm_ring_waits(const struct shm_ring *ring); /* there, or by the socket? */
/* After `false` the peer puts nothing more; what it has put before is still to be taken. */
void shm_ring_open(struct shm_ring *ring, bool open);

#endif
