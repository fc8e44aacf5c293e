/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_walk.h - follows one direction of a connection's stream: what of its bytes is captured, and where frames begin.
 *
 * Owner: the trace's line (trace.c). Thread: holder of the driver role. Sees bytes that were sent or received, whatever they are:
 * a peer may send anything, and memory that was lent may have gone since (guard.h). */
#ifndef EMU_NIC_TRACE_WALK_H
#define EMU_NIC_TRACE_WALK_H

#include <stdbool.h>
#include <sys/uio.h>

#include "emu/nic/trace/trace_format.h"

struct wire_head;

struct trace_walk {
	uint64_t at;        /* bytes so far */
	uint32_t keep_left; /* of the frame under way: to be captured, */
	uint32_t gap_left;  /* passed over, */
	uint32_t tail_left; /* and captured behind that */
	bool lost;          /* it is not known where a frame begins: until a run begins with a valid head */
	uint8_t have;       /* bytes kept of a head that is cut */
	uint8_t part[32 + 128];
};

/* Gets what is captured, in order: `bytes` at `at` of the stream, of which the first frame's head is at `head_at`. May touch the
 * bytes by guard_copy() alone. */
typedef void trace_run(void *arg, uint64_t at, const uint8_t *bytes, uint32_t length, uint32_t head_at);
/* Gets each head and body, whole. */
typedef void trace_frame(void *arg, const struct wire_head *head);

struct trace_sink {
	trace_run *run; /* one of the two is NULL */
	trace_frame *frame;
	void *arg;
};

/* The next `length` bytes of the stream, which lie in `iov`. */
void trace_walk(struct trace_walk *walk, const struct iovec *iov, int count, size_t length, const struct trace_sink *sink);

#endif
