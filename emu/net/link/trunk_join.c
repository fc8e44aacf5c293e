/* SPDX-License-Identifier: BSD-2-Clause */
/* trunk_join.c - how a line that has greeted goes on: alone, as a trunk, or as a channel of one that is there. */
#include <errno.h>
#include <string.h>

#include "emu/net/link/trunk.h"
#include "emu/net/os/nocancel_socket.h"
#include "wire/codec.h"

/* The stream is as good as new, so it takes these few bytes at once. */
static int put_join(struct line *line, enum wire_join_kind kind, uint32_t channel, uint64_t name)
{
	struct wire_join join = { wire_put32(kind), wire_put32(channel), wire_put64(name) };
	ssize_t n = line_send(line, &(struct iovec){ &join, sizeof(join) }, 1);

	return n == sizeof(join) ? 0 : n < 0 ? (int)n : -EPIPE;
}

/* True: all of it is here. Else the line waits on, or has been told that its stream broke. */
static bool take_join(struct line *line)
{
	struct line_joining *joining = &line->joining;
	struct iovec rest;
	ssize_t n;

	rest = (struct iovec){ (uint8_t *)&joining->join + joining->have, sizeof(joining->join) - joining->have };
	n = line_recv_stream(line, &rest, 1);
	joining->have += n > 0 ? (uint8_t)n : 0;
	if (joining->have == sizeof(joining->join))
		return true;
	if (n <= 0 && n != -EAGAIN)
		conn_down(line->conn, n ? (int)-n : ECONNRESET);
	return false;
}

static void wait_for_join(struct line *line, void (*take)(struct line *line))
{
	line->state = LINE_JOINING;
	line->reads = take;
	line->joining.have = 0;
	line->joining.ticks = 0;
	want_ticks(line->tcp);
}

bool line_join_is_late(struct line *line)
{
	return line->joining.ticks++ * TIME_MS(TCP_TICK_MS) >= TIME_HELLO_NS;
}

/* True: the device has wanted to send meanwhile. It does not pause a line that has brought nothing. */
static bool end_joining(struct line *line)
{
	bool blocked = line->tx_blocked;

	line->state = LINE_OPEN;
	line->reads = NULL;
	line->tx_blocked = false;
	return blocked;
}

void line_joined(struct line *line)
{
	bool blocked = end_joining(line);

	line_drop_stream(line);
	if (blocked)
		conn_writable(line->conn);
}

/* The peer agrees, or does not know the trunk. */
static void join_answered(struct line *line)
{
	struct trunk *trunk = line->trunk;

	if (!take_join(line))
		return;
	switch (wire_get32(line->joining.join.kind)) {
	case WIRE_JOIN_MOVE:
		line_joined(line);
		return;
	case WIRE_JOIN_ALONE:
		trunk_remove(line);
		if (end_joining(line))
			conn_writable(line->conn);
		trunk_end_unused(trunk);
		return;
	default:
		conn_down(line->conn, EPROTO);
	}
}

static struct trunk *trunk_by_name(const struct tcp *tcp, uint64_t name)
{
	struct trunk *trunk = tcp->trunks;

	while (trunk && (trunk->channels || trunk->broken || trunk->name != name))
		trunk = trunk->next;
	return trunk;
}

/* The peer's bytes follow as chunks as soon as it has the answer. A trunk that is not known has ended meanwhile:
 * the line goes on alone. A peer that has given up, and so has nothing to say to its channel, is gone. */
static int move_line(struct line *line, uint32_t channel, uint64_t name)
{
	struct trunk *trunk = trunk_by_name(line->tcp, name);
	int err;

	if (!trunk)
		return put_join(line, WIRE_JOIN_ALONE, 0, 0);
	if (trunk_line(trunk, channel))
		return -EPROTO;
	if (!nocancel_recv(line->fd, &(char){ 0 }, 1, MSG_PEEK | MSG_DONTWAIT))
		return -ECONNRESET;
	err = put_join(line, WIRE_JOIN_MOVE, channel, name);
	if (err)
		return err;
	line_drop_stream(line);
	trunk_add(trunk, line, channel);
	return 0;
}

