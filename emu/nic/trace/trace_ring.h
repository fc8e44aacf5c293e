/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_ring.h - writes records into a ring file's memory (trace_format.h).
 *
 * Owner: the trace. One writer at a time: the holder of the driver role. Nothing fails; old records are overwritten. */
#ifndef EMU_NIC_TRACE_RING_H
#define EMU_NIC_TRACE_RING_H

#include <stddef.h>

#include "emu/nic/base/clock.h"
#include "emu/nic/trace/trace_format.h"

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

#endif
