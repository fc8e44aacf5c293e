/* SPDX-License-Identifier: BSD-2-Clause */
/* place.h - a position in scattered program memory: where the next payload bytes go, or come from.
 *
 * Holds no reference: the code that ends the memory's use (region closed, op resolved) drops the place too.
 * Every touch by the CPU goes through guard.h; pinned memory is touched through pin.h alone. */
#ifndef EMU_NIC_PLACE_H
#define EMU_NIC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/must_use.h"

struct pin;

/* Up to LIMIT_IOV runs of program memory; those of one granted access (mr.h) are none empty, and none at all for a zero-length
 * access. */
struct mr_place {
	uint8_t count;
	struct iovec run[LIMIT_IOV];
};

struct place {
	struct pin *pin; /* not NULL: the runs are addresses that it knows, to be touched by nothing else */
	size_t skip;     /* bytes used already of the run in use, */
	uint8_t at;      /* which is this one */
	struct mr_place to;
};

/* Begins at the first byte of place->to. `pin`: as in the place. */
static inline void place_begin(struct place *place, struct pin *pin)
{
	place->pin = pin;
	place->skip = 0;
	place->at = 0;
}
/* Begins at the first byte of the runs, which are copied; not pinned. */
void place_set(struct place *place, const struct iovec *runs, size_t count);
/* Moves on; past the end it stays at the end. */
void place_advance(struct place *place, uint64_t bytes);
/* The next bytes as at most `room` runs, `max` bytes in all; returns the number of runs. Does not advance. */
int place_runs(const struct place *place, uint64_t max, struct iovec *out, int room);
/* Copies to or from the next bytes and advances; bytes past the end are dropped. False: the memory faulted. */
MUST_USE bool place_put(struct place *place, const void *bytes, size_t length);
bool place_get(struct place *place, void *bytes, size_t length);
/* Can the next `length` bytes be read? A byte of every page is. Does not advance. */
bool place_readable(const struct place *place, uint64_t length);

#endif
