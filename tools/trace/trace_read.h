/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_read.h - ring files, one by one and joined. */
#ifndef EMU_TRACE_READ_H
#define EMU_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/trace/trace_format.h"
#include "tools/trace/trace_model.h"

/* --- One ring file (trace_format.h), validated: nothing of it is trusted.
 *
 * Owner: the caller, from ring_read() to ring_free(). One thread. --- */

/* Latest time of a monotonic clock that is believed: 36 years of a machine that runs. So sums and differences of a few times, and
 * of what clocks differ by (RING_APART_NS), fit into an int64_t. */
#define RING_TIME_NS (INT64_C(1) << 60)
#define RING_APART_NS (INT64_C(1) << 61)

struct ring_event {
	const struct trace_record *record; /* all of its fields lie in the file, and the lengths in it are right */
	int64_t at_ns;                     /* as ring_ns() has it; not before the event in front of it */
};

struct ring_file {
	const char *path;
	struct trace_head head; /* a copy; its words end with a zero, and have printable characters alone */
	uint8_t *bytes;
	size_t size;
	struct ring_event *events; /* by time; each of the two rings in the order that they were written in */
	uint32_t count;
	uint64_t lost;  /* blocks that later ones have overwritten */
	bool damaged;   /* some of it cannot be read */
	char note[160]; /* how it is damaged, else "" */
	struct ring_sync *syncs;
	uint32_t sync_count;
};

/* 0; or -1: nothing of it is of use, and `note` says why. A file that is cut off, or has damaged blocks, is read as far
 * as it goes. */
int ring_read(struct ring_file *ring, const char *path);
void ring_free(struct ring_file *ring);
/* A record's ticks in ns of the writer's monotonic clock: from the ring's opening, which no record is before, to RING_TIME_NS. */
int64_t ring_ns(const struct ring_file *ring, uint64_t ticks);

/* --- rings of several processes to one trace. --- */

/* The trace refers to the rings; both stay until the process ends. */
void trace_join(struct trace *trace, struct ring_file *rings, uint32_t count);

#endif
