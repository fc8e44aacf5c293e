/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.c - the link in memory: listeners, dials, cables, and what the device sees of them. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "emu/nic/transport/conn.h"
#include "tests/sim/harness/cable.h"
#include "tests/sim/harness/lines.h"
#include "tests/sim/harness/ports.h"
#include "tests/sim/harness/tap.h"

static uint16_t port_of(const struct sockaddr_storage *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port); /* the same place in sockaddr_in6 */
}

static struct listener *listener_at(struct world *world, uint16_t port)
{
	for (int i = 0; i < world->listeners; i++)
		if (world->listener[i].node && world->listener[i].port == port)
			return &world->listener[i];
	return NULL;
}

static void in_role(struct node *node, const char *what)
{
	WORLD_CHECK(node->world, !node->nic || driver_mine(nic_driver(node->nic)), "%s without the driver role", what);
}

/* A call that did something: the world is not idle. */
static ssize_t moved(struct node *node, ssize_t result)
{
	node->world->moves += result != -EAGAIN;
	return result;
}

static int lines_listen(void *link, struct sockaddr_storage *at, struct ep *ep, void **listener)
{
	struct node *node = link;
	struct world *world = node->world;
	uint16_t port = port_of(at);

	in_role(node, "listen");
	if (!port)
		port = world->next_port++;
	if (listener_at(world, port))
		return -EADDRINUSE;
	for (int i = 0; i < WORLD_LISTENERS; i++) {
		if (world->listener[i].node)
			continue;
		world->listener[i] = (struct listener){ .node = node, .ep = ep, .port = port };
		if (i >= world->listeners)
			world->listeners = i + 1;
		((struct sockaddr_in *)at)->sin_port = htons(port);
		*listener = &world->listener[i];
		return 0;
	}
	return -EMFILE;
}

static void lines_unlisten(void *link, void *listener)
{
	struct listener *at = listener;

	in_role(link, "unlisten");
	if (at->node == link) /* else it was killed, and the slot has gone to another */
		at->node = NULL;
}

static bool lines_full(const struct node *node)
{
	return node->lines_max && lines_open(node) >= node->lines_max;
}

static int lines_dial(void *link, const struct sockaddr_storage *to, struct conn *conn, struct line **line)
{
	struct node *node = link;
	struct cable *cable;

	in_role(node, "dial");
	moved(node, 0);
	if (node->dead)
		return -ENETDOWN;
	if (lines_full(node))
		return -EMFILE;
	cable = cable_open(node->world, port_of(to));
	cable->end[0].node = node;
	cable->end[0].conn = conn;
	*line = &cable->end[0];
	return 0;
}

static ssize_t lines_send(struct line *line, const struct iovec *iov, int count)
{
	ssize_t sent;

	in_role(line->node, "send");
	WORLD_CHECK(line->node->world, count > 0 && count <= 64, "send of %d iovecs", count);
	WORLD_CHECK(line->node->world, !line->closed, "send on a closed line");
	WORLD_CHECK(line->node->world, line->up, "send on a line that is not up");
	if (line->node->dead)
		return -EPIPE;
	sent = moved(line->node, line_send(line, iov, count));
	line->node->sends += sent > 0;
	return sent;
}

static uint64_t aside(const struct iovec *iov, int count, ssize_t got)
{
	uint64_t placed = 0;

	for (int i = 0; i + 1 < count; i++)
		placed += iov[i].iov_len;
	return got > 0 && (uint64_t)got > placed ? (uint64_t)got - placed : 0;
}

/* Payload that is received to be copied: how many bytes could be level with their place, and are. */
static uint64_t level(const struct conn *conn, const struct iovec *run, uint64_t got)
{
	uint32_t left = stream_payload_left(&conn->stream);
	struct iovec place;

	if (conn->in.sink == SINK_DROP || place_runs(&conn->in.place, left, &place, 1) != 1 ||
	    ((uintptr_t)place.iov_base - (uintptr_t)run->iov_base) % CACHE_LINE)
		return 0;
	return got < left ? got : left;
}

static ssize_t lines_recv(struct line *line, const struct iovec *iov, int count)
{
	ssize_t got;

	in_role(line->node, "recv");
	WORLD_CHECK(line->node->world, count > 0 && count <= 64, "recv into %d iovecs", count);
	WORLD_CHECK(line->node->world, !line->closed, "recv on a closed line");
	WORLD_CHECK(line->node->world, line->up, "recv on a line that is not up");
	if (line->node->dead)
		return -ECONNRESET;
	got = moved(line->node, line_recv(line, iov, count));
	line->node->aside += aside(iov, count, got);
	line->node->level += count == 1 && got > 0 ? level(line->conn, iov, (uint64_t)got) : 0;
	line->node->receives += got > 0;
	return got;
}

static void lines_want_write(struct line *line)
{
	in_role(line->node, "want_write");
	WORLD_CHECK(line->node->world, !line->closed, "want_write on a closed line");
	line->want_write = true;
}

static void lines_hear(struct line *line, bool on)
{
	in_role(line->node, "set_readable");
	WORLD_CHECK(line->node->world, !line->closed, "set_readable on a closed line");
	line->rx_paused = !on;
}

