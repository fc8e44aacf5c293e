/* SPDX-License-Identifier: BSD-2-Clause */
/* pipe.h - one direction of a simulated connection: bounded bytes that become readable later. Owner: its cable. */
#ifndef TESTS_SIM_PIPE_H
#define TESTS_SIM_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PIPE_MARKS = 32 };

struct pipe {
	uint8_t *ring;
	uint32_t capacity;
	uint64_t sent, ready, received; /* bytes since the beginning: written, readable, read */
	uint64_t end;                   /* no byte from here on gets through; UINT64_MAX: not cut */
	struct {
		uint64_t upto, at_ns; /* bytes before upto are readable from at_ns on */
	} mark[PIPE_MARKS];
	unsigned first_mark, marks;
	bool finished;      /* the writer has closed */
	uint64_t finish_ns; /* when the reader learns of it */
};

void pipe_init(struct pipe *pipe, uint32_t capacity);
void pipe_fini(struct pipe *pipe);
uint32_t pipe_room(const struct pipe *pipe);
/* length is at most pipe_room(); readable from at_ns on, and not before what was written earlier. */
void pipe_write(struct pipe *pipe, const uint8_t *bytes, uint32_t length, uint64_t at_ns);
/* Lets bytes become readable whose time has come. Returns how many are. */
uint64_t pipe_readable(struct pipe *pipe, uint64_t now_ns);
/* Copies `length` readable bytes out, from the offset given on; they stay until pipe_skip(). */
void pipe_peek(const struct pipe *pipe, uint64_t offset, uint8_t *to, uint32_t length);
void pipe_skip(struct pipe *pipe, uint32_t length);
/* Nothing from byte `end` on arrives; what is beyond and was written is lost. */
void pipe_cut(struct pipe *pipe, uint64_t end);
/* When more becomes readable; UINT64_MAX: never. */
uint64_t pipe_next_ns(const struct pipe *pipe);
/* The writer has closed and every byte was read. */
bool pipe_at_end(const struct pipe *pipe, uint64_t now_ns);

#endif
