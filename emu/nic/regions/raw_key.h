/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_key.h - the key of a region as bytes that go from one program to another (fi_mr_raw_attr, S46): 8 of a plain key;
 * 32 of a raw one (FI_MR_RAW), with a check that finds bytes changed or missing on the way. The check is no proof: a peer
 * that makes one up does not know the region's tail, and the region refuses it. Pure. */
#ifndef EMU_NIC_RAW_KEY_H
#define EMU_NIC_RAW_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAW_KEY_PLAIN = 8, RAW_KEY_LONG = 32 }; /* bytes */

struct raw_key {
	uint64_t key;
	uint64_t tail; /* 0: a plain key */
};

/* Bytes that raw_key_put() writes. */
size_t raw_key_size(const struct raw_key *key);
void raw_key_put(const struct raw_key *key, uint8_t *bytes);
/* False: the bytes are no key. */
bool raw_key_get(const uint8_t *bytes, size_t size, struct raw_key *key);

#endif
