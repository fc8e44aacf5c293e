/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_shm_ring.c - receives a line's bytes from its ring (shm_ring.h), and from its socket in between. */
#include <errno.h>

#include "emu/net/link/tcp_line.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/limits.h"

enum { PIECES = 64 };	/* link.h */

/* Opens the ring once the peer is known to have the shared segment; the peer may put bytes there from then on. */
bool line_has_ring(struct line *line)
{
	if (unlikely(!line->two_ways && shm_shared(&line->shm))) {
		line->two_ways = true;
		shm_ring_open(&line->ring, line->tcp->polling);
	}
	return line->two_ways;
}

/* No bytes are announced, but the end of a stream is never announced. Polls of the shared segments alone do not look for it. */
static ssize_t recv_end(struct line *line)
{
	uint64_t bytes;
	char byte;
	ssize_t n;

	line->drained = true;
	if (line->tcp->unasked)
		return -EAGAIN;
	n = nocancel_recv(line->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0)
		n = -errno;
	if (n == -EAGAIN)
		return n;
	if (shm_ring_next(&line->ring, &bytes) != RING_SOCKET || bytes) {	/* announced meanwhile: perhaps the last bytes */
		line->drained = false;
		return -EAGAIN;
	}
	if (n > 0)	/* bytes that were never announced */
		n = -EPROTO;
	line->tcp->received++;
	return n;
}

/* Receives from the socket, at most `bytes`. */
static ssize_t recv_some(struct line *line, const struct iovec *iov, int count, uint64_t bytes)
{
	struct iovec cut[PIECES];
	int pieces = 0;
	ssize_t n;

	for (; pieces < count && bytes; bytes -= cut[pieces++].iov_len)
		cut[pieces] = (struct iovec){ iov[pieces].iov_base, iov[pieces].iov_len < bytes ? iov[pieces].iov_len : bytes };
	n = line_recv_socket(line, cut, pieces);
	if (n > 0)
		line->drained = !shm_ring_waits(&line->ring);
	return n;
}

static ssize_t recv_ring(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n = shm_ring_take(&line->ring, iov, count);
	struct iovec first;

	if (unlikely(n == -EFAULT)) {
		first = line_first_page(iov, count);
		n = shm_ring_take(&line->ring, &first, 1);
	}
	line->drained = !shm_ring_waits(&line->ring);
	line->tcp->received++;
	return n;
}

ssize_t line_recv_either(struct line *line, const struct iovec *iov, int count)
{
	uint64_t bytes;

	switch (shm_ring_next(&line->ring, &bytes)) {
	case RING_ITSELF:
		return recv_ring(line, iov, count);
	case RING_SOCKET:
		return bytes ? recv_some(line, iov, count, bytes) : recv_end(line);
	case RING_FLAW:
		break;
	}
	line->tcp->received++;
	return -EPROTO;
}

bool rings_read(struct tcp *tcp)
{
	unsigned int changes = tcp->changes, received = tcp->received;
	struct line *next;

	for (struct line *line = tcp->shms; line && tcp->changes == changes; line = next) {
		next = line->next_shm;
		if (line->two_ways && line->state == LINE_OPEN && !line->deaf && shm_ring_has(&line->ring))
			conn_readable(line->conn);
	}
	return tcp->changes != changes || tcp->received != received;
}

bool rings_read_on(struct tcp *tcp)
{
	int rounds = 0;

	while (rounds < SLICE_RINGS && rings_read(tcp))
		rounds++;
	return rounds;
}

bool rings_have(const struct tcp *tcp)
{
	for (const struct line *line = tcp->shms; line; line = line->next_shm)
		if (line->two_ways && line->state == LINE_OPEN && !line->deaf && shm_ring_has(&line->ring))
			return true;
	return false;
}
