/* SPDX-License-Identifier: BSD-2-Clause */
/* pipe.c - one direction of a simulated connection. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/harness/pipe.h"

void pipe_init(struct pipe *pipe, uint32_t capacity)
{
	*pipe = (struct pipe){ .capacity = capacity, .end = UINT64_MAX };
	pipe->ring = malloc(capacity);
	assert(pipe->ring);
}

void pipe_fini(struct pipe *pipe)
{
	free(pipe->ring);
}

uint32_t pipe_room(const struct pipe *pipe)
{
	return pipe->capacity - (uint32_t)(pipe->sent - pipe->received);
}

static void pipe_mark(struct pipe *pipe, uint64_t at_ns)
{
	unsigned last = (pipe->first_mark + pipe->marks - 1) % PIPE_MARKS;

	if (pipe->marks && (pipe->marks == PIPE_MARKS || pipe->mark[last].at_ns >= at_ns)) {
		pipe->mark[last].upto = pipe->sent;
		return;
	}
	last = (pipe->first_mark + pipe->marks++) % PIPE_MARKS;
	pipe->mark[last].upto = pipe->sent;
	pipe->mark[last].at_ns = at_ns;
}

void pipe_write(struct pipe *pipe, const uint8_t *bytes, uint32_t length, uint64_t at_ns)
{
	uint32_t at = (uint32_t)(pipe->sent % pipe->capacity);
	uint32_t first = length < pipe->capacity - at ? length : pipe->capacity - at;

	assert(length <= pipe_room(pipe));
	memcpy(pipe->ring + at, bytes, first);
	memcpy(pipe->ring, bytes + first, length - first);
	pipe->sent += length;
	pipe_mark(pipe, at_ns);
}

uint64_t pipe_readable(struct pipe *pipe, uint64_t now_ns)
{
	while (pipe->marks && pipe->mark[pipe->first_mark].at_ns <= now_ns) {
		pipe->ready = pipe->mark[pipe->first_mark].upto;
		pipe->first_mark = (pipe->first_mark + 1) % PIPE_MARKS;
		pipe->marks--;
	}
	if (pipe->ready > pipe->end)
		pipe->ready = pipe->end;
	return pipe->ready - pipe->received;
}

void pipe_peek(const struct pipe *pipe, uint64_t offset, uint8_t *to, uint32_t length)
{
	uint32_t at = (uint32_t)((pipe->received + offset) % pipe->capacity);
	uint32_t first = length < pipe->capacity - at ? length : pipe->capacity - at;

	assert(pipe->received + offset + length <= pipe->ready);
	memcpy(to, pipe->ring + at, first);
	memcpy(to + first, pipe->ring, length - first);
}

void pipe_skip(struct pipe *pipe, uint32_t length)
{
	assert(length <= pipe->ready - pipe->received);
	pipe->received += length;
}

void pipe_cut(struct pipe *pipe, uint64_t end)
{
	if (end < pipe->ready)
		end = pipe->ready;
	if (end < pipe->end)
		pipe->end = end;
}

uint64_t pipe_next_ns(const struct pipe *pipe)
{
	uint64_t next = pipe->marks && pipe->ready < pipe->end ? pipe->mark[pipe->first_mark].at_ns : UINT64_MAX;

	if (pipe->finished && !pipe->marks && pipe->finish_ns < next)
		next = pipe->finish_ns;
	return next;
}

bool pipe_at_end(const struct pipe *pipe, uint64_t now_ns)
{
	return pipe->finished && pipe->received == pipe->sent && pipe->finish_ns <= now_ns;
}
