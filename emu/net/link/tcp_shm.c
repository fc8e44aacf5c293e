/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_shm.c - the shared segments of lines (shm.h): how two neighbours come to share one, when polls may trust it instead of
 * the sockets, and when its rings are open. */
#include "emu/net/link/local.h"
#include "emu/net/link/tcp_line.h"
#include "emu/net/link/trunk.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/limits.h"

void shm_all_open(struct tcp *tcp)
{
	tcp->shm_quota = shm_quota(LIMIT_SHM);
}

void shm_all_close(struct tcp *tcp)
{
	shm_quota_end(tcp->shm_quota, LIMIT_SHM);
}

static bool is_free(const struct tcp *tcp, const void *room)
{
	for (const struct line *line = tcp->shms; line; line = line->next_shm)
		if (line->shm.room == room)
			return false;
	return true;
}

/* NULL: none is free. */
static void *free_room(const struct tcp *tcp)
{
	for (size_t i = 0; tcp->shm_quota && i < LIMIT_SHM; i++)
		if (is_free(tcp, tcp->shm_quota + i * SHM_BYTES))
			return tcp->shm_quota + i * SHM_BYTES;
	return NULL;
}

static void has_shm(struct line *line)
{
	struct tcp *tcp = line->tcp;

	line->next_shm = tcp->shms;
	tcp->shms = line;
	tcp->shm_count++;
	line_place_executed(line);
	(void)line_open_ring(line);
}

void line_drop_shm(struct line *line)
{
	struct line **at = &line->tcp->shms;

	if (line->shm_fd >= 0)
		nocancel_close(line->shm_fd);
	line->shm_fd = -1;
	if (!line->shm.own)
		return;
	while (*at != line)
		at = &(*at)->next_shm;
	*at = line->next_shm;
	line->tcp->shm_count--;
	line->peer_has_shm = false;
	shm_drop(&line->shm, &line->ring);
	line_place_executed(line);
}

void line_give_shm(struct line *line)
{
	void *room = free_room(line->tcp);

	if (!room)
		return;
	line->shm_fd = shm_make(&line->shm, &line->ring, room);
	if (line->shm_fd >= 0)
		has_shm(line);
}

/* The accepting side's first bytes, with its shared segment. A peer that takes no files gets the bytes alone. */
ssize_t line_send_first(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n;

	shm_ring_tell(&line->ring, iov, count);
	n = local_send_file(line->fd, iov, count, line->shm_fd);
	if (n < 0) {
		line_drop_shm(line);
		return line_send(line, iov, count);
	}
	nocancel_close(line->shm_fd);
	line->shm_fd = -1;
	line->ring.sent += (uint64_t)n;
	return n;
}

/* The dialling side receives its first bytes, which may bring a shared segment. */
ssize_t line_recv_first(struct line *line, const struct iovec *iov, int count)
{
	void *room = free_room(line->tcp);
	int fd;
	ssize_t n = local_recv_file(line->fd, iov, count, &fd);

	line->expects_shm = n <= 0;
	if (fd >= 0 && !room)
		nocancel_close(fd);
	else if (fd >= 0 && !shm_take(&line->shm, &line->ring, room, fd))
		has_shm(line);
	return n;
}

bool line_store_ack(struct line *line, uint64_t number)
{
	if (line->state == LINE_CHANNEL)
		return shm_store_ack(&line->trunk->carrier->shm, line->channel, number);
	return line->state == LINE_OPEN && shm_store_ack(&line->shm, 0, number); /* a line that joins may lose its memory */
}

bool line_stored_ack(struct line *line, uint64_t *number)
{
	if (line->state == LINE_CHANNEL)
		return trunk_stored_ack(line->trunk, line->channel, number);
	if (!shm_read(&line->shm, 0, &line->ack_seen))
		return false;
	*number = line->ack_seen;
	return true;
}

void line_note_executed(struct line *line, uint64_t number)
{
	if (line->executed)
		atomic_store_explicit(line->executed, number, memory_order_release);
}

uint64_t line_peer_executed(const struct line *line)
{
	const struct shm *shm = line->trunk ? &line->trunk->carrier->shm : &line->shm;
	atomic_uint_fast64_t *word = shm_executed(shm, shm->peer, line->trunk ? line->channel : 0);

	return word ? atomic_load_explicit(word, memory_order_acquire) : 0;
}

void line_place_executed(struct line *line)
{
	const struct shm *shm = line->trunk ? &line->trunk->carrier->shm : &line->shm;

	line->executed = shm_executed(shm, shm->own, line->trunk ? line->channel : 0);
}

int shm_all_acks(struct tcp *tcp)
{
	unsigned int changes = tcp->changes;
	struct line *next;
	int count = 0;

	for (struct line *line = tcp->shms; line && tcp->changes == changes; line = next) {
		next = line->next_shm;
		if (!shm_read(&line->shm, 0, &line->ack_seen))
			continue;
		if (line->conn) /* of a trunk whose join is unread: a 1, which HELLO has said */
			conn_ack_stored(line->conn, line->ack_seen);
		else
			trunk_acks(line->trunk); /* a neighbour's stream does not linger: it is a carrier */
		count++;
	}
	return count;
}

void shm_all_set_polling(void *link, bool on)
{
	struct tcp *tcp = link;
	unsigned int changes;

	tcp->polling = on;
	for (struct line *line = tcp->shms; line; line = line->next_shm)
		if (line->peer_has_shm)
			shm_ring_open(&line->ring, on);
	do {
		changes = tcp->changes;
		shm_all_acks(tcp);
	} while (tcp->changes != changes); /* not while acknowledgements are stored: a peer could go on for ever */
	if (on)
		return;
	/* Reads what peers put before the rings were closed. Bytes by the socket may precede it; an honest peer has sent those. */
	(void)rings_read_on(tcp);
	if (rings_have(tcp))
		want_ticks(tcp);
}

/* Only while we poll: when we sleep, the socket wakes us. */
bool shm_all_tell(struct tcp *tcp)
{
	if (!tcp->polling || tcp->shm_count != tcp->count || tcp->port_count || tcp->watched ||
	    ++tcp->polls_since_epoll > SLICE_SHM)
		return false;
	for (struct line *line = tcp->shms; line; line = line->next_shm)
		if (!line_has_ring(line))
			return false;
	return true;
}
