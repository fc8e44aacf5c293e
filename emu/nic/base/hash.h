/* SPDX-License-Identifier: BSD-2-Clause */
/* hash.h - hash index of nodes that live in their owners; grows in small steps.
 *
 * Chained, with doubling spread over the adds and removes that follow, so that none of them pauses for long. The
 * owner compares keys; equal hashes may stand for unequal keys. No lock of its own. */
#ifndef EMU_NIC_HASH_H
#define EMU_NIC_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"

struct hash_node {
	struct hash_node *next;
	uint64_t hash;
};

struct hash {
	struct hash_node **buckets;
	struct hash_node **old; /* being emptied into buckets; NULL if none */
	size_t mask, old_mask;  /* number of buckets minus one */
	size_t moved;           /* old buckets already empty */
	size_t count;
};

/* buckets: a power of two. 0 or -ENOMEM. */
MUST_USE int hash_init(struct hash *hash, size_t buckets);
void hash_fini(struct hash *hash); /* the nodes belong to their owners */

/* Without memory to grow chains only get longer; adding never fails. Front first: among equal hashes the one added
 * last is found first. */
void hash_add(struct hash *hash, struct hash_node *node, uint64_t value);
void hash_remove(struct hash *hash, struct hash_node *node);

/* The nodes with this hash, one by one; NULL after the last. */
struct hash_node *hash_first(const struct hash *hash, uint64_t value);
struct hash_node *hash_next(const struct hash_node *node);

/* Prefetch for a table too large for the caches, called well before the lookup, some time apart: the bucket; its first node;
 * the second node, if the first has another hash; hash_expect_node(): `length` bytes of the entry that embeds the node with
 * this hash (`before` bytes ahead of it), if it is one of the first three in the chain. */
void hash_expect(const struct hash *hash, uint64_t value);
void hash_expect_first(const struct hash *hash, uint64_t value);
void hash_expect_second(const struct hash *hash, uint64_t value);
void hash_expect_node(const struct hash *hash, uint64_t value, size_t before, size_t length);

/* Keyed by two secret random words, so that no peer can choose keys that collide. */
uint64_t hash_u64(const uint64_t secret[2], uint64_t key);

#endif
