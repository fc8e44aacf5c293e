/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_ring.c - blocks in turn. */
#include "emu/nic/trace/trace_impl.h"

#include <string.h>

#include "emu/nic/base/tsan.h"

enum { RATE_NS = 200000, COLD_SHARE = 8 };

/* Stores made before are seen before those made next. Only readers in other processes depend on it, of which the thread
 * sanitizer knows nothing; it does not know fences either. */
static void trace_fence(void)
{
#if !TSAN_BUILD
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

void trace_part_turn(struct trace_ring *ring, struct trace_part *part)
{
	struct trace_block *block;

	part->index = part->number ? (part->index + 1) % part->count : 0;
	part->block = (uint8_t *)ring->head + TRACE_HEAD + (size_t)(part->first + part->index) * TRACE_BLOCK;
	block = (struct trace_block *)(void *)part->block;
	__atomic_store_n(&block->number, 0, __ATOMIC_RELEASE);
	trace_fence(); /* the old records go */
	part->used = sizeof(*block);
	block->used = part->used;
	block->ticks = trace_ticks(ring);
	block->mono_ns = clock_now(&ring->clock);
	__atomic_store_n(&block->number, ++part->number, __ATOMIC_RELEASE);
}

void trace_ring_open(struct trace_ring *ring, void *memory, uint32_t blocks, uint32_t pid, const struct nic_clock *clock)
{
	struct trace_head *head = memory;
	uint32_t cold = blocks / COLD_SHARE;

	assert(blocks >= TRACE_BLOCKS_MIN && blocks <= TRACE_BLOCKS_MAX);
	*ring = (struct trace_ring){ .head = head, .clock = *clock };
	ring->cold = (struct trace_part){ .first = 0, .count = cold };
	ring->hot = (struct trace_part){ .first = cold, .count = blocks - cold };
	head->order = TRACE_ORDER;
	head->version = TRACE_VERSION;
	head->head_bytes = TRACE_HEAD;
	head->block_bytes = TRACE_BLOCK;
	head->blocks = blocks;
	head->cold_blocks = cold;
	head->pid = pid;
#if defined(__x86_64__)
	head->clock = TRACE_CLOCK_TSC;
#endif
	head->payload = TRACE_PAYLOAD;
	head->ticks = trace_ticks(ring);
	head->mono_ns = clock_now(&ring->clock);
	head->real_ns += head->mono_ns;
	do {
		head->rate_ns = clock_now(&ring->clock) - head->mono_ns;
	} while (head->rate_ns < RATE_NS);
	head->rate_ticks = trace_ticks(ring) - head->ticks;
	trace_part_turn(ring, &ring->cold);
	trace_part_turn(ring, &ring->hot);
	trace_fence();
	memcpy(head->magic, TRACE_MAGIC, sizeof(head->magic));
}

void trace_ring_close(struct trace_ring *ring)
{
	if (!ring->head)
		return;
	ring->head->end_ticks = trace_ticks(ring);
	__atomic_store_n(&ring->head->end_mono_ns, clock_now(&ring->clock), __ATOMIC_RELEASE);
	ring->head = NULL;
}
