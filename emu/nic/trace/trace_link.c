/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_link.c - link operations that note what passes: struct link_ops over the nic's own. */
#include <stdio.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/trace/trace_impl.h"
#include "emu/nic/transport/conn.h"
#include "wire/frame_text.h"

struct passing {
	struct tracer *trace;
	const struct trace_track *track;
	uint32_t way;
	uint64_t ticks;
};

static void note_run(void *arg, uint64_t at, const uint8_t *bytes, uint32_t length, uint32_t head_at)
{
	const struct passing *p = arg;
	struct trace_ring *ring = &p->trace->ring;
	struct trace_bytes *note = trace_part_begin(ring, &ring->hot, TRACE_REC_BYTES, sizeof(*note) + length, p->ticks);

	note->line = p->track->number;
	note->way = p->way;
	note->at = at;
	note->length = length;
	note->head_at = head_at;
	if (likely(!head_at)) /* heads are never in a program's memory, nor is what lies in one piece behind them */
		memcpy(note + 1, bytes, length);
	else if (!guard_copy(note + 1, bytes, length))
		memset(note + 1, 0, length);
	trace_part_end(&ring->hot, note);
}

/* "+0.000123 192.0.2.1:4711 -> WRITE ...": the peer, and the frame's way. */
static void tell_line(const struct tracer *trace, const char *peer, uint32_t way, const char *what)
{
	uint64_t ns = clock_now(&trace->nic->clock) - trace->said_ns;
	char line[WIRE_LINE_MAX + 128];

	snprintf(line, sizeof(line), "%5llu.%06llu %s %s %s\n", (unsigned long long)(ns / 1000000000),
		 (unsigned long long)(ns % 1000000000 / 1000), way == TRACE_SENT ? "to" : "from", peer, what);
	trace->say(line);
}

static void tell_frame(void *arg, const struct wire_head *head)
{
	const struct passing *p = arg;
	char text[WIRE_LINE_MAX], name[64] = "a peer";

	for (const struct conn *conn = p->trace->nic->conns; conn; conn = conn->next) {
		if (conn->line == p->track->line) {
			conn_name(conn, name, sizeof(name));
			break;
		}
	}
	wire_text(text, sizeof(text), head);
	tell_line(p->trace, name, p->way, text);
}

static void pass(const struct line *line, uint32_t way, const struct iovec *iov, int count, size_t length, uint64_t ticks)
{
	struct tracer *trace = trace_running;
	struct passing p = { .trace = trace, .way = way, .ticks = ticks };
	struct trace_sink sink = { .arg = &p };
	struct trace_track *track = trace_track(trace, line);

	if (!track)
		return;
	p.track = track;
	if (trace->ring.head)
		sink.run = note_run;
	else
		sink.frame = tell_frame;
	trace_walk(&track->way[way], iov, count, length, &sink);
}

static ssize_t traced_send(struct line *line, const struct iovec *iov, int count)
{
	uint64_t ticks = trace_ticks(&trace_running->ring); /* before any end can have received it */
	ssize_t sent = trace_running->under.send(line, iov, count);

	if (sent > 0)
		pass(line, TRACE_SENT, iov, count, (size_t)sent, ticks);
	return sent;
}

static ssize_t traced_recv(struct line *line, const struct iovec *iov, int count)
{
	ssize_t got = trace_running->under.recv(line, iov, count);

	if (got > 0)
		pass(line, TRACE_RECEIVED, iov, count, (size_t)got, trace_ticks(&trace_running->ring));
	return got;
}

static bool traced_store_ack(struct line *line, uint64_t number)
{
	struct tracer *trace = trace_running;
	struct trace_ring *ring = &trace->ring;
	struct trace_stored *note;
	char text[64];

	if (!trace->under.store_ack(line, number))
		return false;
	if (!ring->head) {
		snprintf(text, sizeof(text), "acknowledgement stored: %llu", (unsigned long long)number);
		tell_line(trace, "a neighbour", TRACE_SENT, text);
		return true;
	}
	note = trace_part_begin(ring, &ring->hot, TRACE_REC_STORED, sizeof(*note), trace_ticks(ring));
	note->line = trace_line_number(trace, line);
	note->way = TRACE_SENT;
	note->number = number;
	trace_part_end(&ring->hot, note);
	return true;
}

