/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_impl.h - inside the trace: trace.c (on and off, events of the device), trace_link.c (bytes that pass the link).
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_TRACE_IMPL_H
#define EMU_NIC_TRACE_IMPL_H

#include "emu/nic/base/hash.h"
#include "emu/nic/device/link.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/trace/trace_ring.h"
#include "emu/nic/trace/trace_walk.h"

struct sockaddr_storage;

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
