/* SPDX-License-Identifier: BSD-2-Clause */
/* auth.h - authorization keys: the digest that stands for one in the device, and, without a shared secret, on the wire
 * (WIRE-74). It keeps apart programs that do not mean each other; with a secret see auth_tokens.c. Any thread. */
#ifndef EMU_NIC_AUTH_H
#define EMU_NIC_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AUTH_STRANGE = 2 }; /* stands for every key that this process has not: nothing takes it */

/* The digest of a key, which this process has from then on; 0: no key (`size` 0). AUTH_STRANGE: it has LIMIT_AUTH_KEYS others. */
uint64_t auth_proof(const void *key, size_t size);
/* The keys that this process has, by number; their number only grows. */
uint32_t auth_count(void);
uint64_t auth_at(uint32_t number);
/* In a fork's child: another thread may have been adding one. */
void auth_forked(void);

/* One comparison of whole words: how much was right cannot be told by its time. */
static inline bool auth_fits(uint64_t taken, uint64_t shown)
{
	return (taken == shown) & (shown != AUTH_STRANGE);
}

#endif
