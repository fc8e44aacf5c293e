/* SPDX-License-Identifier: BSD-2-Clause */
/* trunk.c - the lines of a trunk: their bytes as chunks, out and in. */
#include "emu/net/link/trunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "emu/nic/memory/guard.h"
#include "wire/codec.h"

enum { CHUNK_LEAST = 4096 }; /* a line that has more waits rather than send less */

static struct line *owner(struct hash_node *node)
{
	return (struct line *)((char *)node - offsetof(struct line, by_channel));
}

struct line *trunk_line(const struct trunk *trunk, uint32_t channel)
{
	struct hash_node *node = hash_first(&trunk->by_channel, hash_u64(trunk->hash_secret, channel));

	while (node && owner(node)->channel != channel)
		node = hash_next(node);
	return node ? owner(node) : NULL;
}

void trunk_add(struct trunk *trunk, struct line *line, uint32_t channel)
{
	line->trunk = trunk;
	line->channel = channel;
	hash_add(&trunk->by_channel, &line->by_channel, hash_u64(trunk->hash_secret, channel));
	line->next_channel = trunk->lines;
	line->prev_channel = NULL;
	if (trunk->lines)
		trunk->lines->prev_channel = line;
	trunk->lines = line;
	line_place_executed(line);
}

void trunk_remove(struct line *line)
{
	struct trunk *trunk = line->trunk;
	struct line **at = &trunk->blocked;

	hash_remove(&trunk->by_channel, &line->by_channel);
	if (line->next_channel)
		line->next_channel->prev_channel = line->prev_channel;
	*(line->prev_channel ? &line->prev_channel->next_channel : &trunk->lines) = line->next_channel;
	while (line->state == LINE_CHANNEL && line->tx_blocked && *at != line)
		at = &(*at)->next_blocked;
	if (*at == line) {
		*at = line->next_blocked;
		if (!*at)
			trunk->blocked_end = at;
	}
	line->trunk = NULL;
	line_place_executed(line);
}

struct trunk *trunk_make(struct line *carrier, uint64_t name)
{
	struct tcp *tcp = carrier->tcp;
	struct trunk *trunk = calloc(1, sizeof(*trunk));
	struct line *first = calloc(1, sizeof(*first));

	if (!trunk || !first || hash_init(&trunk->by_channel, 16)) {
		free(trunk);
		free(first);
		return NULL;
	}
	trunk->tcp = tcp;
	trunk->carrier = carrier;
	trunk->name = name;
	trunk->blocked_end = &trunk->blocked;
	random_bytes(&tcp->random, trunk->hash_secret, sizeof(trunk->hash_secret));
	trunk->next = tcp->trunks;
	tcp->trunks = trunk;
	*first = (struct line){
		.tcp = tcp, .ops = carrier->ops, .state = LINE_CHANNEL, .fd = -1, .shm_fd = -1, .conn = carrier->conn
	};
	trunk_add(trunk, first, 1);
	carrier->conn = NULL;
	carrier->trunk = trunk;
	carrier->reads = trunk_read;
	conn_moved(first->conn, first);
	return trunk;
}

static void trunk_free(struct trunk *trunk)
{
	struct trunk **at = &trunk->tcp->trunks;

	while (*at != trunk)
		at = &(*at)->next;
	*at = trunk->next;
	line_close(trunk->carrier);
	hash_fini(&trunk->by_channel);
	free(trunk);
}

/* Copies to or from program memory at `program`: how much; less than `length` if some of it is not there. */
static size_t copy_piece(void *to, const void *from, const void *program, size_t length)
{
	if (guard_copy(to, from, length))
		return length;
	length = line_first_page(&(struct iovec){ (void *)program, length }, 1).iov_len;
	return guard_copy(to, from, length) ? length : 0;
}

/* Copies at most `most` bytes between the pieces and `bytes`; -EFAULT as in link.h. */
static ssize_t copy_pieces(const struct iovec *iov, int count, uint8_t *bytes, size_t most, bool to_pieces)
{
	size_t sum = 0;

	for (int i = 0; i < count && sum < most; i++) {
		size_t length = iov[i].iov_len < most - sum ? iov[i].iov_len : most - sum, copied;

		copied = to_pieces ? copy_piece(iov[i].iov_base, bytes + sum, iov[i].iov_base, length)
				   : copy_piece(bytes + sum, iov[i].iov_base, iov[i].iov_base, length);
		sum += copied;
		if (copied < length)
			break;
	}
	return sum ? (ssize_t)sum : -EFAULT;
}

