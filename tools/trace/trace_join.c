/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_join.c - the passes in their order; processes, lines, endpoints and connections. */
#include "tools/trace/trace_read.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/join_impl.h"

void time_first(int64_t *at, int64_t other)
{
	if (other != TRACE_NEVER && (*at == TRACE_NEVER || other < *at))
		*at = other;
}

void time_last(int64_t *at, int64_t other)
{
	if (other != TRACE_NEVER && (*at == TRACE_NEVER || other > *at))
		*at = other;
}

const char *trace_kind_name(enum trace_kind kind)
{
	static const char *const names[TRACE_KINDS] = { "send",    "write",  "read",   "atomic",
							"connect", "accept", "reject", "collective" };

	return kind < TRACE_KINDS ? names[kind] : "op";
}

int64_t trace_op_at(const struct trace_op *op)
{
	int64_t at = TRACE_NEVER;

	time_first(&at, op->posted_ns);
	time_first(&at, op->sent_ns);
	time_first(&at, op->received_ns);
	time_first(&at, op->answered_ns);
	time_first(&at, op->completed_ns);
	return at;
}

const char *join_address(const struct trace_address *address)
{
	unsigned int version = address->family & ~TRACE_PAIR, port = address->port;
	char text[INET6_ADDRSTRLEN];

	if ((version != 4 && version != 6) || !inet_ntop(version == 6 ? AF_INET6 : AF_INET, address->addr, text, sizeof(text)))
		return trace_words("?");
	if (address->family & TRACE_PAIR)
		return trace_words("%s QPN 0x%06x", text, port << 8 | address->index);
	if (version == 4)
		return trace_words("%s:%u", text, port);
	return address->scope ? trace_words("[%s%%%u]:%u", text, address->scope, port) : trace_words("[%s]:%u", text, port);
}

struct join_line *join_line(struct join *join, uint32_t process, uint32_t number)
{
	uint64_t key = mix(process, number);
	struct join_line *line;
	uint32_t at = index_find(&join->line_index, key);

	if (at)
		return &join->lines[index_value(&join->line_index, at)];
	line = trace_grow(&join->lines, &join->line_count, &join->line_room, sizeof(*line));
	index_add(&join->line_index, key, join->line_count - 1);
	line->process = process;
	line->number = number;
	line->conn = TRACE_NONE;
	line->opened_ns = line->closed_ns = TRACE_NEVER;
	return line;
}

uint32_t join_endpoint(struct join *join, uint32_t process, const struct trace_address *address, int64_t at_ns)
{
	struct trace *trace = join->trace;
	uint64_t key = mix_bytes(process, address, sizeof(*address));
	uint32_t at = index_find(&join->endpoint_index, key);
	struct trace_endpoint *ep;

	if (at) {
		time_first(&trace->endpoints[index_value(&join->endpoint_index, at)].opened_ns, at_ns);
		return index_value(&join->endpoint_index, at);
	}
	ep = trace_grow(&trace->endpoints, &trace->endpoint_count, &join->endpoint_room, sizeof(*ep));
	*ep = (struct trace_endpoint){
		.process = process,
		.number = trace->processes[process].endpoints++,
		.address = join_address(address),
		.opened_ns = at_ns,
		.closed_ns = TRACE_NEVER,
	};
	index_add(&join->endpoint_index, key, trace->endpoint_count - 1);
	return trace->endpoint_count - 1;
}

static void take_conn(struct join *join, uint32_t process, const struct trace_conn_state *state, int64_t at_ns)
{
	struct join_line *line = join_line(join, process, state->line);

	line->known = true;
	line->late |= state->late;
	line->dialled = state->dialled;
	line->session = state->session ? state->session : line->session;
	line->epoch = state->session ? state->epoch : line->epoch;
	line->here = state->here;
	line->peer = state->peer;
	if (state->event == TRACE_CONN_OPEN)
		time_first(&line->opened_ns, at_ns);
	else
		line->closed_ns = at_ns;
}

