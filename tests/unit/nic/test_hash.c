/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hash.c - the index: every node found, in chains that stay short, while it grows in small steps. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/hash.h"

static const uint64_t secret[2] = { 0x0123456789abcdef, 0xfedcba9876543210 };

static size_t chain_length(const struct hash *hash, uint64_t value)
{
	const struct hash_node *node = hash->old && (value & hash->old_mask) >= hash->moved ? hash->old[value & hash->old_mask]
											    : hash->buckets[value & hash->mask];
	size_t length = 0;

	for (; node; node = node->next)
		length++;
	return length;
}

Test(hash, finds_each_at_every_moment_of_growth)
{
	enum { N = 3000 };
	static struct hash_node nodes[N];
	struct hash hash;

	cr_assert_eq(hash_init(&hash, 2), 0);
	for (int i = 0; i < N; i++) {
		hash_add(&hash, &nodes[i], hash_u64(secret, i));
		for (int j = 0; j <= i; j++)
			cr_assert_eq(hash_first(&hash, hash_u64(secret, j)), &nodes[j], "%d of %d", j, i);
	}
	for (int i = 0; i < N; i += 2)
		hash_remove(&hash, &nodes[i]);
	for (int i = 0; i < N; i++)
		cr_assert_eq(hash_first(&hash, hash_u64(secret, i)), i % 2 ? &nodes[i] : NULL);
	cr_assert_eq(hash.count, N / 2);
	hash_fini(&hash);
}

/* Front first, also across growth; equal hashes are walked, others skipped. */
Test(hash, equal_hashes_keep_their_order)
{
	enum { SAME = 5, OTHERS = 500 };
	static struct hash_node same[SAME], others[OTHERS];
	struct hash_node *node;
	struct hash hash;

	cr_assert_eq(hash_init(&hash, 1), 0);
	for (int i = 0; i < SAME; i++)
		hash_add(&hash, &same[i], 0x1000);
	for (int i = 0; i < OTHERS; i++) {
		hash_add(&hash, &others[i], (uint64_t)i * 8);
		node = hash_first(&hash, 0x1000);
		for (int j = SAME; j--; node = hash_next(node))
			cr_assert_eq(node, i * 8 < 0x1000 ? &same[j] : node);
	}
	hash_fini(&hash);
}

/* The work of one add is bounded: at most two old buckets move, and growth ends before the next begins. */
Test(hash, grows_in_small_steps)
{
	enum { N = 1 << 17 };
	struct hash_node *nodes = calloc(N, sizeof(*nodes));
	struct hash hash;
	size_t longest = 0;

	cr_assert_eq(hash_init(&hash, 64), 0);
	for (size_t i = 0; i < N; i++) {
		size_t moved = hash.old ? hash.moved : 0;

		hash_add(&hash, &nodes[i], hash_u64(secret, i * 4096));
		if (hash.old)
			cr_assert_leq(hash.moved, moved + 2);
		cr_assert_leq(hash.count, 2 * (hash.mask + 1));
	}
	for (size_t i = 0; i < N; i++) {
		size_t length = chain_length(&hash, hash_u64(secret, i * 4096));

		longest = length > longest ? length : longest;
	}
	cr_assert_leq(longest, 16, "longest chain %zu", longest);
	hash_fini(&hash);
	free(nodes);
}

/* Keys of one shape under one secret do not collide under another: nobody can prepare them. */
Test(hash, spreads_whatever_the_keys)
{
	enum { BITS = 12, N = 1 << BITS };
	static unsigned int hits[N];

	for (int shift = 0; shift <= 64 - BITS; shift++) {
		unsigned int most = 0;

		for (int i = 0; i < N; i++)
			hits[i] = 0;
		for (uint64_t i = 0; i < N; i++) {
			unsigned int *h = &hits[hash_u64(secret, i << shift) & (N - 1)];

			most = ++*h > most ? *h : most;
		}
		cr_assert_leq(most, 12, "shift %d: %u in one bucket", shift, most);
	}
}
