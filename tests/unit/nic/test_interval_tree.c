/* SPDX-License-Identifier: BSD-2-Clause */
/* test_interval_tree.c - ranges that overlap, against a list of all of them. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>

#include "emu/nic/base/interval_tree.h"

enum { SPANS = 400, ROUNDS = 4000 };

static struct interval span[SPANS];
static bool inside[SPANS];
static struct interval_tree tree;

struct seen {
	bool all[SPANS];
	uint64_t before; /* first number of the last one */
	int count, stop; /* stop after so many; 0: never */
};

static int see(struct interval *found, void *arg)
{
	struct seen *seen = arg;

	cr_assert_geq(found->first, seen->before, "not in order");
	seen->before = found->first;
	cr_assert_not(seen->all[found - span], "seen twice");
	seen->all[found - span] = true;
	return ++seen->count == seen->stop ? 7 : 0;
}

/* Ranks fall from the root down, which is what keeps the tree shallow in whatever order ranges come and go. */
static uint64_t depth(const struct interval *root)
{
	uint64_t left = root ? depth(root->left) : 0, right = root ? depth(root->right) : 0;

	cr_assert(!root || !root->left || root->left->rank <= root->rank);
	cr_assert(!root || !root->right || root->right->rank <= root->rank);
	return root ? 1 + (left > right ? left : right) : 0;
}

static void compare(uint64_t first, uint64_t last)
{
	struct seen seen = { .count = 0 }, one = { .stop = 1 };

	cr_assert_eq(interval_tree_find(&tree, first, last, see, &seen), 0);
	for (int i = 0; i < SPANS; i++)
		cr_assert_eq(seen.all[i], inside[i] && span[i].first <= last && span[i].last >= first, "span %d", i);
	cr_assert_eq(interval_tree_find(&tree, first, last, see, &one), seen.count ? 7 : 0);
	cr_assert_leq(one.count, 1);
}

Test(interval_tree, as_a_list_says)
{
	srandom(1);
	for (int round = 0; round < ROUNDS; round++) {
		int i = (int)(random() % SPANS);
		uint64_t first = (uint64_t)random() % 1000;

		if (inside[i]) {
			interval_tree_remove(&tree, &span[i]);
		} else {
			span[i] = (struct interval){ .first = first, .last = first + (uint64_t)random() % 30 };
			interval_tree_add(&tree, &span[i]);
		}
		inside[i] = !inside[i];
		first = (uint64_t)random() % 1000;
		compare(first, first + (uint64_t)random() % 20);
		if (round % 20 == 0)
			cr_assert_leq(depth(tree.root), 64);
	}
	compare(0, UINT64_MAX);
	compare(UINT64_MAX, UINT64_MAX);
}

/* In order of address, as a program registers, and all alike: the worst for a tree that is not balanced. */
Test(interval_tree, stays_shallow)
{
	static struct interval many[1 << 16];

	for (uint64_t i = 0; i < 1 << 16; i++) {
		many[i] = (struct interval){ .first = i / 2, .last = i / 2 };
		interval_tree_add(&tree, &many[i]);
	}
	cr_assert_leq(depth(tree.root), 64);
	for (uint64_t i = 0; i < 1 << 16; i++)
		interval_tree_remove(&tree, &many[i]);
	cr_assert_null(tree.root);
}

Test(interval_tree, up_to_the_last_number)
{
	span[0] = (struct interval){ .first = UINT64_MAX, .last = UINT64_MAX };
	span[1] = (struct interval){ .first = 0, .last = UINT64_MAX };
	span[2] = (struct interval){ .first = 5, .last = 3 }; /* no number at all */
	for (int i = 0; i < 3; i++)
		interval_tree_add(&tree, &span[i]);
	inside[0] = inside[1] = true;
	compare(UINT64_MAX, UINT64_MAX);
	compare(0, 0);
	compare(6, 9);
}
