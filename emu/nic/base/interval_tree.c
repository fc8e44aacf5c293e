/* SPDX-License-Identifier: BSD-2-Clause */
/* interval_tree.c - a treap of ranges. The depth is logarithmic whatever order ranges come in, as ranks are drawn. */
#include "emu/nic/base/interval_tree.h"

#include <stdbool.h>
#include <stddef.h>

static uint64_t treap_draw_rank(struct interval_tree *spans)
{
	uint64_t bits = spans->drawn += UINT64_C(0x9e3779b97f4a7c15);

	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return bits ^ bits >> 31;
}

/* Ranges with the same first number are kept apart by where they are. */
static bool precedes(const struct interval *a, const struct interval *b)
{
	return a->first != b->first ? a->first < b->first : (uintptr_t)a < (uintptr_t)b;
}

static void sum_up(struct interval *span)
{
	span->below = span->last;
	if (span->left && span->left->below > span->below)
		span->below = span->left->below;
	if (span->right && span->right->below > span->below)
		span->below = span->right->below;
}

/* Splits a tree into the intervals that precede `by`, and the rest. */
static void split(struct interval *root, const struct interval *by, struct interval **before, struct interval **rest)
{
	if (!root) {
		*before = *rest = NULL;
	} else if (precedes(root, by)) {
		split(root->right, by, &root->right, rest);
		*before = root;
		sum_up(root);
	} else {
		split(root->left, by, before, &root->left);
		*rest = root;
		sum_up(root);
	}
}

/* All of `before` precedes all of `rest`. */
static struct interval *treap_join(struct interval *before, struct interval *rest)
{
	if (!before || !rest)
		return before ? before : rest;
	if (before->rank > rest->rank) {
		before->right = treap_join(before->right, rest);
		sum_up(before);
		return before;
	}
	rest->left = treap_join(before, rest->left);
	sum_up(rest);
	return rest;
}

static struct interval *treap_insert(struct interval *root, struct interval *span)
{
	if (!root || span->rank > root->rank) {
		split(root, span, &span->left, &span->right);
		sum_up(span);
		return span;
	}
	if (precedes(span, root))
		root->left = treap_insert(root->left, span);
	else
		root->right = treap_insert(root->right, span);
	sum_up(root);
	return root;
}

void interval_tree_add(struct interval_tree *spans, struct interval *span)
{
	span->rank = treap_draw_rank(spans);
	spans->root = treap_insert(spans->root, span);
}

static struct interval *treap_remove(struct interval *root, const struct interval *span)
{
	if (root == span)
		return treap_join(root->left, root->right);
	if (precedes(span, root))
		root->left = treap_remove(root->left, span);
	else
		root->right = treap_remove(root->right, span);
	sum_up(root);
	return root;
}

void interval_tree_remove(struct interval_tree *spans, struct interval *span)
{
	spans->root = treap_remove(spans->root, span);
}

static int treap_visit(struct interval *root, uint64_t first, uint64_t last, int (*see)(struct interval *span, void *arg),
		       void *arg)
{
	int said;

	if (!root || root->below < first)
		return 0;
	said = treap_visit(root->left, first, last, see, arg);
	if (said || root->first > last)
		return said;
	if (root->last >= first)
		said = see(root, arg);
	return said ? said : treap_visit(root->right, first, last, see, arg);
}

int interval_tree_find(const struct interval_tree *spans, uint64_t first, uint64_t last,
		       int (*see)(struct interval *span, void *arg), void *arg)
{
	return treap_visit(spans->root, first, last, see, arg);
}
