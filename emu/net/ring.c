/* SPDX-License-Identifier: BSD-2-Clause */
/* ring.c - bytes of a stream through shared memory.
 *
 * `put` is where reader and writer meet. The writer makes his bytes known by exchanging the value that he has written last
 * for the next; the reader opens and closes by a bit of the same word. So he who closes knows what was put before, all of it,
 * and he who is too late finds that out before anything is known of his bytes. */
#include "emu/net/ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "emu/nic/guard.h"
#include "emu/nic/likely.h"

enum {
	OPEN = 1,
	ALIGN = 64,		/* of records: their heads lie in one piece */
	LEAST_PART = 32 * 1024,	/* of a send that has no room as a whole: for less the socket is not dearer */
};

/* What is put at once. */
struct record {
	uint64_t by_socket;	/* bytes that go by the socket before it */
	uint64_t length;
};

static_assert(sizeof(uint_fast64_t) == 8 && offsetof(struct ring_words, put) == 8 && offsetof(struct ring_words, taken) == 104 &&
	      sizeof(struct record) == 16 && RING_BYTES % ALIGN == 0, "WIRE-77");

void ring_begin(struct ring *ring, struct ring_words *own, struct ring_words *peer, uint8_t *out, const uint8_t *in)
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
	return (sizeof(struct record) + length + ALIGN - 1) / ALIGN * ALIGN;
}

/* In two pieces at the ring's end. */
static bool copy_in(struct ring *ring, uint64_t at, const void *from, size_t length)
{
	size_t where = at % RING_BYTES, first = RING_BYTES - where < length ? RING_BYTES - where : length;

	return guard_copy(ring->out + where, from, first) &&
	       (first == length || guard_copy(ring->out, (const uint8_t *)from + first, length - first));
}

static bool copy_out(const struct ring *ring, void *to, size_t length)
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

/* So much may be put at once. A peer may say to have taken anything: what is no sum of records is no room. */
static uint64_t room_of(const struct ring *ring)
{
	uint64_t used = ring->put - atomic_load_explicit(&ring->peer->taken, memory_order_acquire);

	return used >= RING_BYTES || used % ALIGN ? 0 : RING_BYTES - used - sizeof(struct record);
}

size_t ring_put(struct ring *ring, const struct iovec *iov, int count)
{
	uint64_t known = ring->put | OPEN, at = ring->put + sizeof(struct record), room, end;
	struct record record = { ring->sent, bytes_of(iov, count) };

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

void ring_tell(struct ring *ring, const struct iovec *iov, int count)
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
static struct record record_at(const uint8_t *at)
{
	const atomic_uint_fast64_t *words = (const void *)at;

	return (struct record){ atomic_load_explicit(&words[0], memory_order_relaxed),
				atomic_load_explicit(&words[1], memory_order_relaxed) };
}

static uint64_t unread(const struct ring *ring)
{
	uint64_t put = ring->open ? atomic_load_explicit(&ring->peer->put, memory_order_acquire) & ~(uint64_t)OPEN : ring->last;

	return put - ring->taken;
}

/* How far the socket goes is read first: what was put into the ring before that was said is seen then. */
enum ring_next ring_next(struct ring *ring, uint64_t *bytes)
{
	uint64_t by_socket, there;
	struct record record = { 0 };

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
	if (by_socket < ring->heard)
		return RING_FLAW;
	*bytes = by_socket - ring->heard;
	if (!there || *bytes)
		return RING_SOCKET;
	ring->left = (uint32_t)record.length;
	ring->at = (uint32_t)((ring->taken + sizeof(record)) % RING_BYTES);
	ring->taken += space(record.length);
	return RING_ITSELF;
}

/* As much of it as is there. The writer has its place back when all of it is read. */
static size_t take(struct ring *ring, uint8_t *to, size_t room)
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

ssize_t ring_take(struct ring *ring, const struct iovec *iov, int count)
{
	ssize_t got = 0;
	uint64_t bytes;

	for (int i = 0; i < count; i++) {
		for (size_t done = 0, n; done < iov[i].iov_len; done += n, got += (ssize_t)n) {
			if (ring_next(ring, &bytes) != RING_ITSELF)
				return got;
			n = take(ring, (uint8_t *)iov[i].iov_base + done, iov[i].iov_len - done);
			if (!n)
				return got ? got : -EFAULT;
		}
	}
	return got;
}

bool ring_has(const struct ring *ring)
{
	return ring->left || unread(ring);
}

bool ring_waits(const struct ring *ring)
{
	return ring_has(ring) ||
	       atomic_load_explicit(&ring->peer->by_socket, memory_order_relaxed) != ring->heard;
}

void ring_open(struct ring *ring, bool open)
{
	if (ring->open == open)
		return;
	ring->open = open;
	if (open)
		atomic_fetch_or(&ring->peer->put, OPEN);
	else
		ring->last = atomic_fetch_and(&ring->peer->put, ~(uint64_t)OPEN) & ~(uint64_t)OPEN;
}
