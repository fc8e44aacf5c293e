/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.c - a trace switched on and off, and events of the device in it. */
#include "emu/nic/trace/trace.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/trace/trace_impl.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/fault_swap.h"
#include "emu/nic/transport/transport_calls.h"

enum { LINE_BUCKETS = 64 };

struct tracer *trace_running;

/* --- lines --- */

static uint64_t line_hash(const struct line *line)
{
	return (uint64_t)(uintptr_t)line * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

static struct trace_track *track_find(const struct tracer *trace, const struct line *line)
{
	for (struct hash_node *node = hash_first(&trace->lines, line_hash(line)); node; node = hash_next(node)) {
		struct trace_track *track = (struct trace_track *)((char *)node - offsetof(struct trace_track, node));

		if (track->line == line)
			return track;
	}
	return NULL;
}

static __attribute__((noinline)) struct trace_track *track_other(struct tracer *trace, const struct line *line)
{
	struct trace_track *track = track_find(trace, line);

	if (!track) {
		track = calloc(1, sizeof(*track));
		if (!track)
			return NULL;
		track->line = line;
		track->number = ++trace->line_count;
		track->way[TRACE_SENT].lost = track->way[TRACE_RECEIVED].lost = trace->late;
		hash_add(&trace->lines, &track->node, line_hash(line));
		track->next = trace->tracks;
		if (track->next)
			track->next->prev = track;
		trace->tracks = track;
	}
	trace->near[line_hash(line) % TRACE_NEAR] = track;
	return track;
}

struct trace_track *trace_track(struct tracer *trace, const struct line *line)
{
	struct trace_track *track = trace->near[line_hash(line) % TRACE_NEAR];

	return likely(track && track->line == line) ? track : track_other(trace, line);
}

uint32_t trace_line_number(struct tracer *trace, const struct line *line)
{
	const struct trace_track *track = line ? trace_track(trace, line) : NULL;

	return track ? track->number : 0;
}

/* It is found by its line no more. */
static void track_unhash(struct tracer *trace, struct trace_track *track)
{
	struct trace_track **near = &trace->near[line_hash(track->line) % TRACE_NEAR];

	if (*near == track)
		*near = NULL;
	hash_remove(&trace->lines, &track->node);
}

void trace_moved(const struct conn *conn, const struct line *to)
{
	struct tracer *trace = conn->nic->trace;
	struct trace_track *track = track_find(trace, conn->line);

	nic_role(conn->nic);
	if (!track)
		return;
	track_unhash(trace, track);
	track->line = to;
	hash_add(&trace->lines, &track->node, line_hash(to));
}

void trace_untrack(struct tracer *trace, const struct line *line)
{
	struct trace_track *track = track_find(trace, line);

	if (!track)
		return;
	track_unhash(trace, track);
	*(track->prev ? &track->prev->next : &trace->tracks) = track->next;
	if (track->next)
		track->next->prev = track->prev;
	free(track);
}

/* --- on and off --- */

static void watch_sessions(const struct nic *nic, struct fault_peer *from, struct fault_peer *to)
{
	for (struct ep *ep = nic->eps; ep; ep = ep->next) {
		if (ep->attr.xrc) /* it goes this way always */
			continue;
		for (struct session *session = ep->sessions; session; session = session->next)
			if (session->fault == from)
				session->fault = to;
		if (ep->self && ep->self->fault == from)
			ep->self->fault = to;
	}
}

int nic_trace_on(struct nic *nic, const struct trace_config *config)
{
	struct tracer *trace;
	int err;

	nic_role(nic);
	if (trace_running)
		return -EBUSY;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	err = hash_init(&trace->lines, LINE_BUCKETS);
	if (err) {
		free(trace);
		return err;
	}
	trace->nic = nic;
	trace->under = nic->link;
	trace->say = config->say;
	trace->said_ns = clock_now(&nic->clock);
	if (config->memory)
		trace_ring_open(&trace->ring, config->memory, config->blocks, config->pid, &nic->clock);
	trace_running = trace;
	nic->trace = trace;
	trace_link_over(trace, &nic->link);
	if (!fault_plan_of(nic))
		watch_sessions(nic, NULL, &fault_watching);
	trace->late = true;
	for (const struct conn *conn = nic->conns; conn; conn = conn->next)
		if (conn->state == CONN_OPEN && conn->session)
			trace_opened(conn);
	trace->late = false;
	return 0;
}

void nic_trace_off(struct nic *nic)
{
	struct tracer *trace = nic->trace;
	struct trace_track *track;

	nic_role(nic);
	if (!trace)
		return;
	nic->link = trace->under;
	nic->trace = NULL;
	trace_running = NULL;
	if (!nic->config.reports && !nic->config.races)
		watch_sessions(nic, &fault_watching, NULL);
	trace_ring_close(&trace->ring);
	while ((track = trace->tracks)) {
		trace->tracks = track->next;
		free(track);
	}
	hash_fini(&trace->lines);
	free(trace);
}

struct link_ops *trace_beneath(struct nic *nic)
{
	return nic->trace ? &nic->trace->under : &nic->link;
}

bool nic_is_traced(const struct nic *nic)
{
	nic_role(nic);
	return nic->trace;
}

void trace_forked(void)
{
	trace_running = NULL;
}

/* --- events --- */

void trace_put_address(const struct sockaddr_storage *from, struct trace_address *to)
{
	struct wire_address_fields fields;
	uint32_t qpn = address_qpn(from);

	address_put(from, &fields);
	*to = (struct trace_address){ .family = (uint8_t)fields.family, .port = fields.port, .scope = fields.scope };
	memcpy(to->addr, fields.addr, sizeof(to->addr));
	if (qpn) {
		to->family |= TRACE_PAIR;
		to->index = (uint8_t)qpn;
	}
}

/* Room in the ring of rare events; NULL: there is none. */
static void *note_begin(struct tracer *trace, uint16_t type, size_t bytes)
{
	return trace->ring.head
		       ? trace_part_begin(&trace->ring, &trace->ring.cold, type, (uint32_t)bytes, trace_ticks(&trace->ring))
		       : NULL;
}

static void trace_conn(const struct conn *conn, enum trace_conn_event event)
{
	struct tracer *trace = conn->nic->trace;
	const struct session *session = conn->session;
	struct trace_conn_state *note;

	nic_role(conn->nic);
	if (!conn->line || !session)
		return;
	note = note_begin(trace, TRACE_REC_CONN, sizeof(*note));
	if (!note)
		return;
	note->line = trace_line_number(trace, conn->line);
	note->event = (uint8_t)event;
	note->dialled = conn->dialled;
	note->late = trace->late;
	note->zero = 0;
	note->session = session->id;
	note->epoch = session->epoch;
	trace_put_address(&conn->ep->name, &note->here);
	trace_put_address(&session->peer, &note->peer);
	trace_part_end(&trace->ring.cold, note);
}

void trace_opened(const struct conn *conn)
{
	trace_conn(conn, TRACE_CONN_OPEN);
}

void trace_closed(const struct conn *conn)
{
	trace_conn(conn, TRACE_CONN_CLOSED);
}

void trace_region(const struct nic *nic, const struct mr *mr, enum trace_region_event event)
{
	struct tracer *trace = nic->trace;
	struct trace_region_state *note;

	nic_role(nic);
	note = note_begin(trace, TRACE_REC_REGION, sizeof(*note));
	if (!note)
		return;
	note->event = event;
	note->rights = mr->access;
	note->id = mr->id;
	note->key = mr->key;
	note->key_tail = mr->key_tail;
	note->addr = mr->virtual_addr ? (uintptr_t)mr_segments(mr)->iov_base + mr->shift : 0;
	note->length = mr->length;
	trace_part_end(&trace->ring.cold, note);
}

void trace_posted(struct op *op)
{
	op->posted_ticks = trace_ticks(&op->ep->nic->trace->ring);
}

void trace_ended(const struct op *op)
{
	struct tracer *trace = op->ep->nic->trace;
	const struct session *session = op->session;
	const struct refusal *why = &op->leader->why;
	struct trace_op_end *note;

	nic_role(op->ep->nic);
	if (!trace->ring.head)
		return;
	note = trace_part_begin(&trace->ring, &trace->ring.hot, TRACE_REC_OP, sizeof(*note), trace_ticks(&trace->ring));
	note->posted_ticks = op->posted_ticks;
	note->session = session->id;
	note->first_seq = op->first_seq;
	note->last_seq = op->last_seq;
	note->length = op->length;
	note->key = op->remote.key;
	note->key_tail = op->remote.key_tail;
	note->addr = op->remote.addr;
	note->tag = op->flags & POST_TAGGED ? op->tag : 0;
	note->line = session->conn ? trace_line_number(trace, session->conn->line) : 0;
	note->kind = (uint8_t)op->kind;
	note->flags = (uint8_t)((op->flags & POST_TAGGED ? TRACE_OP_TAGGED : 0) |
				(op->flags & POST_CQ_DATA ? TRACE_OP_CQ_DATA : 0) |
				(op->flags & POST_INJECT ? TRACE_OP_INJECT : 0));
	note->cause = why->key == op->remote.key && why->addr == op->remote.addr ? (uint16_t)why->cause : 0;
	trace_part_end(&trace->ring.hot, note);
}

void trace_refused(const struct op *op)
{
	struct nic *nic = op->ep->nic;
	const struct refusal *why = &op->leader->why;
	struct trace_refused *note;
	char text[LIMIT_ERROR_TEXT], name[64];
	size_t length;

	nic_role(op->ep->nic);
	length = refusal_text(nic->config.front, why,
			      why->cause > REFUSAL_WIRE_MAX && op->session ? session_name(op->session, name, sizeof(name)) : NULL,
			      text, sizeof(text));
	note = note_begin(nic->trace, TRACE_REC_REFUSED, sizeof(*note) + length);
	if (!note)
		return;
	note->session = op->session ? op->session->id : 0;
	note->first_seq = op->first_seq;
	note->length = op->length;
	note->key = op->remote.key;
	note->addr = op->remote.addr;
	note->cause = why->cause;
	note->kind = (uint16_t)op->kind;
	note->text = (uint16_t)length;
	memcpy(note + 1, text, length);
	trace_part_end(&nic->trace->ring.cold, note);
}
