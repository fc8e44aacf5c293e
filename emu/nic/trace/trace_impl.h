/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_impl.h - inside the trace: its records (trace_ring.c), the bytes that pass the link (trace_walk.c, trace_link.c), on and
 * off (trace.c). Thread: holder of the driver role. */
#ifndef EMU_NIC_TRACE_IMPL_H
#define EMU_NIC_TRACE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "emu/nic/base/clock.h"
#include "emu/nic/base/hash.h"
#include "emu/nic/device/link.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/trace/trace_format.h"

struct sockaddr_storage;
struct wire_head;

/* --- records into a ring file's memory, trace_format.h (trace_ring.c) ---
 * The trace's. One writer at a time. Nothing fails; old records are overwritten. */

struct trace_part {
	uint8_t *block; /* under way */
	uint32_t used;
	uint32_t first, count, index; /* blocks of this part; the one under way */
	uint64_t number;
};

struct trace_ring {
	struct trace_head *head; /* the file's memory; NULL: no ring */
	struct nic_clock clock;
	struct trace_part hot, cold;
};

/* The time of a record. */
static inline uint64_t trace_ticks(const struct trace_ring *ring)
{
#if defined(__x86_64__)
	(void)ring;
	return __builtin_ia32_rdtsc();
#else
	return clock_now(&ring->clock);
#endif
}

/* Begins a file of TRACE_HEAD + blocks * TRACE_BLOCK zero bytes at `memory`; the caller has filled in words of head (host, boot,
 * program, release), and in real_ns by how much CLOCK_REALTIME is ahead of the clock. Looks at the clock for 200 us. */
void trace_ring_open(struct trace_ring *ring, void *memory, uint32_t blocks, uint32_t pid, const struct nic_clock *clock);
/* Says in the head that the process closed it; the memory is the caller's again. */
void trace_ring_close(struct trace_ring *ring);

void trace_part_turn(struct trace_ring *ring, struct trace_part *part) __attribute__((noinline, cold));

/* Room for a record of `bytes` (at most TRACE_RECORD_MAX), whose head is filled in; trace_part_end() follows. */
static inline void *trace_part_begin(struct trace_ring *ring, struct trace_part *part, uint16_t type, uint32_t bytes,
				     uint64_t ticks)
{
	uint32_t whole = (bytes + 7) & ~(uint32_t)7;
	struct trace_record *record;

	if (whole > TRACE_BLOCK - part->used)
		trace_part_turn(ring, part);
	record = (struct trace_record *)(void *)(part->block + part->used);
	*record = (struct trace_record){ .type = type, .bytes = whole, .ticks = ticks };
	return record;
}

static inline void trace_part_end(struct trace_part *part, const void *record)
{
	part->used += ((const struct trace_record *)record)->bytes;
	/* After the record: the file may be read while it is written. */
	__atomic_store_n(&((struct trace_block *)(void *)part->block)->used, part->used, __ATOMIC_RELEASE);
}

/* --- one direction of a connection's stream: what of its bytes is captured, and where frames begin (trace_walk.c) ---
 * It sees bytes that were sent or received, whatever they are: a peer may send anything, and memory that was lent may have gone
 * since (guard.h). */

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

/* --- the trace (trace.c, trace_link.c) --- */

enum { TRACE_NEAR = 64 };

/* A line that has been seen. */
struct trace_track {
	struct hash_node node;
	struct trace_track *next, *prev; /* trace->tracks */
	const struct line *line;
	uint32_t number;
	struct trace_walk way[2]; /* enum trace_way */
};

struct tracer {
	struct nic *nic;
	struct link_ops under; /* the nic's own */
	struct trace_ring ring;
	void (*say)(const char *line);
	struct hash lines;
	struct trace_track *tracks;
	struct trace_track *near[TRACE_NEAR]; /* lines asked for lately, by a few bits of the hash; NULL: none */
	uint32_t line_count;
	bool late;        /* lines that are met first may be in the middle of a frame */
	uint64_t said_ns; /* text: time of its beginning */
};

extern struct tracer *trace_running; /* NULL: none */

/* NULL: no memory; its bytes are not traced then. */
struct trace_track *trace_track(struct tracer *trace, const struct line *line);
/* The number of a line's, 0: none. */
uint32_t trace_line_number(struct tracer *trace, const struct line *line);
void trace_untrack(struct tracer *trace, const struct line *line);
void trace_put_address(const struct sockaddr_storage *from, struct trace_address *to);

/* The table in the place of trace->under. */
void trace_link_over(const struct tracer *trace, struct link_ops *link);

#endif
