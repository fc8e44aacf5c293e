/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_ring.c - what comes to a line by its ring (ring.h), and by its socket in between. */
#include <errno.h>

#include "emu/net/plain.h"
#include "emu/net/tcp_line.h"
#include "emu/nic/limits.h"
#include "emu/nic/likely.h"

enum { PIECES = 64 };	/* link.h */

/* The peer may put something there from when the ring is open; that it has the board is seen before. */
bool line_has_ring(struct line *line)
{
	if (unlikely(!line->two_ways && board_shared(&line->board))) {
		line->two_ways = true;
		ring_open(&line->ring, line->tcp->looks);
	}
	return line->two_ways;
}

/* Nothing is said to come, but the end comes unsaid. Polls that ask boards alone do not look for it. */
static ssize_t recv_end(struct line *line)
{
	uint64_t bytes;
	char byte;
	ssize_t n;

	line->drained = true;
	if (line->tcp->unasked)
		return -EAGAIN;
	n = plain_recv(line->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0)
		n = -errno;
	if (n == -EAGAIN)
		return n;
	if (ring_next(&line->ring, &bytes) != RING_SOCKET || bytes) {	/* said meanwhile: the last words, perhaps */
		line->drained = false;
		return -EAGAIN;
	}
	if (n > 0)	/* never said */
		n = -EPROTO;
	line->tcp->received++;
	return n;
}

/* By the socket, no more than so many bytes. */
static ssize_t recv_some(struct line *line, const struct iovec *iov, int count, uint64_t bytes)
{
	struct iovec cut[PIECES];
	int pieces = 0;
	ssize_t n;

	for (; pieces < count && bytes; bytes -= cut[pieces++].iov_len)
		cut[pieces] = (struct iovec){ iov[pieces].iov_base, iov[pieces].iov_len < bytes ? iov[pieces].iov_len : bytes };
	n = line_recv_socket(line, cut, pieces);
	if (n > 0)
		line->drained = !ring_waits(&line->ring);
	return n;
}

static ssize_t recv_ring(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n = ring_take(&line->ring, iov, count);
	struct iovec first;

	if (unlikely(n == -EFAULT)) {
		first = line_first_page(iov, count);
		n = ring_take(&line->ring, &first, 1);
	}
	line->drained = !ring_waits(&line->ring);
	line->tcp->received++;
	return n;
}

ssize_t line_recv_either(struct line *line, const struct iovec *iov, int count)
{
	uint64_t bytes;

	switch (ring_next(&line->ring, &bytes)) {
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

	for (struct line *line = tcp->boards; line && tcp->changes == changes; line = next) {
		next = line->next_board;
		if (line->two_ways && line->state == LINE_OPEN && !line->deaf && ring_has(&line->ring))
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
	for (const struct line *line = tcp->boards; line; line = line->next_board)
		if (line->two_ways && line->state == LINE_OPEN && !line->deaf && ring_has(&line->ring))
			return true;
	return false;
}
