/* SPDX-License-Identifier: BSD-2-Clause */
/* loops.c - the loops that the bench shares with emu_perf (tools/perf/core), on a block. */
#include "tools/perf/core/loop.h"

#include "bench.h"

/* A block without a benchmark is served alone. */
static struct loop loop_of(const struct block *block)
{
	const struct bench *bench = block->bench;

	return (struct loop){ .fabric = block->fabric,
			      .stop = &block->host->shared->stop,
			      .arrived = &block->host->shared->arrived,
			      .size = bench ? bench->size : 0,
			      .window = bench ? bench->window : 1,
			      .sources = LOOP_SOURCES,
			      .seed = block->seed,
			      .length_ns = block->length_ns,
			      .patience_ns = HANG_GUARD_NS,
			      .serial = block->serial };
}

static int run_loop(struct block *block, int (*run)(struct loop *loop))
{
	struct loop loop = loop_of(block);
	int rc = run(&loop);

	block->serial = loop.serial;
	block->ops += loop.ops;
	block->elapsed_ns += loop.elapsed_ns;
	return rc;
}

static int tagged_loop_run(struct loop *loop)
{
	return loop_message_run(loop, &loop_tagged);
}

static int tagged_loop_serve(struct loop *loop)
{
	return loop_message_serve(loop, &loop_tagged);
}

static int stream_loop_run(struct loop *loop)
{
	return loop_stream_run(loop, &loop_tagged_stream);
}

static int stream_loop_serve(struct loop *loop)
{
	return loop_stream_serve(loop, &loop_tagged_stream);
}

int pingpong_run(struct block *block)
{
	return run_loop(block, loop_pingpong_run);
}

int pingpong_serve(struct block *block)
{
	return run_loop(block, loop_pingpong_serve);
}

int tagged_run(struct block *block)
{
	return run_loop(block, tagged_loop_run);
}

int tagged_serve(struct block *block)
{
	return run_loop(block, tagged_loop_serve);
}

int tagged_window_run(struct block *block)
{
	return run_loop(block, stream_loop_run);
}

int tagged_window_serve(struct block *block)
{
	return run_loop(block, stream_loop_serve);
}

int window_write_run(struct block *block)
{
	return run_loop(block, loop_write_run);
}

int window_read_run(struct block *block)
{
	return run_loop(block, loop_read_run);
}

int window_add_run(struct block *block)
{
	return run_loop(block, loop_add_run);
}

int window_serve(struct block *block)
{
	return run_loop(block, loop_serve);
}

int register_run(struct block *block)
{
	return run_loop(block, loop_register_run);
}
