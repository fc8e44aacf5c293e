/* SPDX-License-Identifier: BSD-2-Clause */
/* hash.c - hash index with incremental doubling.
 *
 * While it grows, a hash belongs to its old bucket until that one has been moved, and to the new one afterwards: every
 * node is in exactly one place. Moving two buckets at each add and remove ends the growth before the next can begin. */
#include "emu/nic/base/hash.h"

#include <assert.h>
#include <errno.h>

#include "emu/nic/base/huge_pages.h"

enum {
	MOVES = 2, /* old buckets emptied at each add or remove */
	CACHE_LINE = 64,
};

int hash_init(struct hash *hash, size_t buckets)
{
	assert(buckets && !(buckets & (buckets - 1)));
	*hash = (struct hash){ .mask = buckets - 1 };
	hash->buckets = huge_pages_alloc(buckets * sizeof(*hash->buckets));
	return hash->buckets ? 0 : -ENOMEM;
}

void hash_fini(struct hash *hash)
{
	huge_pages_free(hash->old, (hash->old_mask + 1) * sizeof(*hash->old));
	huge_pages_free(hash->buckets, (hash->mask + 1) * sizeof(*hash->buckets));
	*hash = (struct hash){ .mask = 0 };
}

static struct hash_node **bucket_of(const struct hash *hash, uint64_t value)
{
	if (hash->old && (value & hash->old_mask) >= hash->moved)
		return &hash->old[value & hash->old_mask];
	return &hash->buckets[value & hash->mask];
}

static void move_bucket(struct hash *hash)
{
	struct hash_node *node = hash->old[hash->moved++];

	while (node) {
		struct hash_node *next = node->next, **to = &hash->buckets[node->hash & hash->mask];

		/* Append: the order among equal hashes stays. */
		while (*to)
			to = &(*to)->next;
		node->next = NULL;
		*to = node;
		node = next;
	}
}

static void keep_moving(struct hash *hash)
{
	for (int i = 0; i < MOVES && hash->old; i++) {
		move_bucket(hash);
		if (hash->moved > hash->old_mask) {
			huge_pages_free(hash->old, (hash->old_mask + 1) * sizeof(*hash->old));
			hash->old = NULL;
		}
	}
}

static void grow_if_full(struct hash *hash)
{
	struct hash_node **larger;

	if (hash->old || hash->count <= hash->mask)
		return;
	larger = huge_pages_alloc(2 * (hash->mask + 1) * sizeof(*larger));
	if (!larger)
		return;
	hash->old = hash->buckets;
	hash->old_mask = hash->mask;
	hash->moved = 0;
	hash->buckets = larger;
	hash->mask = 2 * hash->mask + 1;
}

void hash_add(struct hash *hash, struct hash_node *node, uint64_t value)
{
	struct hash_node **bucket;

	grow_if_full(hash);
	keep_moving(hash);
	bucket = bucket_of(hash, value);
	node->hash = value;
	node->next = *bucket;
	*bucket = node;
	hash->count++;
}

void hash_remove(struct hash *hash, struct hash_node *node)
{
	struct hash_node **at = bucket_of(hash, node->hash);

	while (*at != node) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = node->next;
	hash->count--;
	keep_moving(hash);
}

static struct hash_node *seek(struct hash_node *node, uint64_t value)
{
	while (node && node->hash != value)
		node = node->next;
	return node;
}

struct hash_node *hash_first(const struct hash *hash, uint64_t value)
{
	return seek(*bucket_of(hash, value), value);
}

struct hash_node *hash_next(const struct hash_node *node)
{
	return seek(node->next, node->hash);
}

void hash_expect(const struct hash *hash, uint64_t value)
{
	__builtin_prefetch(bucket_of(hash, value));
}

void hash_expect_first(const struct hash *hash, uint64_t value)
{
	__builtin_prefetch(*bucket_of(hash, value));
}

void hash_expect_second(const struct hash *hash, uint64_t value)
{
	const struct hash_node *node = *bucket_of(hash, value);

	if (node && node->hash != value)
		__builtin_prefetch(node->next);
}

void hash_expect_node(const struct hash *hash, uint64_t value, size_t before, size_t length)
{
	const struct hash_node *node = *bucket_of(hash, value);

	for (int i = 0; i < 2 && node && node->hash != value; i++)
		node = node->next;
	for (size_t at = 0; node && at < length; at += CACHE_LINE)
		__builtin_prefetch((const char *)node - before + at);
}

/* The two halves of a 128-bit product folded together: every bit of both factors reaches every bit of the result. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_u64(const uint64_t secret[2], uint64_t key)
{
	return fold(fold(key ^ secret[0], secret[1] | 1) ^ secret[1], 0x9e3779b97f4a7c15u);
}
