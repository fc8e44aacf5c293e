/* SPDX-License-Identifier: BSD-2-Clause */
/* auth.h - authorization keys: what stands for one on the wire and in the device (WIRE-74). This keeps apart programs that
 * do not mean each other; it is no secret from who reads the wire. Pure. */
#ifndef EMU_NIC_AUTH_H
#define EMU_NIC_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a key; 0 stands for none: `size` 0. */
uint64_t auth_proof(const void *key, size_t size);

/* One comparison of whole words: how much was right cannot be told by its time. */
static inline bool auth_fits(uint64_t taken, uint64_t shown)
{
	return taken == shown;
}

#endif
