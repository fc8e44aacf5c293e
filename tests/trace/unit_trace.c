/* SPDX-License-Identifier: BSD-2-Clause */
/* unit_trace.c - the ring of a trace, and what is captured of a stream. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/memory/guard.h"
#include "emu/nic/trace/trace_impl.h"
#include "wire/codec.h"

enum { BLOCKS = 16, RUNS = 64 };

static struct trace_ring ring;
static uint8_t *memory;

static uint64_t now_ns;

static uint64_t next_ns(void *arg)
{
	(void)arg;
	return now_ns += 1000;
}

static const struct nic_clock clock = { .now_ns = next_ns };

static void open_ring(void)
{
	memory = aligned_alloc(4096, TRACE_HEAD + BLOCKS * TRACE_BLOCK);
	cr_assert(memory);
	memset(memory, 0, TRACE_HEAD + BLOCKS * TRACE_BLOCK);
	trace_ring_open(&ring, memory, BLOCKS, 7, &clock);
}

static const struct trace_block *block_of(uint32_t index)
{
	return (const struct trace_block *)(memory + TRACE_HEAD + index * TRACE_BLOCK);
}

static void put_log(struct trace_part *part, uint32_t number)
{
	struct trace_line *note = trace_part_begin(&ring, part, TRACE_REC_LOG, 1000, trace_ticks(&ring));

	note->level = number;
	note->text = 1000 - sizeof(*note);
	memset(note + 1, 'x', note->text);
	trace_part_end(part, note);
}

Test(trace_ring, begins_with_a_head_that_says_what_it_is)
{
	const struct trace_head *head;

	open_ring();
	head = (const struct trace_head *)memory;
	cr_expect(!memcmp(head->magic, TRACE_MAGIC, 8));
	cr_expect_eq(head->order, TRACE_ORDER);
	cr_expect_eq(head->blocks, BLOCKS);
	cr_expect_eq(head->cold_blocks, 2);
	cr_expect_eq(head->end_mono_ns, 0);
	cr_expect_geq(head->rate_ns, 200000);
	trace_ring_close(&ring);
	cr_expect_neq(head->end_mono_ns, 0);
	free(memory);
}

Test(trace_ring, overwrites_the_oldest_block_and_keeps_each_part_to_itself)
{
	uint64_t most = 0, least = UINT64_MAX;
	uint32_t per_block = (TRACE_BLOCK - sizeof(struct trace_block)) / 1000;

	open_ring();
	put_log(&ring.cold, 4711);
	for (uint32_t i = 0; i < 3 * BLOCKS * per_block; i++)
		put_log(&ring.hot, i);
	for (uint32_t i = 2; i < BLOCKS; i++) {
		const struct trace_block *block = block_of(i);

		most = block->number > most ? block->number : most;
		least = block->number < least ? block->number : least;
		cr_expect_leq(block->used, TRACE_BLOCK);
	}
	cr_expect_eq(most, 3 * BLOCKS);
	cr_expect_eq(most - least, BLOCKS - 2 - 1, "the last ones, each once");
	cr_expect_eq(block_of(0)->number, 1);
	cr_expect_eq(block_of(0)->used, sizeof(struct trace_block) + 1000);
	cr_expect_eq(((const struct trace_line *)(block_of(0) + 1))->level, 4711);
	free(memory);
}

/* --- walks --- */

static struct run {
	uint64_t at;
	uint32_t length, head_at;
} runs[RUNS];
static uint32_t run_count, frame_count;
static uint8_t ops[RUNS];

static void note(void *arg, uint64_t at, const uint8_t *bytes, uint32_t length, uint32_t head_at)
{
	(void)arg;
	(void)bytes;
	cr_assert_lt(run_count, RUNS);
	runs[run_count++] = (struct run){ at, length, head_at };
}

static void note_frame(void *arg, const struct wire_head *head)
{
	(void)arg;
	cr_assert_lt(frame_count, RUNS);
	ops[frame_count++] = head->op;
}