/* As line_send(). Without pieces: the channel ends. */
static ssize_t put_chunk(struct trunk *trunk, uint32_t channel, const struct iovec *iov, int count, size_t room)
{
	struct wire_chunk head = { .channel = wire_put32(channel) };
	size_t wanted = 0;
	uint8_t *at;
	ssize_t n = 0;

	trunk->out_end -= trunk->out_at;
	if (trunk->out_at)
		memmove(trunk->out, trunk->out + trunk->out_at, trunk->out_end);
	trunk->out_at = 0;
	for (int i = 0; i < count; i++)
		wanted += iov[i].iov_len;
	if (room < trunk->out_end + sizeof(head) + (wanted < CHUNK_LEAST ? wanted : CHUNK_LEAST))
		return -EAGAIN; /* ends of lines may have taken more than `room` */
	room -= trunk->out_end;
	at = trunk->out + trunk->out_end;
	if (wanted)
		n = copy_pieces(iov, count, at + sizeof(head), room - sizeof(head), false);
	if (n < 0)
		return n;
	head.length = wire_put32((uint32_t)n);
	memcpy(at, &head, sizeof(head));
	trunk->out_end += sizeof(head) + (size_t)n;
	trunk->tcp->trunk_bytes = true;
	return n;
}

ssize_t trunk_send(struct line *line, const struct iovec *iov, int count)
{
	if (line->state == LINE_JOINING)
		return -EAGAIN;
	return line->trunk->broken ? -EPIPE : put_chunk(line->trunk, line->channel, iov, count, TRUNK_BYTES);
}

void trunk_want_write(struct line *line)
{
	struct trunk *trunk = line->trunk;

	line->next_blocked = NULL;
	*trunk->blocked_end = line;
	trunk->blocked_end = &line->next_blocked;
	trunk->tcp->trunk_bytes = true; /* there may be room, and then a flush tells it */
}

/* The first that waits has its turn, and the next when its bytes have gone. */
static void wake_blocked(struct trunk *trunk)
{
	struct line *line = trunk->blocked;

	if (!line || trunk->out_end - trunk->out_at > TRUNK_BYTES / 2)
		return;
	trunk->blocked = line->next_blocked;
	if (!trunk->blocked)
		trunk->blocked_end = &trunk->blocked;
	line->tx_blocked = false;
	trunk->tcp->trunk_bytes |= trunk->blocked != NULL;
	conn_writable(line->conn);
}

/* Polls and sleeps are told by the socket, and then trunk_read() finds its end. */
static void trunk_give_up(struct trunk *trunk)
{
	trunk->broken = true;
	shutdown(trunk->carrier->fd, SHUT_RDWR);
}

static void send_out(struct trunk *trunk)
{
	ssize_t n = 1;

	while (trunk->out_at < trunk->out_end && n > 0 && !trunk->carrier->tx_blocked) {
		struct iovec rest = { trunk->out + trunk->out_at, trunk->out_end - trunk->out_at };

		n = line_send(trunk->carrier, &rest, 1);
		trunk->out_at += n > 0 ? (size_t)n : 0;
		trunk->unanswered = true;
	}
	if (n == -EAGAIN)
		line_want_write(trunk->carrier);
	else if (n < 0)
		trunk_give_up(trunk);
	if (trunk->out_at == trunk->out_end || trunk->broken)
		trunk->out_at = trunk->out_end = 0;
}

/* A trunk that has no lines ends when its last bytes have left. A peer that takes nothing is found as by any line. */
void trunk_end_unused(struct trunk *trunk)
{
	if (!trunk->lines && !trunk->reading && trunk->out_at == trunk->out_end)
		trunk_free(trunk);
}

void trunk_flush(struct trunk *trunk)
{
	send_out(trunk);
	wake_blocked(trunk);
	trunk_end_unused(trunk);
}

bool trunk_stored_ack(struct trunk *trunk, uint32_t channel, uint64_t *number)
{
	if (!shm_read(&trunk->carrier->shm, channel, trunk->acks))
		return false;
	*number = trunk->acks[channel];
	return true;
}

void trunk_acks(struct trunk *trunk)
{
	struct line *line;

	trunk->unanswered = false;
	trunk->reading = true; /* the device may close lines in conn_ack_stored() */
	for (uint32_t channel = 1; channel < SHM_CHANNELS; channel++) {
		line = shm_read(&trunk->carrier->shm, channel, trunk->acks) ? trunk_line(trunk, channel) : NULL;
		if (line)
			conn_ack_stored(line->conn, trunk->acks[channel]);
	}
	trunk->reading = false;
	trunk_end_unused(trunk);
}

bool trunks_flush(void *link, bool all)
{
	struct tcp *tcp = link;
	struct trunk *next;

	if (!tcp->trunk_bytes)
		return false;
	tcp->trunk_bytes = false;
	for (struct trunk *trunk = tcp->trunks; trunk; trunk = next) {
		next = trunk->next;
		if (all || !trunk->unanswered || trunk->out_end - trunk->out_at > TRUNK_BYTES / 2)
			trunk_flush(trunk);
		else
			tcp->trunk_bytes |= (trunk->out_at < trunk->out_end || trunk->blocked) && !trunk->carrier->tx_blocked;
	}
	return tcp->trunk_bytes;
}