static bool lines_note(struct line *line, uint64_t number)
{
	struct line *peer = &line->cable->end[!line_dir(line)];

	in_role(line->node, "note");
	WORLD_CHECK(line->node->world, !line->closed, "note on a closed line");
	if (!line->node->world->weather.notes || line->cable->broken || line->node->dead || line->node->cut_off)
		return false;
	if (!peer->node || !peer->node->looks)
		return false;
	moved(line->node, 0);
	line->node->notes++;
	peer->note = number;
	tap_noted(line->cable->tap[line_dir(line)], number);
	return true;
}

static bool lines_noted(struct line *line, uint64_t *number)
{
	*number = line->note;
	if (line->noted == line->note)
		return false;
	line->noted = line->note;
	return true;
}

static void lines_note_executed(struct line *line, uint64_t number)
{
	const struct world *world = line->node->world;

	in_role(line->node, "note of what was executed");
	WORLD_CHECK(world, !line->closed, "note on a closed line");
	if (world->weather.notes && !line->node->dead && !line->node->cut_off)
		line->cable->end[!line_dir(line)].executed = number;
}

static uint64_t lines_peer_executed(const struct line *line)
{
	return line->executed;
}

static void lines_close(struct line *line)
{
	in_role(line->node, "close");
	WORLD_CHECK(line->node->world, !line->closed, "line closed twice");
	moved(line->node, 0);
	line_close(line);
}

/* The listener takes a line whose dial has arrived. */
static bool accept_one(struct node *node, struct cable *cable)
{
	struct listener *listener = listener_at(node->world, cable->port);
	struct line *line = &cable->end[1];

	if (lines_full(node) && (!listener || !ep_make_room(listener->ep))) {
		cable->accept_ns = node->world->now_ns + SIM_SECOND / 10; /* it waits, and is asked for again */
		return false;
	}
	line->node = node;
	if (!listener || listener->node != node) {
		line_close(line);
		return true;
	}
	line->up = true;
	line->conn = conn_accept(listener->ep, line);
	if (!line->conn && !line->closed)
		line_close(line);
	return true;
}

/* The dial's answer. */
static bool answer_dial(struct line *line)
{
	struct world *world = line->node->world;
	struct cable *cable = line->cable;
	struct listener *listener = listener_at(world, cable->port);
	bool refused = !listener || rnd_percent(&world->rnd, world->weather.refuse_percent);

	if (line->node->cut_off || (listener && listener->node->cut_off)) {
		cable->answer_ns = world->now_ns + SIM_SECOND / 2; /* asks again */
		return false;
	}
	cable->answered = true;
	if (refused) {
		cable->broken = true;
		cable->end[1].closed = true;
		line->told = true;
		conn_down(line->conn, ECONNREFUSED);
		return true;
	}
	cable->acceptor = listener->node;
	cable->accept_ns = world->now_ns + rnd_below(&world->rnd, world->weather.delay_max_ns + 1);
	line->up = true;
	conn_up(line->conn);
	return true;
}

/* Tells the device what one end has; at most one event. */
static bool serve_end(struct line *line)
{
	struct world *world = line->node->world;
	uint64_t number;

	if (line->closed || line->told || !line->conn)
		return false;
	if (!line->up)
		return line->cable->answer_ns <= world->now_ns && answer_dial(line);
	if (line->node->looks && lines_noted(line, &number)) {
		conn_ack_stored(line->conn, number);
		return true;
	}
	if (cable_timeout_ns(line->cable) <= world->now_ns)
		cable_time_out(line->cable);
	if (line->want_write && line_writable(line)) {
		line->want_write = false;
		conn_writable(line->conn);
		return true;
	}
	if (line->rx_paused)
		return false;
	if (line_has_input(line)) {
		conn_readable(line->conn);
		return true;
	}
	if (line_fails_now(line)) {
		line->told = true;
		conn_down(line->conn, ECONNRESET);
		return true;
	}
	return false;
}

static int lines_poll(void *link)
{
	struct node *node = link;
	struct world *world = node->world;
	uint32_t count = world->cables, from = (uint32_t)rnd_below(&world->rnd, count);
	int events = ports_poll(node);

	in_role(node, "poll");
	for (uint32_t i = 0; i < count && !node->dead; i++) {
		struct cable *cable = world->cable[(from + i) % count];
		bool waits = cable->acceptor == node && cable->accept_ns <= world->now_ns;

		if (waits && !cable->end[1].node)
			events += accept_one(node, cable);
		for (int end = 0; end < 2; end++)
			if (cable->end[end].node == node && serve_end(&cable->end[end]))
				events++;
	}
	world->moves += (uint64_t)events;
	return events;
}

static void lines_look(void *link, bool on)
{
	struct node *node = link;
	uint64_t number;

	in_role(node, "look");
	node->looks = on;
	for (uint32_t i = 0; !on && i < node->world->cables; i++) {
		for (int end = 0; end < 2; end++) {
			struct line *line = &node->world->cable[i]->end[end];

			if (line->node == node && !line->closed && line->conn && lines_noted(line, &number))
				conn_ack_stored(line->conn, number);
		}
	}
}

