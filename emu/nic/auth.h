/* SPDX-License-Identifier: BSD-2-Clause */
/* auth.h - authorization keys: what stands for one in the device, and, where there is no shared secret, on the wire
 * (WIRE-74). This keeps apart programs that do not mean each other; with a secret see auth_tokens.h. Any thread. */
#ifndef EMU_NIC_AUTH_H
#define EMU_NIC_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AUTH_STRANGE = 2 };	/* stands for every key that this process has not: nothing takes it */

/* Of a key, which this process has from then on; 0 stands for none: `size` 0. AUTH_STRANGE: it has LIMIT_AUTH_KEYS others. */
uint64_t auth_proof(const void *key, size_t size);
/* Those that this process has, by number; they grow only. */
uint32_t auth_count(void);
uint64_t auth_at(uint32_t number);

/* One comparison of whole words: how much was right cannot be told by its time. */
static inline bool auth_fits(uint64_t taken, uint64_t shown)
{
	return (taken == shown) & (shown != AUTH_STRANGE);
}

#endif
