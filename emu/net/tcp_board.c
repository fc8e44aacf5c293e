/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_board.c - the boards of lines (board.h): how two neighbours come to share one, what it spares their polls, and when they may
 * use its rings. */
#include "emu/net/local.h"
#include "emu/net/plain.h"
#include "emu/net/tcp_line.h"
#include "emu/nic/limits.h"

void boards_open(struct tcp *tcp)
{
	tcp->board_rooms = board_rooms(LIMIT_BOARDS);
}

void boards_close(struct tcp *tcp)
{
	board_rooms_end(tcp->board_rooms, LIMIT_BOARDS);
}

static bool is_free(const struct tcp *tcp, const void *room)
{
	for (const struct line *line = tcp->boards; line; line = line->next_board)
		if (line->board.room == room)
			return false;
	return true;
}

/* NULL: all are taken. */
static void *free_room(const struct tcp *tcp)
{
	for (size_t i = 0; tcp->board_rooms && i < LIMIT_BOARDS; i++)
		if (is_free(tcp, tcp->board_rooms + i * BOARD_BYTES))
			return tcp->board_rooms + i * BOARD_BYTES;
	return NULL;
}

static void has_board(struct line *line)
{
	struct tcp *tcp = line->tcp;

	line->next_board = tcp->boards;
	tcp->boards = line;
	tcp->board_count++;
	board_look(&line->board, tcp->looks);
	(void)line_has_ring(line);
}

void line_drop_board(struct line *line)
{
	struct line **at = &line->tcp->boards;

	if (line->board_fd >= 0)
		plain_close(line->board_fd);
	line->board_fd = -1;
	if (!line->board.own)
		return;
	while (*at != line)
		at = &(*at)->next_board;
	*at = line->next_board;
	line->tcp->board_count--;
	line->two_ways = false;
	board_drop(&line->board, &line->ring);
}

void line_give_board(struct line *line)
{
	void *room = free_room(line->tcp);

	if (!room)
		return;
	line->board_fd = board_make(&line->board, &line->ring, room);
	if (line->board_fd >= 0)
		has_board(line);
}

/* The first bytes of who was connected to, with his board. A peer that takes no files gets them without. */
ssize_t line_send_first(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n;

	ring_tell(&line->ring, iov, count);
	n = local_send_file(line->fd, iov, count, line->board_fd);
	if (n < 0) {
		line_drop_board(line);
		return line_send(line, iov, count);
	}
	plain_close(line->board_fd);
	line->board_fd = -1;
	line->ring.sent += (uint64_t)n;
	board_knock(&line->board);
	return n;
}

/* The first bytes of who dialled, which may bring a board. */
ssize_t line_recv_first(struct line *line, const struct iovec *iov, int count)
{
	void *room = free_room(line->tcp);
	int fd;
	ssize_t n = local_recv_file(line->fd, iov, count, &fd);

	line->hopes = n <= 0;
	if (fd >= 0 && !room)
		plain_close(fd);
	else if (fd >= 0 && !board_take(&line->board, &line->ring, room, fd))
		has_board(line);
	return n;
}

bool line_note(struct line *line, uint64_t number)
{
	return board_note(&line->board, number);
}

bool line_noted(struct line *line, uint64_t *number)
{
	return board_read(&line->board, number);
}

int boards_notes(struct tcp *tcp)
{
	unsigned int changes = tcp->changes;
	struct line *next;
	uint64_t number;
	int count = 0;

	for (struct line *line = tcp->boards; line && tcp->changes == changes; line = next) {
		next = line->next_board;
		if (!board_read(&line->board, &number) || !line->conn)
			continue;
		conn_noted(line->conn, number);
		count++;
	}
	return count;
}

void boards_look(void *link, bool on)
{
	struct tcp *tcp = link;
	unsigned int changes;

	tcp->looks = on;
	for (struct line *line = tcp->boards; line; line = line->next_board) {
		board_look(&line->board, on);
		if (line->two_ways)
			ring_open(&line->ring, on);
	}
	do {
		changes = tcp->changes;
		boards_notes(tcp);
	} while (tcp->changes != changes);	/* not while there are notes: a peer could go on for ever */
	if (on)
		return;
	/* What was put before they were closed. More by the socket may come before it, but an honest peer has sent that. */
	(void)rings_read_on(tcp);
	if (rings_have(tcp))
		want_ticks(tcp);
}

/* Who does not look was woken by his socket, perhaps before its peer came to knock. */
bool boards_tell(struct tcp *tcp)
{
	if (!tcp->looks || tcp->board_count != tcp->count || tcp->port_count || tcp->watched || ++tcp->unasked > SLICE_BOARDS)
		return false;
	for (const struct line *line = tcp->boards; line; line = line->next_board)
		if (!board_shared(&line->board))
			return false;
	return true;
}

int boards_knocked(struct tcp *tcp)
{
	unsigned int changes = tcp->changes, received = tcp->received;
	struct line *next;

	for (struct line *line = tcp->boards; line && tcp->changes == changes; line = next) {
		next = line->next_board;
		if (line->state == LINE_OPEN && (board_knocked(&line->board) || !line->drained))
			conn_readable(line->conn);
	}
	return (int)(tcp->received - received) + (tcp->changes != changes);
}
