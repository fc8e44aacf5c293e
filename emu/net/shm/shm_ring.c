/* SPDX-License-Identifier: BSD-2-Clause */
/* shm_ring.c - bytes of a stream through shared memory.
 *
 * Reader and writer meet in `put`. The writer publishes bytes by a compare-and-swap of its last value for the next; the reader
 * opens and closes the ring by a bit of the same word. So a reader that closes knows all that was put before, and the swap of
 * a writer that comes too late fails before any of its bytes are published. */
#include "emu/net/shm/shm_ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/memory/guard.h"

enum {
	OPEN = 1,
	ALIGN = 64,             /* of records: their heads lie in one piece */
	LEAST_PART = 32 * 1024, /* of a send that does not fit as a whole: a smaller part costs no more by the socket */
};

/* The head of the bytes of one shm_ring_put(). */
struct shm_ring_record {
	uint64_t by_socket; /* bytes that go by the socket before it */
	uint64_t length;
};

static_assert(sizeof(uint_fast64_t) == 8 && offsetof(struct shm_ring_words, put) == 8 &&
		      offsetof(struct shm_ring_words, taken) == 104 && sizeof(struct shm_ring_record) == 16 &&
		      RING_BYTES % ALIGN == 0,
	      "WIRE-77");

void shm_ring_begin(struct shm_ring *ring, struct shm_ring_words *own, struct shm_ring_words *peer, uint8_t *out, const uint8_t *in)
{
	ring->own = own;
	ring->peer = peer;
	ring->out = out;
	ring->in = in;
	ring->told = ring->sent;
	atomic_store_explicit(&own->by_socket, ring->told, memory_order_release);
}

static uint64_t space(uint64_t length)
{
	return (sizeof(struct shm_ring_record) + length + ALIGN - 1) / ALIGN * ALIGN;
}

/* Wraps at the ring's end. */
static bool copy_in(struct shm_ring *ring, uint64_t at, const void *from, size_t length)
{
	size_t where = at % RING_BYTES, first = RING_BYTES - where < length ? RING_BYTES - where : length;

	return guard_copy(ring->out + where, from, first) &&
	       (first == length || guard_copy(ring->out, (const uint8_t *)from + first, length - first));
}

static bool copy_out(const struct shm_ring *ring, void *to, size_t length)
{
	size_t first = RING_BYTES - ring->at < length ? RING_BYTES - ring->at : length;

	return guard_copy(to, ring->in + ring->at, first) &&
	       (first == length || guard_copy((uint8_t *)to + first, ring->in, length - first));
}

