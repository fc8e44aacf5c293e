/* SPDX-License-Identifier: BSD-2-Clause */
/* place.h - a position in scattered program memory: where the next payload bytes go, or come from.
 *
 * Holds no reference: whoever ends the memory's use (region closed, op resolved) drops the place too.
 * Every touch by the CPU goes through guard.h; pinned memory is touched through pin.h alone. */
#ifndef EMU_NIC_PLACE_H
#define EMU_NIC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/limits.h"

struct pin;

struct place {
	struct iovec run[LIMIT_IOV];
	uint8_t count;
	uint8_t at;		/* run in use */
	size_t  skip;		/* bytes of it used already */
	struct pin *pin;	/* not NULL: the runs are addresses that it knows, to be touched by nothing else */
};

/* Begins at the first byte of the runs, which are copied; not pinned. */
void place_set(struct place *place, const struct iovec *runs, size_t count);
/* Moves on; past the end it stays at the end. */
void place_advance(struct place *place, uint64_t bytes);
/* The next bytes as at most `room` runs, `max` bytes in all; returns the number of runs. Does not advance. */
int  place_runs(const struct place *place, uint64_t max, struct iovec *out, int room);
/* Copies to or from the next bytes and advances; what goes past the end is dropped. False: the memory faulted. */
bool place_put(struct place *place, const void *bytes, size_t length);
bool place_get(struct place *place, void *bytes, size_t length);
/* Can the next `length` bytes be read? A byte of every page is. Does not advance. */
bool place_readable(const struct place *place, uint64_t length);

#endif