static const struct trace_sink run_sink = { .run = note }, frame_sink = { .frame = note_frame };

static size_t put_stream(uint8_t *at, uint32_t payload)
{
	struct wire_target_fields to = { .key = 1, .addr = 2 };
	uint8_t *from = at;

	at += wire_put_write(at, WIRE_F_FIRST, payload, 1, &to, payload, 0);
	memset(at, 0xff, payload);
	at += payload;
	at += wire_put_trailer(at, WIRE_GOOD, 0);
	at += wire_put_ack(at, 0);
	return (size_t)(at - from);
}

static void walk_in_steps(struct trace_walk *walk, uint8_t *bytes, size_t length, size_t step, const struct trace_sink *sink)
{
	for (size_t from = 0; from < length; from += step) {
		size_t take = length - from < step ? length - from : step;
		struct iovec iov = { bytes + from, take };

		trace_walk(walk, &iov, 1, take, sink);
	}
}

Test(trace_walk, keeps_short_frames_in_one_run)
{
	static uint8_t bytes[4096];
	size_t length = put_stream(bytes, 64);
	struct trace_walk walk = { .at = 0 };

	cr_assert_eq(guard_install(), 0);
	walk_in_steps(&walk, bytes, length, length, &run_sink);
	cr_assert_eq(run_count, 1);
	cr_expect_eq(runs[0].length, length);
	cr_expect_eq(runs[0].head_at, 0);
}

Test(trace_walk, passes_over_the_rest_of_a_long_payload)
{
	static uint8_t bytes[80000];
	size_t length = put_stream(bytes, 70000);
	struct trace_walk walk = { .at = 0 };

	cr_assert_eq(guard_install(), 0);
	walk_in_steps(&walk, bytes, length, length, &run_sink);
	cr_assert_eq(run_count, 2);
	cr_expect_eq(runs[0].length, 80 + TRACE_PAYLOAD);
	cr_expect_eq(runs[1].at, 80 + 70000);
	cr_expect_eq(runs[1].head_at, 16, "behind the trailer");
	cr_expect_eq(walk.at, length);
}

Test(trace_walk, finds_the_same_frames_however_the_bytes_are_cut)
{
	static uint8_t bytes[4096];
	size_t length = put_stream(bytes, 300);

	cr_assert_eq(guard_install(), 0);
	for (size_t step = 1; step < 400; step += 7) {
		struct trace_walk walk = { .at = 0 }, frames = { .at = 0 };
		uint64_t kept = 0;

		frame_count = 0;
		walk_in_steps(&frames, bytes, length, step, &frame_sink);
		cr_assert_eq(frame_count, 2, "step %zu", step);
		cr_expect_eq(ops[0], WIRE_WRITE);
		cr_expect_eq(ops[1], WIRE_ACK);
		for (size_t from = 0; from < length; from += step) {
			struct iovec iov = { bytes + from, length - from < step ? length - from : step };

			run_count = 0;
			trace_walk(&walk, &iov, 1, iov.iov_len, &run_sink);
			for (uint32_t i = 0; i < run_count; i++) {
				cr_expect_leq(runs[i].at + runs[i].length, from + iov.iov_len);
				kept += runs[i].length;
			}
		}
		cr_expect_eq(kept, length - (300 - TRACE_PAYLOAD), "step %zu", step);
	}
}

Test(trace_walk, that_begins_in_the_middle_waits_for_a_head)
{
	static uint8_t bytes[4096];
	size_t length = put_stream(bytes, 64);
	struct trace_walk walk = { .lost = true };
	struct iovec middle = { bytes + 100, 30 }, whole = { bytes, length };

	cr_assert_eq(guard_install(), 0);
	trace_walk(&walk, &middle, 1, 30, &run_sink);
	cr_expect_eq(run_count, 0);
	trace_walk(&walk, &whole, 1, length, &run_sink);
	cr_assert_eq(run_count, 1);
	cr_expect_eq(runs[0].at, 30);
}
