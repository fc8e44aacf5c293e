/* SPDX-License-Identifier: BSD-2-Clause */
/* spans.c - a treap of ranges. The depth is logarithmic whatever order ranges come in, as ranks are drawn. */
#include "emu/nic/spans.h"

#include <stdbool.h>
#include <stddef.h>

static uint64_t draw(struct spans *spans)
{
	uint64_t bits = spans->drawn += UINT64_C(0x9e3779b97f4a7c15);

	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return bits ^ bits >> 31;
}

/* Ranges with the same first number are kept apart by where they are. */
static bool precedes(const struct span *a, const struct span *b)
{
	return a->first != b->first ? a->first < b->first : (uintptr_t)a < (uintptr_t)b;
}

static void sum_up(struct span *span)
{
	span->below = span->last;
	if (span->left && span->left->below > span->below)
		span->below = span->left->below;
	if (span->right && span->right->below > span->below)
		span->below = span->right->below;
}

/* What precedes `by`, and the rest. */
static void split(struct span *root, const struct span *by, struct span **before, struct span **rest)
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
static struct span *join(struct span *before, struct span *rest)
{
	if (!before || !rest)
		return before ? before : rest;
	if (before->rank > rest->rank) {
		before->right = join(before->right, rest);
		sum_up(before);
		return before;
	}
	rest->left = join(before, rest->left);
	sum_up(rest);
	return rest;
}

static struct span *add(struct span *root, struct span *span)
{
	if (!root || span->rank > root->rank) {
		split(root, span, &span->left, &span->right);
		sum_up(span);
		return span;
	}
	if (precedes(span, root))
		root->left = add(root->left, span);
	else
		root->right = add(root->right, span);
	sum_up(root);
	return root;
}

void spans_add(struct spans *spans, struct span *span)
{
	span->rank = draw(spans);
	spans->root = add(spans->root, span);
}

static struct span *cut(struct span *root, const struct span *span)
{
	if (root == span)
		return join(root->left, root->right);
	if (precedes(span, root))
		root->left = cut(root->left, span);
	else
		root->right = cut(root->right, span);
	sum_up(root);
	return root;
}

void spans_remove(struct spans *spans, struct span *span)
{
	spans->root = cut(spans->root, span);
}

static int find(struct span *root, uint64_t first, uint64_t last, int (*see)(struct span *span, void *arg), void *arg)
{
	int said;

	if (!root || root->below < first)
		return 0;
	said = find(root->left, first, last, see, arg);
	if (said || root->first > last)
		return said;
	if (root->last >= first)
		said = see(root, arg);
	return said ? said : find(root->right, first, last, see, arg);
}

int spans_find(const struct spans *spans, uint64_t first, uint64_t last, int (*see)(struct span *span, void *arg),
	       void *arg)
{
	return find(spans->root, first, last, see, arg);
}