/* Ends by dialled or accepted; a connection that both traced is one. */
void join_conns(struct join *join)
{
	struct trace *trace = join->trace;

	for (uint32_t i = 0; i < join->line_count; i++) {
		struct join_line *line = &join->lines[i];
		uint64_t key = mix(line->session, line->epoch);
		uint32_t at = line->session ? index_find(&join->conn_index, key) : 0;
		struct trace_conn *conn = NULL;

		line->end = !line->dialled;
		for (; at; at = index_next(&join->conn_index, at)) {
			conn = &trace->conns[index_value(&join->conn_index, at)];
			if (conn->session == line->session && conn->epoch == line->epoch &&
			    conn->end[line->end].endpoint == TRACE_NONE)
				break;
		}
		if (!at) {
			conn = trace_grow(&trace->conns, &trace->conn_count, &join->conn_room, sizeof(*conn));
			conn->session = line->session;
			conn->epoch = line->epoch;
			for (int end = 0; end < 2; end++) {
				conn->end[end].endpoint = TRACE_NONE;
				conn->end[end].opened_ns = conn->end[end].closed_ns = TRACE_NEVER;
				conn->end[end].address = join_address(end == line->end ? &line->here : &line->peer);
			}
			index_add(&join->conn_index, key, trace->conn_count - 1);
		}
		line->conn = (uint32_t)(conn - trace->conns);
		conn->end[line->end].endpoint = join_endpoint(join, line->process, &line->here, line->opened_ns);
		conn->end[line->end].opened_ns = line->opened_ns;
		conn->end[line->end].closed_ns = line->closed_ns;
	}
}

static void add_log(struct join *join, uint32_t process, const struct trace_line *line, int64_t at_ns)
{
	struct trace *trace = join->trace;
	struct trace_log *log = trace_grow(&trace->logs, &trace->log_count, &join->log_room, sizeof(*log));

	*log = (struct trace_log){ .process = process,
				   .level = line->level < 2 ? (uint8_t)line->level : 2,
				   .text = trace_words("%.*s", (int)line->text, (const char *)(line + 1)),
				   .at_ns = at_ns };
}

static void take_events(struct join *join, uint32_t process)
{
	const struct ring_file *ring = &join->rings[process];

	for (uint32_t i = 0; i < ring->count; i++) {
		const struct trace_record *record = ring->events[i].record;
		int64_t at_ns = ring->events[i].at_ns;

		switch (record->type) {
		case TRACE_REC_CONN:
			take_conn(join, process, (const struct trace_conn_state *)record, at_ns);
			break;
		case TRACE_REC_BYTES: {
			const struct trace_bytes *bytes = (const struct trace_bytes *)record;

			join_bytes(join, join_line(join, process, bytes->line), bytes, at_ns);
			break;
		}
		case TRACE_REC_DATAGRAM:
			join_datagram(join, process, (const struct trace_datagram *)record, at_ns);
			break;
		case TRACE_REC_LOG:
			add_log(join, process, (const struct trace_line *)record, at_ns);
			break;
		default:
			break; /* join_ops(), join_regions() */
		}
	}
}

static void add_process(struct join *join, uint32_t index)
{
	const struct ring_file *ring = &join->rings[index];
	struct trace_process *process = &join->trace->processes[index];

	*process = (struct trace_process){
		.file = ring->path,
		.host = ring->head.host,
		.program = ring->head.program,
		.pid = ring->head.pid,
		.partial = ring->damaged || ring->lost,
		.killed = !ring->head.end_mono_ns,
		.lost = ring->lost,
		.note = ring->note,
		.first_ns = (int64_t)ring->head.mono_ns,
		.last_ns = ring->count ? ring->events[ring->count - 1].at_ns : (int64_t)ring->head.mono_ns,
	};
	if (!ring->damaged && ring->lost)
		process->note = trace_words("its first %llu blocks of events were overwritten", (unsigned long long)ring->lost);
}

void trace_join(struct trace *trace, struct ring_file *rings, uint32_t count)
{
	struct join join = { .trace = trace, .rings = rings, .ring_count = count };

	*trace = (struct trace){ .process_count = count };
	trace->processes = trace_alloc(count * sizeof(*trace->processes));
	for (uint32_t i = 0; i < count; i++) {
		add_process(&join, i);
		take_events(&join, i);
	}
	join_conns(&join);
	join_frames(&join);
	join_regions(&join);
	join_clocks(&join);
	join_ops(&join);
	join_accesses(&join);
	for (uint32_t i = 0; i < join.line_count; i++) {
		free(join.lines[i].way[0].bytes);
		free(join.lines[i].way[1].bytes);
	}
	free(join.lines);
	index_free(&join.line_index);
	index_free(&join.endpoint_index);
	index_free(&join.conn_index);
	index_free(&join.seq_index);
	index_free(&join.region_index);
}
