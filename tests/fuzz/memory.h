/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h - the memory that a device under fuzzing may touch, what of it each frame may change, and a second opinion on
 * bounds and rights that shares nothing with the device's.
 *
 * Regions live as long as the process and are put back before each input. Buffers are what the program lends for ops and
 * receives: one that is not lent does not change. */
#ifndef TESTS_FUZZ_MEMORY_H
#define TESTS_FUZZ_MEMORY_H

#include "emu/nic/device/nic.h"
#include "wire/codec.h"

enum { REGION_BYTES = 256, GAP = 64, PIECES = 2, BUFFERS = 16, BUFFER_BYTES = 256 };
enum { REGION_OPEN, REGION_SHUT, REGION_INTO, REGION_SINGLE, REGION_KEYED, REGION_SPARE, REGIONS };
enum { MEMORY_AUTH = 77 }; /* what opens REGION_KEYED */

struct region {
	struct mr *mr;
	uint64_t key, auth;
	uint32_t access;
	bool virtual_addr, single_use;
	int pieces;
	size_t size; /* of the block, in which pieces and gaps take turns */
	uint8_t *block, *shadow, *first;
	uint64_t life; /* counts registrations */
	bool closed;
};

/* Where the bytes of one access lie, if it is one that may be: in the block of a region. */
struct permit {
	struct region *region; /* NULL: no byte may change */
	size_t runs;
	struct {
		size_t at, length;
	} run[PIECES];
};

struct buffer {
	bool lent;
	bool source;   /* lent to be read */
	size_t length; /* of it, that is lent */
	uint8_t *bytes, *shadow;
};

struct memory {
	struct pd *pd;
	struct driver *driver;
	struct region region[REGIONS];
	struct buffer buffer[BUFFERS];
};

void memory_open(struct memory *memory, struct nic *nic);
/* As at first: what was closed or used is registered anew. */
void memory_reset(struct memory *memory);
void region_close(struct memory *memory, struct region *region);
void region_renew(struct memory *memory, struct region *region);
/* The name by which a peer calls the byte at `offset`, which may be none of the region's. */
uint64_t region_name(const struct region *region, uint64_t offset);

/* May a peer have this? */
struct permit memory_permit(struct memory *memory, const struct wire_target_fields *to, uint64_t length, uint32_t right);
/* The first `length` bytes of it, of which there are as many. */
struct permit permit_part(const struct permit *permit, uint64_t offset, uint64_t length);
/* Are these the bytes that are (were, before this frame) there? */
bool permit_holds(const struct permit *permit, const uint8_t *bytes, size_t length);
/* Nothing but what was permitted has changed; `bytes`, if not NULL, are what it may have changed to. */
void memory_check(struct memory *memory, const struct permit *permit, const uint8_t *bytes);

/* One that is not lent, is from then on; NULL: all are. */
struct buffer *buffer_lend(struct memory *memory, size_t length, bool source);
/* It was said to be done, once. */
void buffer_done(struct buffer *buffer);

#endif
