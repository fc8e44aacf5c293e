/* SPDX-License-Identifier: BSD-2-Clause */
/* interval_tree.h - ranges of numbers, found by overlap in logarithmic time: a treap by first number, in which every
 * node knows the largest number below it. Ranges may overlap each other. Nothing allocates.
 * Owner of a node: its adder, until it is removed. Thread: one at a time. */
#ifndef EMU_NIC_INTERVAL_TREE_H
#define EMU_NIC_INTERVAL_TREE_H

#include <stdint.h>

struct interval {
	uint64_t first, last; /* inclusive; constant while it is in there */
	struct interval *left, *right;
	uint64_t below; /* the largest `last` of it and of all below it */
	uint64_t rank;  /* drawn: the heap's order */
};

struct interval_tree {
	struct interval *root;
	uint64_t drawn; /* state of the ranks' generator; from 0 */
};

void interval_tree_add(struct interval_tree *spans, struct interval *span);
void interval_tree_remove(struct interval_tree *spans, struct interval *span); /* it is in there */
/* Calls see() for each interval that has a number of first..last, in order of their first numbers, as long as it returns 0.
 * Returns what see() returned last, or 0. see() must change nothing. */
int interval_tree_find(const struct interval_tree *spans, uint64_t first, uint64_t last,
		       int (*see)(struct interval *span, void *arg), void *arg);

#endif
