/* SPDX-License-Identifier: BSD-2-Clause */
/* codec_impl.h - what codec.c, greeting.c and check.c share. */
#ifndef WIRE_CODEC_IMPL_H
#define WIRE_CODEC_IMPL_H

#include <assert.h>

#include "wire/codec.h"

/* Writes the head and returns where the body goes. */
static inline void *wire_put_head(void *at, uint8_t op, uint8_t flags, uint32_t payload, uint64_t seq)
{
	struct wire_head *head = at;

	assert(!(flags & ~wire_forms[op].flags));
	*head = (struct wire_head){
		.op = op,
		.flags = flags,
		.payload = wire_put32(payload),
		.seq = wire_put64(seq),
	};
	return head + 1;
}

static inline size_t wire_frame_len(uint8_t op)
{
	return sizeof(struct wire_head) + wire_body_len(op);
}

bool wire_all_zero(const uint8_t *bytes, size_t length);

enum wire_flaw wire_check_hello(const struct wire_head *head);
enum wire_flaw wire_check_bye(const struct wire_head *head);
enum wire_flaw wire_check_pair(const struct wire_head *head);
enum wire_flaw wire_check_challenge(const struct wire_head *head);

#endif
