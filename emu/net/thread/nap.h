/* SPDX-License-Identifier: BSD-2-Clause */
/* nap.h - what the program says of its sleep, by the count of polls (driver.polls) at which it said so: once that moves, the note
 * means nothing any more. Any thread. */
#ifndef EMU_NET_NAP_H
#define EMU_NET_NAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NAP_NEVER UINT64_MAX

struct nap {
	atomic_uint_fast64_t parked_at; /* it sleeps on the sockets; */
	atomic_uint_fast64_t dozed_at;  /* or on what only the NIC thread signals */
};

static inline void nap_init(struct nap *nap)
{
	atomic_init(&nap->parked_at, NAP_NEVER);
	atomic_init(&nap->dozed_at, NAP_NEVER);
}

/* Relaxed: a hint, as polls itself. At worst a look comes a period late. NAP_NEVER: it does not sleep so. */
static inline void nap_park(struct nap *nap, uint64_t polls)
{
	atomic_store_explicit(&nap->parked_at, polls, memory_order_relaxed);
}

static inline bool nap_is_parked(const struct nap *nap, uint64_t polls)
{
	return atomic_load_explicit(&nap->parked_at, memory_order_relaxed) == polls;
}

/* Sequentially consistent: a thread that dozes looks at the NIC thread's state after its note, and the NIC thread at the note after
 * its state, so that one of them sees the other. */
static inline void nap_doze(struct nap *nap, uint64_t polls)
{
	atomic_store(&nap->dozed_at, polls);
}

static inline bool nap_is_dozing(const struct nap *nap, uint64_t polls)
{
	return atomic_load(&nap->dozed_at) == polls;
}

#endif
