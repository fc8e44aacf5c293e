/* SPDX-License-Identifier: BSD-2-Clause */
/* ahead.c - a cursor that runs some frames before the one that is worked on. */
#include "emu/nic/ahead.h"

#include <stddef.h>

#include "emu/nic/limits.h"
#include "emu/nic/mr_table.h"
#include "wire/codec.h"

enum { NEAR_FRAMES = 6, NEXT_FRAMES = 4, HERE_FRAMES = 2 };

/* The bodies that begin with a key. */
static bool names_key(uint8_t op)
{
	return op == WIRE_WRITE || op == WIRE_READ || op == WIRE_ATOMIC;
}
static_assert(offsetof(struct wire_write, to.key) == 0 && offsetof(struct wire_read, from.key) == 0 &&
	      offsetof(struct wire_atomic, to.key) == 0, "names_key()");

/* Takes in the frame at the cursor. False: it does not begin in these bytes, or is no request for a region. */
static bool take(struct ahead *ahead, const struct mr_table *regions, const uint8_t *end)
{
	const struct wire_head *head = (const struct wire_head *)ahead->at;
	uint64_t left = (uint64_t)(end - ahead->at), length, key;
	wire_u64 named;

	if (left < sizeof(*head) + sizeof(named) || !names_key(head->op))
		return false;
	memcpy(&named, head + 1, sizeof(named));
	key = wire_get64(named);
	mr_expect(regions, key);
	ahead->keys[(ahead->first + ahead->count++) % AHEAD_FRAMES] = key;
	length = wire_get32(head->payload);
	length += sizeof(*head) + wire_body_len(head->op) + (length ? sizeof(struct wire_trailer) : 0);
	ahead->at += length < left ? length : left;
	return true;
}

bool ahead_pays(const struct mr_table *regions)
{
	return mr_count(regions) >= AHEAD_REGIONS;
}

static uint64_t nth_key(const struct ahead *ahead, uint32_t n)
{
	return ahead->keys[(ahead->first + n) % AHEAD_FRAMES];
}

static void advance(struct ahead *ahead)
{
	ahead->first = (ahead->first + 1) % AHEAD_FRAMES;
	ahead->count--;
	ahead->near -= ahead->near > 0;
	ahead->next -= ahead->next > 0;
	ahead->here -= ahead->here > 0;
}

/* Each step reads what the one before has had fetched, so there are some frames between them. */
void ahead_look(struct ahead *ahead, const struct mr_table *regions, const uint8_t *next, const uint8_t *end)
{
	if (!ahead->at || ahead->at <= next) {
		ahead->at = next < end ? next : end;
		ahead->first = ahead->count = ahead->near = ahead->next = ahead->here = 0;
	} else if (ahead->count) {
		advance(ahead);
	}
	while (ahead->count < AHEAD_FRAMES && take(ahead, regions, end))
		;
	for (; ahead->near < ahead->count && ahead->near < NEAR_FRAMES; ahead->near++)
		mr_expect_near(regions, nth_key(ahead, ahead->near));
	for (; ahead->next < ahead->count && ahead->next < NEXT_FRAMES; ahead->next++)
		mr_expect_next(regions, nth_key(ahead, ahead->next));
	for (; ahead->here < ahead->count && ahead->here < HERE_FRAMES; ahead->here++)
		mr_expect_here(regions, nth_key(ahead, ahead->here));
}
