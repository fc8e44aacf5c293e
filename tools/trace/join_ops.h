/* SPDX-License-Identifier: BSD-2-Clause */
/* join_ops.h - what join_ops.c (frames) and join_records.c (the initiators' own records) share. */
#ifndef EMU_TRACE_JOIN_OPS_H
#define EMU_TRACE_JOIN_OPS_H

#include <stdlib.h>

#include "tools/trace/join_impl.h"

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
