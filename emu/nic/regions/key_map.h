/* SPDX-License-Identifier: BSD-2-Clause */
/* key_map.h - the peers' raw keys that a program has mapped (fi_mr_map_raw, S54), under handles of 64 bits.
 * Owner: the protection domain, one each. Any thread: it has a leaf lock of its own. */
#ifndef EMU_NIC_KEY_MAP_H
#define EMU_NIC_KEY_MAP_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/regions/raw_key.h"

struct key_map;

/* `secret`: two random words, from which the handles come. 0 or -ENOMEM. */
MUST_USE int key_map_open(struct key_map **map, const uint64_t secret[2]);
void key_map_close(struct key_map *map);

/* Maps under a handle that cannot be guessed, or, if `as_itself`, under the key's own 64 bits: mapped twice it is
 * unmapped twice. 0 and *handle; -ENOMEM without memory or at LIMIT_MAPPINGS. */
MUST_USE int key_map_add(struct key_map *map, const struct raw_key *key, bool as_itself, uint64_t *handle);
MUST_USE int key_map_remove(struct key_map *map, uint64_t handle); /* 0, or -ENOKEY */
bool key_map_find(struct key_map *map, uint64_t handle, struct raw_key *key);
size_t key_map_count(struct key_map *map);

#endif
