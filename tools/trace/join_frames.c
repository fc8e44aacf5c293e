/* SPDX-License-Identifier: BSD-2-Clause */
/* join_frames.c - streams cut into frames, and each frame's two ends found. */
#include <stdlib.h>
#include <string.h>

#include "tools/trace/join_impl.h"

enum { STEP_HEAD = sizeof(struct wire_head), DATAGRAM_MAX = 2048 };

static void add_frame(struct join *join, uint32_t line, uint32_t way, const struct trace_frame *from)
{
	struct trace *trace = join->trace;
	struct trace_frame *frame = trace_grow(&trace->frames, &trace->frame_count, &join->frame_room, sizeof(*frame));
	uint8_t *bytes = trace_alloc(from->kept);

	*frame = *from;
	memcpy(bytes, from->bytes, from->kept);
	frame->bytes = bytes;
	frame->conn = line; /* until join_frames() */
	frame->from = (uint8_t)way;
	frame->of = TRACE_NONE;
	frame->peer = "";
}

/* Says what a connection is if no record of its opening is left, or none was written, as it never opened. */
static void hear_hello(struct join_line *line, uint32_t way, const struct wire_head *head)
{
	struct wire_hello_fields hello;
	struct trace_address *at = way == TRACE_SENT ? &line->here : &line->peer;

	if (line->known)
		return;
	wire_get_hello(head, &hello);
	line->dialled = line->greeted ? line->dialled : way == TRACE_SENT;
	line->greeted = true;
	line->session = hello.session;
	line->epoch = hello.epoch;
	*at = (struct trace_address){ .family = (uint8_t)hello.at.family, .port = hello.at.port, .scope = hello.at.scope };
	memcpy(at->addr, hello.at.addr, sizeof(at->addr));
	if (hello.version_min >= WIRE_VERSION_PAIRS) {
		at->family |= TRACE_PAIR;
		at->index = hello.index;
	}
}

static void stream_restart(struct join_stream *s)
{
	s->have = 0;
	s->tail = 0;
	s->want = STEP_HEAD;
}

/* The frame under way is whole. */
static void stream_emit(struct join *join, struct join_line *line, uint32_t way, int64_t at_ns)
{
	struct join_stream *s = &line->way[way];
	const struct wire_head *head = (const struct wire_head *)s->bytes;
	struct trace_frame frame = {
		.op = head->op,
		.flags = head->flags,
		.sent_ns = way == TRACE_SENT ? s->first_ns : TRACE_NEVER,
		.received_ns = way == TRACE_RECEIVED ? at_ns : TRACE_NEVER,
		.stream_at = s->frame_at,
		.length = s->whole,
		.kept = s->have,
		.bytes = s->bytes,
	};

	if (head->op == WIRE_HELLO && wire_check_body(head) == WIRE_FLAWLESS)
		hear_hello(line, way, head);
	add_frame(join, (uint32_t)(line - join->lines), way, &frame);
	stream_restart(s);
}

/* As many bytes as were wanted are there. Returns the bytes of the gap that follows, UINT32_MAX: this is no frame. */
static uint32_t stream_step(struct join_stream *s, uint32_t payload_kept)
{
	const struct wire_head *head = (const struct wire_head *)s->bytes;
	uint32_t payload = wire_get32(head->payload), body = (uint32_t)wire_body_len(head->op), kept;

	if (s->have == STEP_HEAD) {
		if (!body || payload > WIRE_SEGMENT_MAX)
			return UINT32_MAX;
		kept = payload < payload_kept ? payload : payload_kept;
		s->whole = STEP_HEAD + body + payload + (payload ? (uint32_t)sizeof(struct wire_trailer) : 0);
		s->kept = STEP_HEAD + body + kept;
		s->tail = payload ? sizeof(struct wire_trailer) : 0;
		if (kept == payload) {
			s->kept += s->tail;
			s->tail = 0;
		}
		s->want = s->kept;
		return 0;
	}
	return s->tail ? s->whole - s->kept - s->tail : 0;
}

void join_bytes(struct join *join, struct join_line *line, const struct trace_bytes *record, int64_t at_ns)
{
	const struct ring_file *ring = &join->rings[line->process];
	struct join_stream *s = &line->way[record->way];
	const uint8_t *bytes = (const uint8_t *)(record + 1);
	uint32_t at = 0, gap;

	if (!s->bytes)
		s->bytes = trace_alloc(WIRE_FRAME_MAX + ring->head.payload + sizeof(struct wire_trailer));
	if (!s->synced || record->at != s->next) {
		stream_restart(s);
		s->synced = record->head_at != TRACE_NO_HEAD;
		at = s->synced ? record->head_at : record->length;
	}
	s->next = record->at + record->length;
	while (at < record->length) {
		bool tail = s->have == s->want && s->tail;
		uint32_t left = tail ? s->tail : s->want - s->have, take = record->length - at < left ? record->length - at : left;

		if (!s->have) {
			s->frame_at = record->at + at;
			s->first_ns = at_ns;
		}
		if (!tail) {
			memcpy(s->bytes + s->have, bytes + at, take);
			s->have += take;
		} else {
			s->tail -= take;
		}
		at += take;
		if (take < left)
			break;
		if (tail || (s->have == s->kept && s->want == s->kept && !s->tail)) {
			stream_emit(join, line, record->way, at_ns);
			continue;
		}
		gap = stream_step(s, ring->head.payload);
		if (gap == UINT32_MAX || (gap && at < record->length)) {
			s->synced = false;
			return;
		}
		s->next += gap;
		if (!gap && s->have == s->kept && !s->tail)
			stream_emit(join, line, record->way, at_ns);
	}
}

