/* SPDX-License-Identifier: BSD-2-Clause */
/* spin.h - whether it pays to wait awake. To sleep and be woken takes longer than a peer needs that answers at once: so
 * where what was waited for the last time came soon, the next wait begins awake; where it did not, nobody spins. Pure: who
 * waits tells the time. One thread at a time. */
#ifndef EMU_NET_SPIN_H
#define EMU_NET_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct spin {
	uint64_t since_ns;	/* when the wait began */
	bool soon;		/* how the last one ended; false in one that has not ended */
};

enum { SPIN_NS = 50000 };

/* A wait begins: until when it may be awake; now_ns: not at all. */
static inline uint64_t spin_begin(struct spin *spin, uint64_t now_ns)
{
	bool soon = spin->soon;

	*spin = (struct spin){ .since_ns = now_ns };
	return soon ? now_ns + SPIN_NS : now_ns;
}

/* It has ended, awake or asleep, by what was waited for. */
static inline void spin_end(struct spin *spin, uint64_t now_ns)
{
	spin->soon = now_ns - spin->since_ns <= SPIN_NS;
}

#endif