/* Bytes that have been received are still read (guess.c). */
void trunk_set_readable(struct line *line)
{
	struct trunk *trunk = line->trunk;

	trunk->pauses += line->rx_paused ? 1 : -1u;
	line_set_readable(trunk->carrier, !trunk->pauses);
}

/* Nobody asks again: so where even the room for ends of channels is full, the trunk is given up. */
void trunk_leave(struct line *line)
{
	struct trunk *trunk = line->trunk;

	line_set_readable(line, true);
	trunk_remove(line);
	if (!trunk->broken && put_chunk(trunk, line->channel, NULL, 0, sizeof(trunk->out)))
		trunk_give_up(trunk);
	send_out(trunk);
	trunk->tcp->trunk_bytes |= trunk->blocked != NULL; /* no event comes from inside close() */
	trunk_end_unused(trunk);
}

void trunk_down(struct trunk *trunk, int error)
{
	trunk->broken = trunk->reading = true;
	for (struct line *line = trunk->blocked; line; line = line->next_blocked)
		line->tx_blocked = false; /* else each that is closed is searched there */
	trunk->blocked = NULL;
	while (trunk->lines)
		conn_down(trunk->lines->conn, error); /* closes it */
	trunk_free(trunk);
}

/* For the line whose chunk is being read. */
ssize_t trunk_recv(struct line *line, const struct iovec *iov, int count)
{
	struct trunk *trunk = line->trunk;
	size_t most = trunk->in_end - trunk->in_at;
	ssize_t n;

	most = most < trunk->left ? most : trunk->left;
	if (trunk->current != line->channel || !most)
		return -EAGAIN;
	n = copy_pieces(iov, count, trunk->tcp->trunk_in + trunk->in_at, most, true);
	trunk->in_at += n > 0 ? (size_t)n : 0;
	trunk->left -= n > 0 ? (uint32_t)n : 0;
	return n;
}

/* The chunk's line reads, or what is here of it is skipped. */
static void read_payload(struct trunk *trunk, struct line *line)
{
	size_t have = trunk->in_end - trunk->in_at, skipped = have < trunk->left ? have : trunk->left;

	if (!line) {
		trunk->in_at += skipped;
		trunk->left -= (uint32_t)skipped;
		/* A sender whose line is not known here may not have heard of its end. */
		if (!trunk->left && !trunk->broken && put_chunk(trunk, trunk->current, NULL, 0, sizeof(trunk->out)))
			trunk_give_up(trunk);
		trunk->answers = true;
	} else if (line->state == LINE_JOINING) {
		line_joined(line);
	} else {
		conn_readable(line->conn); /* if it takes none, as its place is not there, it does the next time */
	}
}

/* False: more has to be received. */
static bool read_chunk(struct trunk *trunk)
{
	size_t have = trunk->in_end - trunk->in_at;
	struct wire_chunk head;
	struct line *line;

	if (have < (trunk->left ? 1 : sizeof(head)))
		return false;
	if (trunk->left) {
		read_payload(trunk, trunk_line(trunk, trunk->current));
		return true;
	}
	memcpy(&head, trunk->tcp->trunk_in + trunk->in_at, sizeof(head));
	trunk->in_at += sizeof(head);
	trunk->current = wire_get32(head.channel);
	trunk->left = wire_get32(head.length);
	line = trunk->left ? NULL : trunk_line(trunk, trunk->current);
	if (line)
		conn_down(line->conn, ECONNRESET);
	return true;
}

/* Receives once, as each line's conn does, and reads all of it but a part of a chunk's head. */
void trunk_read(struct line *carrier)
{
	struct trunk *trunk = carrier->trunk;
	uint8_t *in = trunk->tcp->trunk_in;
	size_t before = trunk->head_bytes;
	ssize_t n = line_recv(carrier, &(struct iovec){ in + before, TRUNK_BYTES - before }, 1);

	memcpy(in, trunk->head, before);
	trunk->in_at = 0;
	trunk->in_end = before + (n > 0 ? (size_t)n : 0);
	trunk->unanswered &= n <= 0;
	trunk->reading = true;
	while (read_chunk(trunk))
		;
	trunk->head_bytes = (uint8_t)(trunk->in_end - trunk->in_at);
	memcpy(trunk->head, in + trunk->in_at, trunk->head_bytes);
	trunk->in_at = trunk->in_end = 0;
	if (trunk->answers)
		send_out(trunk);
	trunk->reading = trunk->answers = false;
	if (n <= 0 && n != -EAGAIN)
		trunk_down(trunk, n ? (int)-n : ECONNRESET);
	else
		trunk_end_unused(trunk);
}

void trunks_close(struct tcp *tcp)
{
	for (struct trunk *trunk; (trunk = tcp->trunks);) {
		trunk->reading = true;
		while (trunk->lines)
			line_close(trunk->lines);
		trunk_free(trunk);
	}
}