/* A port is a connection of its own, and the datagram says what its other end is. */
static uint32_t port_conn(struct join *join, uint32_t process, const struct trace_address *here, int64_t at_ns)
{
	struct trace *trace = join->trace;
	uint64_t key = mix(mix_bytes(process, here, sizeof(*here)), 1);
	uint32_t at = index_find(&join->conn_index, key);
	struct trace_conn *conn;

	if (at)
		return index_value(&join->conn_index, at);
	conn = trace_grow(&trace->conns, &trace->conn_count, &join->conn_room, sizeof(*conn));
	conn->datagrams = true;
	conn->end[0].endpoint = join_endpoint(join, process, here, at_ns);
	conn->end[1].endpoint = TRACE_NONE;
	conn->end[0].address = join_address(here);
	conn->end[1].address = "?";
	conn->end[0].opened_ns = at_ns;
	conn->end[0].closed_ns = conn->end[1].opened_ns = conn->end[1].closed_ns = TRACE_NEVER;
	index_add(&join->conn_index, key, trace->conn_count - 1);
	return trace->conn_count - 1;
}

void join_datagram(struct join *join, uint32_t process, const struct trace_datagram *datagram, int64_t at_ns)
{
	const struct wire_datagram *head = (const struct wire_datagram *)(datagram + 1);
	bool sent = datagram->way == TRACE_SENT;
	struct trace_address peer = datagram->peer;
	struct trace_frame frame = {
		.sent_ns = sent ? at_ns : TRACE_NEVER,
		.received_ns = sent ? TRACE_NEVER : at_ns,
		.length = datagram->whole,
		.kept = datagram->length,
		.bytes = (const uint8_t *)head,
	};

	if (!sent && datagram->length >= sizeof(*head) &&
	    !memcmp(head->magic, WIRE_DATAGRAM_MAGIC, sizeof(head->magic))) { /* it has its sender */
		peer = (struct trace_address){ .family = (uint8_t)wire_get16(head->family),
					       .port = wire_get16(head->port),
					       .scope = wire_get32(head->scope) };
		memcpy(peer.addr, head->addr, sizeof(peer.addr));
	}
	add_frame(join, TRACE_NONE, datagram->way, &frame);
	join->trace->frames[join->trace->frame_count - 1].conn = port_conn(join, process, &datagram->here, at_ns);
	join->trace->frames[join->trace->frame_count - 1].peer = join_address(&peer);
}

/* A frame's key among those of its connection and direction. Offsets tell; where one end's count from the middle, the bytes do. */
static uint64_t frame_key(const struct trace_frame *frame, bool by_bytes)
{
	uint64_t key = mix(frame->conn, frame->from);
	size_t length = sizeof(struct wire_head) + wire_body_len(frame->op);

	return by_bytes ? mix_bytes(key, frame->bytes, length) : mix(key, frame->stream_at);
}

static bool same_frame(const struct trace_frame *a, const struct trace_frame *b)
{
	size_t length = sizeof(struct wire_head) + wire_body_len(a->op);

	return a->conn == b->conn && a->from == b->from && a->op == b->op && a->length == b->length &&
	       a->received_ns == TRACE_NEVER && !memcmp(a->bytes, b->bytes, length);
}

/* The oldest frame sent that may be this one; 0: none. */
static uint32_t find_sent(const struct join *join, const struct trace_index *sent, uint64_t key, const struct trace_frame *frame)
{
	uint32_t found = 0;

	for (uint32_t at = index_find(sent, key); at; at = index_next(sent, at))
		if (same_frame(&join->trace->frames[index_value(sent, at)], frame))
			found = at;
	return found;
}

/* Gives each frame its connection, and makes one of the two that its ends noted. */
void join_frames(struct join *join)
{
	struct trace *trace = join->trace;
	struct trace_index sent = { .count = 0 };
	bool *late = trace_alloc(trace->conn_count + 1);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->line_count; i++)
		late[join->lines[i].conn] |= join->lines[i].late;
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		struct trace_frame *frame = &trace->frames[i];

		if (frame->op) {
			const struct join_line *line = &join->lines[frame->conn];

			frame->from = frame->from == TRACE_SENT ? line->end : !line->end;
			frame->conn = line->conn;
		}
		if (frame->op && frame->sent_ns != TRACE_NEVER)
			index_add(&sent, frame_key(frame, late[frame->conn]), i);
	}
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		struct trace_frame *frame = &trace->frames[i];
		uint32_t at = frame->op && frame->sent_ns == TRACE_NEVER
				      ? find_sent(join, &sent, frame_key(frame, late[frame->conn]), frame)
				      : 0;

		if (at) {
			trace->frames[index_value(&sent, at)].received_ns = frame->received_ns;
			frame->length = 0; /* it is that one */
		}
	}
	for (uint32_t i = 0; i < trace->frame_count; i++)
		if (trace->frames[i].length)
			trace->frames[kept++] = trace->frames[i];
	trace->frame_count = kept;
	index_free(&sent);
	free(late);
}
