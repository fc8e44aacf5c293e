/* SPDX-License-Identifier: BSD-2-Clause */
/* spin.h - whether it pays to wait awake. To sleep and be woken takes longer than an answer of a peer that answers at once: so
 * if the last wait ended soon, the next one begins awake. Where the peer needs this core, every awake wait is in vain: after one
 * in vain, the next awake wait comes only when 2, then 4, up to 1024 waits asleep have ended soon. Pure: the caller passes
 * the time. One thread at a time. */
#ifndef EMU_NET_SPIN_H
#define EMU_NET_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct spin {
	uint64_t since_ns; /* when the wait began */
	bool awake;        /* it began awake, and has not ended */
	uint16_t soon;     /* waits in a row that ended soon, up to .. */
	uint16_t more;     /* .. one more than this, when the next one begins awake */
};

enum { SPIN_NS = 50000, SPIN_MORE = 1023 };

static inline void spin_in_vain(struct spin *spin)
{
	spin->awake = false;
	spin->soon = 0;
	spin->more = spin->more < SPIN_MORE ? (uint16_t)(2 * spin->more + 1) : SPIN_MORE;
}

/* A wait begins; returns until when it may be awake; now_ns: not at all. If the last wait has not ended, it was in vain. */
static inline uint64_t spin_begin(struct spin *spin, uint64_t now_ns)
{
	if (spin->awake)
		spin_in_vain(spin);
	spin->awake = spin->soon > spin->more;
	spin->since_ns = now_ns;
	return spin->awake ? now_ns + SPIN_NS : now_ns;
}

/* The wait has ended, awake or asleep, as its condition holds. */
static inline void spin_end(struct spin *spin, uint64_t now_ns)
{
	bool soon = now_ns - spin->since_ns <= SPIN_NS;

	if (spin->awake && !soon)
		spin_in_vain(spin);
	else if (!soon)
		spin->soon = 0;
	else if (spin->awake)
		*spin = (struct spin){ .soon = 1 };
	else
		spin->soon += spin->soon <= SPIN_MORE;
}

#endif