static void traced_close(struct line *line)
{
	struct tracer *trace = trace_running;

	trace_untrack(trace, line);
	trace->under.close(line);
}

static const struct ep *port_endpoint(const struct port *port)
{
	for (const struct ep *ep = trace_running->nic->eps; ep; ep = ep->next)
		if (ep->dgram.port == port || ep->dgram.groups[0] == port || ep->dgram.groups[1] == port)
			return ep;
	return NULL;
}

/* peer: NULL: it is not known. */
static void pass_datagram(const struct port *port, enum trace_way way, const struct sockaddr_storage *peer, const void *bytes,
			  size_t whole, size_t here)
{
	struct tracer *trace = trace_running;
	struct trace_ring *ring = &trace->ring;
	const struct ep *ep = port_endpoint(port);
	uint32_t kept = here < 2 * TRACE_PAYLOAD ? (uint32_t)here : 2 * TRACE_PAYLOAD;
	struct trace_datagram *note;
	char text[64], name[64] = "a peer";

	if (!ring->head) {
		snprintf(text, sizeof(text), "DATAGRAM of %zu bytes", whole);
		tell_line(trace, peer ? address_text(peer, name, sizeof(name)) : name, way, text);
		return;
	}
	note = trace_part_begin(ring, &ring->hot, TRACE_REC_DATAGRAM, sizeof(*note) + kept, trace_ticks(ring));
	note->port = 0;
	note->way = way;
	note->here = note->peer = (struct trace_address){ 0 };
	if (ep)
		trace_put_address(&ep->name, &note->here);
	if (peer)
		trace_put_address(peer, &note->peer);
	note->whole = (uint32_t)whole;
	note->length = kept;
	if (!guard_copy(note + 1, bytes, kept))
		memset(note + 1, 0, kept);
	trace_part_end(&ring->hot, note);
}

static int traced_send_datagram(struct port *port, const struct sockaddr_storage *to, const void *bytes, size_t length)
{
	int err = trace_running->under.send_datagram(port, to, bytes, length);

	if (!err)
		pass_datagram(port, TRACE_SENT, to, bytes, length, length);
	return err;
}

static ssize_t traced_recv_datagram(struct port *port, void *bytes, size_t room, struct sockaddr_storage *from)
{
	ssize_t got = trace_running->under.recv_datagram(port, bytes, room, from);

	if (got > 0)
		pass_datagram(port, TRACE_RECEIVED, from, bytes, (size_t)got, (size_t)got < room ? (size_t)got : room);
	return got;
}

static void traced_log(void *link, int level, const char *text)
{
	struct tracer *trace = trace_running;
	struct trace_ring *ring = &trace->ring;
	size_t length = strnlen(text, LIMIT_ERROR_TEXT + 128);
	struct trace_line *note;

	trace->under.log(link, level, text);
	if (!ring->head)
		return;
	note = trace_part_begin(ring, &ring->cold, TRACE_REC_LOG, (uint32_t)(sizeof(*note) + length), trace_ticks(ring));
	note->level = (uint32_t)level;
	note->text = (uint32_t)length;
	memcpy(note + 1, text, length);
	trace_part_end(&ring->cold, note);
}

void trace_link_over(const struct tracer *trace, struct link_ops *link)
{
	*link = trace->under;
	link->send = traced_send;
	link->recv = traced_recv;
	link->store_ack = traced_store_ack;
	link->close = traced_close;
	link->send_datagram = traced_send_datagram;
	link->recv_datagram = traced_recv_datagram;
	link->log = traced_log;
}
