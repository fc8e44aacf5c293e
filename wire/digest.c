/* SPDX-License-Identifier: BSD-2-Clause */
/* digest.c - head digests, and the choice of the payload kernel.
 *
 * Not every distribution's library has xxHash's own run-time dispatch, and on the processors that need one it is a choice
 * between two. So the payload functions are compiled twice (digest_base.c, digest_avx2.c) and picked here. */
#include "wire/digest.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "wire/codec.h"
#include "wire/digest_kernel.h"

uint64_t digest_blank_head(const struct wire_head *head)
{
	return XXH3_64bits(head, sizeof(*head) + wire_body_len(head->op));
}

uint64_t digest_head(const struct wire_head *head)
{
	uint8_t frame[WIRE_FRAME_MAX];
	uint8_t *to = frame + sizeof(*head);
	size_t body = wire_body_len(head->op);

	memcpy(frame, head, offsetof(struct wire_head, digest));
	memset(frame + offsetof(struct wire_head, digest), 0, sizeof(head->digest));
	switch (body) { /* a copy of known length takes a few instructions, the default many */
	case sizeof(struct wire_write):
		memcpy(to, head + 1, sizeof(struct wire_write));
		break;
	case sizeof(struct wire_verdict):
		memcpy(to, head + 1, sizeof(struct wire_verdict));
		break;
	case sizeof(struct wire_ack):
		memcpy(to, head + 1, sizeof(struct wire_ack));
		break;
	default:
		memcpy(to, head + 1, body);
	}
	return XXH3_64bits(frame, sizeof(*head) + body);
}

#if defined(__x86_64__)
static const struct digest_kernel *chosen; /* relaxed: points at constants only */

/* Any thread may be the first; all find the same. */
__attribute__((noinline, cold)) static const struct digest_kernel *choose(void)
{
	const struct digest_kernel *found = __builtin_cpu_supports("avx2") ? &digest_avx2 : &digest_base;

	__atomic_store_n(&chosen, found, __ATOMIC_RELAXED);
	return found;
}
#endif

static const struct digest_kernel *kernel(void)
{
#if defined(__x86_64__)
	const struct digest_kernel *found = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	return found ? found : choose();
#else
	return &digest_base;
#endif
}

uint64_t digest_bytes(const void *bytes, size_t length)
{
	return kernel()->bytes(bytes, length);
}

uint64_t digest_copy(void *to, const void *from, size_t length)
{
	return kernel()->copy(to, from, length);
}

void digest_begin(struct digest_state *state)
{
	kernel()->begin(state);
}

void digest_add(struct digest_state *state, const void *bytes, size_t length)
{
	kernel()->add(state, bytes, length);
}

uint64_t digest_end(const struct digest_state *state)
{
	return kernel()->end(state);
}
