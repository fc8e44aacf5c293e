/* SPDX-License-Identifier: BSD-2-Clause */
/* digest.h - XXH3-64, seed 0, of frame heads and of payloads.
 *
 * Pure functions; any thread. The payload functions use the widest instruction set that the processor has, found at
 * the first call. xxHash is compiled in: users of `wire` need no libxxhash. */
#ifndef WIRE_DIGEST_H
#define WIRE_DIGEST_H

#include <stdalign.h>

#include "wire/frame.h"

/* The digest of a head and its body, with head.digest taken as zero. The head must have passed wire_check_head(). */
uint64_t digest_head(const struct wire_head *head);

/* The same for a head whose digest is zero: makes no copy. */
uint64_t digest_blank_head(const struct wire_head *head);

/* The digest of a payload in one piece; length may be zero. */
uint64_t digest_bytes(const void *bytes, size_t length);

/* Copies, and returns the digest of the copy: a write to `from` meanwhile cannot make the two differ. `to` and `from` are the same
 * place, or do not overlap. */
uint64_t digest_copy(void *to, const void *from, size_t length);

/* The digest of a payload in pieces: begin, add any number of times, end. The state holds no pointer to the bytes. */
struct digest_state {
	alignas(64) uint8_t opaque[576];
};
void digest_begin(struct digest_state *state);
void digest_add(struct digest_state *state, const void *bytes, size_t length);
uint64_t digest_end(const struct digest_state *state);

#endif