static void join_carry_out(struct line *line)
{
	struct conn *conn = line->conn;
	uint32_t kind, channel;
	bool blocked;
	uint64_t name;
	int err = -EPROTO;

	kind = wire_get32(line->joining.join.kind);
	channel = wire_get32(line->joining.join.channel);
	name = wire_get64(line->joining.join.trunk);
	blocked = end_joining(line);
	if (kind == WIRE_JOIN_ALONE && !channel && !name)
		err = 0;
	else if (kind == WIRE_JOIN_TRUNK && channel == 1)
		err = trunk_make(line, name) ? 0 : -ENOMEM;
	else if (kind == WIRE_JOIN_MOVE && channel)
		err = move_line(line, channel, name);
	if (err)
		conn_down(conn, -err);
	else if (blocked)
		conn_writable(conn);
}

static void join_decided(struct line *line);

static bool awaits_word(const struct line *line)
{
	return line->state == LINE_JOINING && line->reads == join_decided;
}

/* Is this line to become a channel of a trunk whose own line has not been read yet? What comes by several sockets and rings is not
 * read in the order in which it was sent. */
static bool trunk_to_come(const struct line *line)
{
	const struct wire_join *join = &line->joining.join;
	const struct line *at = line->tcp->lines;

	if (wire_get32(join->kind) != WIRE_JOIN_MOVE || trunk_by_name(line->tcp, wire_get64(join->trunk)))
		return false;
	while (at && (!awaits_word(at) || at->joining.have == sizeof(*join) || at->ops != line->ops ||
		      !line->ops->same_peer(line->fd, at->fd)))
		at = at->next;
	return at;
}

/* Decides one that waited for another line's word; false: there is none. It may free lines. */
static bool decide_waiting(struct tcp *tcp)
{
	struct line *line = tcp->lines;

	while (line && (!awaits_word(line) || line->joining.have < sizeof(line->joining.join) || trunk_to_come(line)))
		line = line->next;
	if (line)
		join_carry_out(line);
	return line;
}

/* The dialler has decided. */
static void join_decided(struct line *line)
{
	struct tcp *tcp = line->tcp;

	if (take_join(line)) {
		if (!trunk_to_come(line))
			join_carry_out(line);
		else if (!nocancel_recv(line->fd, &(char){ 0 }, 1, MSG_PEEK | MSG_DONTWAIT))
			conn_down(line->conn, ECONNRESET);
	}
	while (decide_waiting(tcp))
		;
}

/* A trunk to the same process: the peer's HELLO says so, and the kernel confirms it. */
static struct trunk *trunk_by_process(const struct line *line, const uint8_t *process)
{
	struct trunk *trunk = line->tcp->trunks;

	while (trunk && (!trunk->channels || trunk->broken || trunk->channels == UINT32_MAX ||
			 memcmp(trunk->carrier->process, process, WIRE_PROCESS_LEN) != 0 || trunk->carrier->ops != line->ops ||
			 !line->ops->same_peer(line->fd, trunk->carrier->fd)))
		trunk = trunk->next;
	return trunk;
}

/* The first, and between neighbours the second, too: two segments are looked at as fast as one. */
static bool stays_alone(const struct line *line, const uint8_t *process)
{
	unsigned int count = 0;

	for (const struct line *at = line->tcp->lines; at; at = at->next)
		count += at->conn && at->state == LINE_OPEN && !memcmp(at->process, process, WIRE_PROCESS_LEN);
	return count < (line->shm.own ? 2 : 1);
}

static int begin_trunk(struct line *line, const uint8_t *process)
{
	struct trunk *trunk;
	uint64_t name;
	int err;

	random_bytes(&line->tcp->random, &name, sizeof(name));
	err = put_join(line, WIRE_JOIN_TRUNK, 1, name);
	if (err)
		return err;
	trunk = trunk_make(line, name);
	if (!trunk)
		return -ENOMEM;
	memcpy(line->process, process, WIRE_PROCESS_LEN);
	trunk->channels = 1;
	return 0;
}

int line_join(struct line *line, bool dialled, const uint8_t *process)
{
	struct trunk *trunk = dialled ? trunk_by_process(line, process) : NULL;
	int err;

	if (!dialled) {
		wait_for_join(line, join_decided);
		return 0;
	}
	if (trunk && (trunk->carrier->shm.own || !line->shm.own)) { /* else the line's stream makes a better one */
		err = put_join(line, WIRE_JOIN_MOVE, trunk->channels + 1, trunk->name);
		if (err)
			return err;
		wait_for_join(line, join_answered);
		trunk_add(trunk, line, ++trunk->channels);
		return 0;
	}
	if (trunk || !stays_alone(line, process))
		return begin_trunk(line, process);
	memcpy(line->process, process, WIRE_PROCESS_LEN);
	return put_join(line, WIRE_JOIN_ALONE, 0, 0);
}
