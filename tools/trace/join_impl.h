/* SPDX-License-Identifier: BSD-2-Clause */
/* join_impl.h - what the passes of trace_join() share. Until join_clocks() all times are of the clock of the process that noted
 * them. */
#ifndef EMU_TRACE_JOIN_IMPL_H
#define EMU_TRACE_JOIN_IMPL_H

#include <stdlib.h>

#include "tools/trace/trace_read.h"
#include "tools/trace/trace_memory.h"
#include "wire/codec.h"

/* One direction of a line, cut into frames. */
struct join_stream {
	bool synced;
	uint64_t next; /* offset that goes on */
	uint64_t frame_at;
	uint32_t have, want;        /* bytes of the frame under way, and how many make the next step */
	uint32_t kept, whole, tail; /* of the frame, once its head is known; bytes of its end that follow a gap */
	int64_t first_ns;
	uint8_t *bytes;
};

/* One end of a connection, as its process noted it. */
struct join_line {
	uint32_t process, number;
	uint32_t conn;
	uint8_t end; /* of the conn */
	bool known, late, dialled, greeted;
	uint64_t session, epoch;
	struct trace_address here, peer;
	int64_t opened_ns, closed_ns;
	struct join_stream way[2];
};

struct join {
	struct trace *trace;
	struct ring_file *rings;
	uint32_t ring_count;
	struct join_line *lines;
	uint32_t line_count, line_room;
	struct trace_index line_index, endpoint_index, conn_index, seq_index, region_index;
	uint32_t endpoint_room, conn_room, frame_room, op_room, region_room, access_room, refusal_room, log_room;
};

struct join_line *join_line(struct join *join, uint32_t process, uint32_t number);
/* The process's endpoint at that address, which may be none that is known (family 0): of those it has one. */
uint32_t join_endpoint(struct join *join, uint32_t process, const struct trace_address *address, int64_t at_ns);
const char *join_address(const struct trace_address *address);
/* Is it a time? Sets *at to the earlier, or later, one. */
void time_first(int64_t *at, int64_t other);
void time_last(int64_t *at, int64_t other);

void join_bytes(struct join *join, struct join_line *line, const struct trace_bytes *bytes, int64_t at_ns);
void join_datagram(struct join *join, uint32_t process, const struct trace_datagram *datagram, int64_t at_ns);
void join_conns(struct join *join);
void join_frames(struct join *join);
void join_clocks(struct join *join);
void join_regions(struct join *join);
void join_ops(struct join *join);
void join_accesses(struct join *join);

/* Of the initiator, by address: a session's requests have their numbers, whatever connection they come by. */
uint64_t op_key(uint64_t session, const char *initiator, uint64_t seq);

/* --- what join_ops.c (frames) and join_records.c (the initiators' own records) share. --- */

/* An op that waits for its acknowledgement, or whose verdict has to come first. */
struct op_waits {
	uint32_t op;
	bool by_ack;
};

/* All requests of one initiator in a session, in their order. */
struct op_flow {
	struct op_waits *waits;
	uint32_t first, count, room;
	uint32_t writing; /* the op whose segments are under way; TRACE_NONE: none */
};

struct ops {
	struct join *join;
	struct op_flow *flows;
	uint32_t flow_count, flow_room;
	struct trace_index flow_index, lone, sessions;
};

uint32_t ops_find(const struct ops *ops, uint64_t key);
uint32_t ops_find_lone(const struct ops *ops, uint32_t process, uint64_t seq, unsigned kind, uint64_t length);
struct trace_op *ops_add(struct ops *ops);
void ops_name(struct ops *ops, uint32_t number, uint64_t key);

/* By the frame that said so. */
void ops_refused(struct ops *ops, uint32_t op, const struct trace_frame *frame, uint32_t cause);
/* Takes the initiators' records. */
void ops_records(struct ops *ops);
/* Ops whose refusal has its report now need none by the frame. */
void ops_refusals_end(struct ops *ops);

#endif
