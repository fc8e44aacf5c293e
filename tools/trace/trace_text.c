/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_text.c - a trace as text: a line for each event, by time. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/trace_memory.h"
#include "tools/trace/trace_out.h"
#include "wire/codec.h"
#include "wire/frame_text.h"

enum event_kind {
	EVENT_FRAME_SENT,
	EVENT_FRAME_RECEIVED,
	EVENT_POSTED,
	EVENT_ENDED,
	EVENT_REFUSED,
	EVENT_OPENED,
	EVENT_CLOSED,
	EVENT_REGION,
	EVENT_REGION_CLOSED,
	EVENT_LOG
};

struct text_event {
	int64_t at_ns;
	uint32_t index;
	uint8_t kind, end;
};

struct events {
	struct text_event *array;
	uint32_t count, room;
};

static void event_add(struct events *events, int64_t at_ns, enum event_kind kind, uint32_t index, int end)
{
	if (at_ns == TRACE_NEVER)
		return;
	*(struct text_event *)trace_grow(&events->array, &events->count, &events->room,
					 sizeof(struct text_event)) = (struct text_event){ at_ns, index, (uint8_t)kind,
											   (uint8_t)end };
}

static int events_by_time(const void *a, const void *b)
{
	const struct text_event *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind - y->kind;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void events_gather(struct events *events, const struct trace *trace, const struct trace_filter *filter)
{
	for (uint32_t i = 0; i < trace->frame_count && !filter->ops; i++) {
		event_add(events, trace->frames[i].sent_ns, EVENT_FRAME_SENT, i, trace->frames[i].from);
		event_add(events, trace->frames[i].received_ns, EVENT_FRAME_RECEIVED, i,
			  trace->conns[trace->frames[i].conn].datagrams ? 0 : !trace->frames[i].from);
	}
	for (uint32_t i = 0; i < trace->op_count; i++) {
		event_add(events, trace->ops[i].posted_ns, EVENT_POSTED, i, 0);
		if (trace->ops[i].outcome != TRACE_OPEN)
			event_add(events, trace->ops[i].completed_ns, EVENT_ENDED, i, 0);
	}
	for (uint32_t i = 0; i < trace->refusal_count; i++)
		event_add(events, trace->refusals[i].at_ns, EVENT_REFUSED, i, 0);
	for (uint32_t i = 0; i < trace->conn_count; i++) {
		for (int end = 0; end < 2; end++) {
			event_add(events, trace->conns[i].end[end].opened_ns, EVENT_OPENED, i, end);
			event_add(events, trace->conns[i].end[end].closed_ns, EVENT_CLOSED, i, end);
		}
	}
	for (uint32_t i = 0; i < trace->region_count; i++) {
		event_add(events, trace->regions[i].opened_ns, EVENT_REGION, i, 0);
		event_add(events, trace->regions[i].closed_ns, EVENT_REGION_CLOSED, i, 0);
	}
	for (uint32_t i = 0; i < trace->log_count; i++)
		event_add(events, trace->logs[i].at_ns, EVENT_LOG, i, 0);
	trace_sort(events->array, events->count, sizeof(*events->array), events_by_time);
}

static uint32_t process_of(const struct trace *trace, uint32_t endpoint)
{
	return endpoint == TRACE_NONE ? TRACE_NONE : trace->endpoints[endpoint].process;
}

/* The op of an event, and the process it is of. */
static uint32_t event_op(const struct trace *trace, const struct text_event *event, uint32_t *process)
{
	const struct trace_conn *conn;

	switch ((enum event_kind)event->kind) {
	case EVENT_FRAME_SENT:
	case EVENT_FRAME_RECEIVED:
		conn = &trace->conns[trace->frames[event->index].conn];
		*process = process_of(trace, conn->end[conn->datagrams ? 0 : event->end].endpoint);
		return trace->frames[event->index].of;
	case EVENT_POSTED:
	case EVENT_ENDED:
		*process = process_of(trace, trace->ops[event->index].initiator);
		return event->index;
	case EVENT_REFUSED:
		*process = trace->refusals[event->index].process;
		return trace->refusals[event->index].op;
	case EVENT_OPENED:
	case EVENT_CLOSED:
		*process = process_of(trace, trace->conns[event->index].end[event->end].endpoint);
		return TRACE_NONE;
	case EVENT_REGION:
	case EVENT_REGION_CLOSED:
		*process = trace->regions[event->index].process;
		return TRACE_NONE;
	case EVENT_LOG:
		*process = trace->logs[event->index].process;
		return TRACE_NONE;
	}
	return TRACE_NONE;
}

static bool passes(const struct trace *trace, const struct trace_filter *filter, const struct text_event *event, uint32_t op,
		   uint32_t process)
{
	if (filter->pid && (process == TRACE_NONE || trace->processes[process].pid != filter->pid))
		return false;
	if (filter->kind >= 0 && (op == TRACE_NONE || trace->ops[op].kind != (enum trace_kind)filter->kind))
		return false;
	return !filter->refused || event->kind == EVENT_REFUSED || (op != TRACE_NONE && trace->ops[op].outcome == TRACE_REFUSED);
}

/* Only what a terminal shows as it is. */
static void put_clean(FILE *file, const char *text)
{
	for (; *text; text++)
		putc((unsigned char)*text >= ' ' && *text != 127 ? *text : '?', file);
}

static void put_op(const struct trace *trace, FILE *file, const struct trace_op *op)
{
	fprintf(file, "%s", trace_kind_name(op->kind));
	if (op->seq)
		fprintf(file, " %" PRIu64, op->seq);
	if (op->conn != TRACE_NONE && op->target == TRACE_NONE && op->initiator != TRACE_NONE)
		fprintf(file, " to %s",
			trace->conns[op->conn].end[trace->conns[op->conn].end[0].endpoint == op->initiator ? 1 : 0].address);
	else if (op->target != TRACE_NONE)
		fprintf(file, " to %s", trace->endpoints[op->target].address);
	fprintf(file, " length %" PRIu64, op->length);
	if (op->kind == TRACE_WRITE || op->kind == TRACE_READ || op->kind == TRACE_ATOMIC)
		fprintf(file, " key 0x%" PRIx64 " addr 0x%" PRIx64, op->key, op->addr);
	if (op->tagged)
		fprintf(file, " tag 0x%" PRIx64, op->tag);
}

static void text_frame(const struct trace *trace, FILE *file, const struct text_event *event)
{
	const struct trace_frame *frame = &trace->frames[event->index];
	const struct trace_conn *conn = &trace->conns[frame->conn];
	const struct wire_head *head = (const struct wire_head *)frame->bytes;
	size_t behind = sizeof(*head) + wire_body_len(frame->op);
	char text[WIRE_LINE_MAX];

	if (conn->datagrams) {
		wire_datagram_text(text, sizeof(text), frame->bytes, frame->kept, frame->length);
		fprintf(file, "%s %s: %s", event->kind == EVENT_FRAME_SENT ? "to" : "from", frame->peer, text);
		return;
	}
	wire_text(text, sizeof(text), head);
	fprintf(file, "%s %s: ", event->kind == EVENT_FRAME_SENT ? "to" : "from", conn->end[!event->end].address);
	put_clean(file, text);
	if (frame->kept > behind && wire_word_text(text, sizeof(text), head, frame->bytes + behind, frame->kept - behind))
		fprintf(file, ": %s", text);
}

static void text_region(FILE *file, const struct trace_region *region, const char *what)
{
	fprintf(file, "region %s: key 0x%" PRIx64 " addr 0x%" PRIx64 " length %" PRIu64 "%s%s", what, region->key, region->addr,
		region->length, region->rights & TRACE_REMOTE_READ ? ", remote read" : "",
		region->rights & TRACE_REMOTE_WRITE ? ", remote write" : "");
}

static void put_event(const struct trace *trace, FILE *file, const struct text_event *event)
{
	const struct trace_conn *conn;
	const struct trace_op *op;

	switch ((enum event_kind)event->kind) {
	case EVENT_FRAME_SENT:
	case EVENT_FRAME_RECEIVED:
		text_frame(trace, file, event);
		break;
	case EVENT_POSTED:
		fputs("posted: ", file);
		put_op(trace, file, &trace->ops[event->index]);
		break;
	case EVENT_ENDED:
		op = &trace->ops[event->index];
		fputs(op->outcome == TRACE_REFUSED ? "failed: " : "completed: ", file);
		put_op(trace, file, op);
		break;
	case EVENT_REFUSED:
		fprintf(file, "REFUSED (%s): ", trace->refusals[event->index].cause_name);
		put_clean(file, trace->refusals[event->index].text);
		break;
	case EVENT_OPENED:
	case EVENT_CLOSED:
		conn = &trace->conns[event->index];
		if (conn->datagrams)
			fprintf(file, "port %s", conn->end[0].address);
		else
			fprintf(file, "connection with %s %s, session 0x%" PRIx64 " epoch %" PRIu64, conn->end[!event->end].address,
				event->kind == EVENT_OPENED ? "open" : "closed", conn->session, conn->epoch);
		break;
	case EVENT_REGION:
		text_region(file, &trace->regions[event->index], "opened");
		break;
	case EVENT_REGION_CLOSED:
		text_region(file, &trace->regions[event->index], "closed");
		break;
	case EVENT_LOG:
		fprintf(file, "log (%s): ",
			trace->logs[event->index].level == 0   ? "warn"
			: trace->logs[event->index].level == 1 ? "info"
							       : "debug");
		put_clean(file, trace->logs[event->index].text);
		break;
	}
	putc('\n', file);
}

static void put_processes(const struct trace *trace, FILE *file)
{
	for (uint32_t i = 0; i < trace->process_count; i++) {
		const struct trace_process *process = &trace->processes[i];

		fprintf(file, "# process %u on %s: %s%s", process->pid, process->host, process->program,
			process->killed ? ", which has not closed its trace" : "");
		if (process->error_ns == TRACE_NEVER)
			fputs(", clock not compared", file);
		else if (process->error_ns)
			fprintf(file, ", clock within %" PRId64 " ns", process->error_ns);
		if (process->partial)
			fprintf(file, ", PARTIAL: %s", process->note);
		putc('\n', file);
	}
}

int lines_write(const struct trace *trace, FILE *file, const struct trace_filter *filter)
{
	struct events events = { .count = 0 };

	put_processes(trace, file);
	events_gather(&events, trace, filter);
	for (uint32_t i = 0; i < events.count; i++) {
		const struct text_event *event = &events.array[i];
		uint32_t process = TRACE_NONE, op = event_op(trace, event, &process);

		if (!passes(trace, filter, event, op, process))
			continue;
		fprintf(file, "%5" PRId64 ".%09" PRId64 " %u ", event->at_ns / 1000000000, event->at_ns % 1000000000,
			process == TRACE_NONE ? 0 : trace->processes[process].pid);
		put_event(trace, file, event);
	}
	free(events.array);
	return ferror(file) ? -1 : 0;
}