static uint64_t bytes_of(const struct iovec *iov, int count)
{
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* How many bytes one record may have. A `taken` that no sum of records gives is the peer's mistake: there is no room then. */
static uint64_t room_of(const struct shm_ring *ring)
{
	uint64_t used = ring->put - atomic_load_explicit(&ring->peer->taken, memory_order_acquire);

	return used >= RING_BYTES || used % ALIGN ? 0 : RING_BYTES - used - sizeof(struct shm_ring_record);
}

bool shm_ring_is_open(const struct shm_ring_words *own)
{
	return atomic_load(&own->put) & OPEN;
}

size_t shm_ring_put(struct shm_ring *ring, const struct iovec *iov, int count)
{
	uint64_t known = ring->put | OPEN, at = ring->put + sizeof(struct shm_ring_record), room, end;
	struct shm_ring_record record = { ring->sent, bytes_of(iov, count) };

	if (!ring->own || atomic_load_explicit(&ring->own->put, memory_order_relaxed) != known || ring->told != ring->sent)
		return 0;
	room = room_of(ring);
	if (record.length > room) {
		if (room < LEAST_PART)
			return 0;
		record.length = room;
	}
	memcpy(ring->out + ring->put % RING_BYTES, &record, sizeof(record));
	end = at + record.length;
	for (int i = 0; at < end; i++) {
		size_t length = iov[i].iov_len < end - at ? iov[i].iov_len : (size_t)(end - at);

		if (unlikely(length && !copy_in(ring, at, iov[i].iov_base, length)))
			return 0;
		at += length;
	}
	if (!atomic_compare_exchange_strong(&ring->own->put, &known, known + space(record.length)))
		return 0;
	ring->put += space(record.length);
	return record.length;
}

void shm_ring_tell(struct shm_ring *ring, const struct iovec *iov, int count)
{
	uint64_t until;

	if (!ring->own)
		return;
	until = ring->sent + bytes_of(iov, count);
	if (until <= ring->told)
		return;
	ring->told = until;
	atomic_store_explicit(&ring->own->by_socket, until, memory_order_release);
}

/* Each is read once: the peer may write there meanwhile. */
static struct shm_ring_record record_at(const uint8_t *at)
{
	const atomic_uint_fast64_t *words = (const void *)at;

	return (struct shm_ring_record){ atomic_load_explicit(&words[0], memory_order_relaxed),
					 atomic_load_explicit(&words[1], memory_order_relaxed) };
}

static uint64_t unread(const struct shm_ring *ring)
{
	uint64_t put = ring->open ? atomic_load_explicit(&ring->peer->put, memory_order_acquire) & ~(uint64_t)OPEN : ring->last;

	return put - ring->taken;
}

/* `by_socket` is read first: all that was put into the ring before the peer wrote it is seen then. */
enum shm_ring_next shm_ring_next(struct shm_ring *ring, uint64_t *bytes)
{
	uint64_t by_socket, there;
	struct shm_ring_record record = { 0 };

	if (ring->left)
		return RING_ITSELF;
	by_socket = atomic_load_explicit(&ring->peer->by_socket, memory_order_acquire);
	there = unread(ring);
	if (there) {
		if (there > RING_BYTES || there % ALIGN)
			return RING_FLAW;
		record = record_at(ring->in + ring->taken % RING_BYTES);
		if (!record.length || record.length > RING_BYTES || space(record.length) > there)
			return RING_FLAW;
		by_socket = record.by_socket;
	}
	if (by_socket < ring->received)
		return RING_FLAW;
	*bytes = by_socket - ring->received;
	if (!there || *bytes)
		return RING_SOCKET;
	ring->left = (uint32_t)record.length;
	ring->at = (uint32_t)((ring->taken + sizeof(record)) % RING_BYTES);
	ring->taken += space(record.length);
	return RING_ITSELF;
}

/* Copies what is left of the record, at most `room` bytes. The writer gets the record's space back when all of it is read. */
static size_t shm_ring_copy_out(struct shm_ring *ring, uint8_t *to, size_t room)
{
	size_t length = room < ring->left ? room : ring->left;

	if (unlikely(!copy_out(ring, to, length)))
		return 0;
	ring->at = (uint32_t)((ring->at + length) % RING_BYTES);
	ring->left -= (uint32_t)length;
	if (!ring->left)
		atomic_store_explicit(&ring->own->taken, ring->taken, memory_order_release);
	return length;
}

ssize_t shm_ring_take(struct shm_ring *ring, const struct iovec *iov, int count)
{
	ssize_t got = 0;
	uint64_t bytes;

	for (int i = 0; i < count; i++) {
		for (size_t done = 0, n; done < iov[i].iov_len; done += n, got += (ssize_t)n) {
			if (shm_ring_next(ring, &bytes) != RING_ITSELF)
				return got;
			n = shm_ring_copy_out(ring, (uint8_t *)iov[i].iov_base + done, iov[i].iov_len - done);
			if (!n)
				return got ? got : -EFAULT;
		}
	}
	return got;
}

bool shm_ring_has(const struct shm_ring *ring)
{
	return ring->left || unread(ring);
}

bool shm_ring_waits(const struct shm_ring *ring)
{
	return shm_ring_has(ring) || atomic_load_explicit(&ring->peer->by_socket, memory_order_relaxed) != ring->received;
}

void shm_ring_open(struct shm_ring *ring, bool open)
{
	if (ring->open == open)
		return;
	ring->open = open;
	if (open)
		atomic_fetch_or(&ring->peer->put, OPEN);
	else
		ring->last = atomic_fetch_and(&ring->peer->put, ~(uint64_t)OPEN) & ~(uint64_t)OPEN;
}