static void lines_random(void *link, void *bytes, size_t length)
{
	struct node *node = link;

	rnd_fill(&node->world->rnd, bytes, length);
}

static void lines_log(void *link, int level, const char *text)
{
	struct node *node = link;

	if (getenv("SIM_TRACE"))
		fprintf(stderr, "%12llu node %d log %d: %s\n", (unsigned long long)node->world->now_ns, node->id, level, text);
	if (level == NIC_LOG_DEBUG) {
		snprintf(node->debug, sizeof(node->debug), "%s", text);
		node->debugs++;
	}
	if (level == NIC_LOG_INFO)
		snprintf(node->info, sizeof(node->info), "%s", text);
	if (level != NIC_LOG_WARN)
		return;
	snprintf(node->log[node->warns++ % NODE_LOG_LINES], sizeof(node->log[0]), "%s", text);
}

static size_t lines_at_once(const struct line *line)
{
	return line->node->digested;
}

const struct link_ops lines_ops = {
	.dial = lines_dial,
	.send = lines_send,
	.recv = lines_recv,
	.at_once = lines_at_once,
	.want_write = lines_want_write,
	.set_readable = lines_hear,
	.store_ack = lines_note,
	.stored_ack = lines_noted,
	.note_executed = lines_note_executed,
	.peer_executed = lines_peer_executed,
	.set_polling = lines_look,
	.close = lines_close,
	.listen = lines_listen,
	.unlisten = lines_unlisten,
	.bind = ports_bind,
	.unbind = ports_unbind,
	.send_datagram = ports_emit,
	.recv_datagram = ports_take,
	.poll = lines_poll,
	.random = lines_random,
	.log = lines_log,
};

/* Bytes to a raw end need time, too; but when they are there, no node has to act. */
static uint64_t raw_next_ns(struct line *line)
{
	const struct world *world = line->cable->world;
	uint64_t next = pipe_next_ns(&line->cable->pipe[1]);

	if (line->cable->broken && line->down_ns > world->now_ns && line->down_ns < next)
		next = line->down_ns;
	return next > world->now_ns ? next : UINT64_MAX;
}

/* When this end has something to do; dead and sleeping ones never have. */
static uint64_t end_next_ns(struct line *line)
{
	if (!line->node && line->up && !line->closed)
		return raw_next_ns(line);
	if (!line->node || !line->conn || line->closed || line->told || line->node->dead)
		return UINT64_MAX;
	if (!line->up)
		return line->cable->answer_ns;
	return line_next_ns(line);
}

uint64_t lines_next_ns(const struct world *world)
{
	uint64_t next = ports_next_ns(world);

	for (uint32_t i = 0; i < world->cables; i++) {
		struct cable *cable = world->cable[i];

		if (cable->acceptor && !cable->acceptor->dead && !cable->end[1].node && cable->accept_ns < next)
			next = cable->accept_ns;
		for (int end = 0; end < 2; end++) {
			uint64_t at = end_next_ns(&cable->end[end]);

			next = at < next ? at : next;
		}
	}
	return next;
}

void lines_kill(struct node *node)
{
	struct world *world = node->world;

	ports_kill(node);
	for (int i = 0; i < world->listeners; i++)
		if (world->listener[i].node == node)
			world->listener[i].node = NULL;
	for (uint32_t i = 0; i < world->cables; i++) {
		struct cable *cable = world->cable[i];

		if (cable->acceptor == node && !cable->end[1].node) {
			cable->end[1].node = node;
			line_close(&cable->end[1]);
		}
		for (int end = 0; end < 2; end++)
			if (cable->end[end].node == node && !cable->end[end].closed)
				line_kill(&cable->end[end]);
	}
}

void lines_sweep(struct world *world)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < world->cables; i++) {
		struct cable *cable = world->cable[i];

		if (cable->end[0].closed && (cable->end[1].closed || (!cable->answered && !cable->end[1].node)))
			cable_free(cable);
		else
			world->cable[kept++] = cable;
	}
	world->cables = kept;
}

int lines_open(const struct node *node)
{
	int open = 0;

	for (uint32_t i = 0; i < node->world->cables; i++)
		for (int end = 0; end < 2; end++) {
			const struct line *line = &node->world->cable[i]->end[end];

			open += line->node == node && !line->closed;
		}
	return open;
}

uint64_t lines_in_flight(const struct world *world)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < world->cables; i++)
		for (int dir = 0; dir < 2; dir++) {
			const struct pipe *pipe = &world->cable[i]->pipe[dir];
			const struct line *to = &world->cable[i]->end[!dir];

			if (!world->cable[i]->broken && !to->closed && (!to->node || !to->node->dead))
				bytes += pipe->sent - pipe->received;
		}
	return bytes;
}

void lines_free(struct world *world)
{
	for (uint32_t i = 0; i < world->cables; i++)
		cable_free(world->cable[i]);
	free(world->cable);
	ports_free(world);
}
