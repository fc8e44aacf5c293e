/* SPDX-License-Identifier: BSD-2-Clause */
/* prefetch.c - a cursor that runs some frames ahead of the one that is being processed. */
#include "emu/nic/transport/prefetch.h"

#include <stddef.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/regions/mr_table.h"
#include "wire/codec.h"

enum { NEAR_FRAMES = 6, NEXT_FRAMES = 4, HERE_FRAMES = 2 };

/* Takes in the frame at the cursor. False: it does not begin in these bytes, or is no request for a region. */
static bool prefetch_take_frame(struct prefetch *prefetch, const struct mr_table *regions, const uint8_t *end)
{
	const struct wire_head *head = (const struct wire_head *)prefetch->at;
	uint64_t left = (uint64_t)(end - prefetch->at), length, key;
	wire_u64 named; /* a target begins with the key */

	if (left < sizeof(*head) + sizeof(named) || !wire_forms[head->op].targets)
		return false;
	memcpy(&named, head + 1, sizeof(named));
	key = wire_get64(named);
	mr_expect(regions, key);
	prefetch->keys[(prefetch->first + prefetch->count++) % PREFETCH_FRAMES] = key;
	length = wire_get32(head->payload);
	length += sizeof(*head) + wire_body_len(head->op) + (length ? sizeof(struct wire_trailer) : 0);
	prefetch->at += length < left ? length : left;
	return true;
}

bool prefetch_pays(const struct mr_table *regions)
{
	return mr_count(regions) >= AHEAD_REGIONS;
}

/* Takes a prefetch step for those of the first `frames` frames that have not had it: `known` were there at the last call, behind
 * one that is gone. */
static inline void step(const struct prefetch *prefetch, const struct mr_table *regions, uint32_t known, uint32_t frames,
			void (*expect)(const struct mr_table *regions, uint64_t key))
{
	for (uint32_t i = known < frames - 1 ? known : frames - 1; i < prefetch->count && i < frames; i++)
		expect(regions, prefetch->keys[(prefetch->first + i) % PREFETCH_FRAMES]);
}

/* Each step reads memory that the step before has prefetched, so there are some frames between them. */
void prefetch_frames(struct prefetch *prefetch, const struct mr_table *regions, const uint8_t *next, const uint8_t *end)
{
	uint32_t known;

	if (!prefetch->at || prefetch->at <= next) {
		prefetch->at = next < end ? next : end;
		prefetch->first = prefetch->count = 0;
	} else if (prefetch->count) {
		prefetch->first = (prefetch->first + 1) % PREFETCH_FRAMES;
		prefetch->count--;
	}
	known = prefetch->count;
	while (prefetch->count < PREFETCH_FRAMES && prefetch_take_frame(prefetch, regions, end))
		;
	step(prefetch, regions, known, NEAR_FRAMES, mr_expect_near);
	step(prefetch, regions, known, NEXT_FRAMES, mr_expect_next);
	step(prefetch, regions, known, HERE_FRAMES, mr_expect_here);
}
