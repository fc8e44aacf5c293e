/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_shm_ring.c - receives a line's bytes from its ring (shm_ring.h), and from its socket in between. */
#include <errno.h>

#include "emu/net/link/tcp_line.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/limits.h"

enum { PIECES = 64 }; /* link.h */

bool line_open_ring(struct line *line)
{
	if (!shm_shared(&line->shm))
		return false;
	line->peer_has_shm = true;
	shm_ring_open(&line->ring, line->tcp->polling);
	return true;
}

/* No bytes are announced, but the end of a stream is never announced. Polls of the shared segments alone do not look for it. */
static ssize_t recv_end(struct line *line)
{
	uint64_t bytes;
	char byte;
	ssize_t n;

	if (line->tcp->polls_since_epoll)
		return -EAGAIN;
	n = nocancel_recv(line->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0)
		n = -errno;
	if (n == -EAGAIN)
		return n;
	if (shm_ring_next(&line->ring, &bytes) != RING_SOCKET || bytes) /* announced meanwhile: perhaps the last bytes */
		return -EAGAIN;
	if (n > 0) /* bytes that were never announced */
		n = -EPROTO;
	line->tcp->received++;
	return n;
}

/* Receives from the socket, at most `bytes`. */
static ssize_t recv_some(struct line *line, const struct iovec *iov, int count, uint64_t bytes)
{
	struct iovec cut[PIECES];
	int pieces = 0;

	for (; pieces < count && bytes; bytes -= cut[pieces++].iov_len)
		cut[pieces] = (struct iovec){ iov[pieces].iov_base, iov[pieces].iov_len < bytes ? iov[pieces].iov_len : bytes };
	return line_recv_socket(line, cut, pieces);
}

static ssize_t recv_ring(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n = shm_ring_take(&line->ring, iov, count);
	struct iovec first;

	if (unlikely(n == -EFAULT)) {
		first = line_first_page(iov, count);
		n = shm_ring_take(&line->ring, &first, 1);
	}
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

static int read_each(struct tcp *tcp, bool (*has)(const struct shm_ring *ring))
{
	unsigned int changes = tcp->changes, received = tcp->received;
	struct line *next;

	for (struct line *line = tcp->shms; line && tcp->changes == changes; line = next) {
		next = line->next_shm;
		if (has(&line->ring) && (line->state == LINE_OPEN || line->state == LINE_JOINING) && !line->rx_paused)
			line_readable(line);
	}
	return (int)(tcp->received - received) + (tcp->changes != changes);
}

int rings_read(struct tcp *tcp)
{
	return read_each(tcp, shm_ring_has);
}

int rings_read_all(struct tcp *tcp)
{
	return read_each(tcp, shm_ring_waits);
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
		if (shm_ring_has(&line->ring) && (line->state == LINE_OPEN || line->state == LINE_JOINING) && !line->rx_paused)
			return true;
	return false;
}
