/* SPDX-License-Identifier: BSD-2-Clause */
/* spans.h - ranges of numbers, found by what they overlap, in logarithmic time: a treap by first number, in which every
 * node knows the largest number below it. Ranges may overlap each other. Nothing allocates.
 * Owner of a node: whoever adds it, until it is removed. Thread: one at a time. */
#ifndef EMU_NIC_SPANS_H
#define EMU_NIC_SPANS_H

#include <stdint.h>

struct span {
	uint64_t first, last;	/* inclusive; constant while it is in there */
	struct span *left, *right;
	uint64_t below;		/* the largest `last` of it and of all below it */
	uint64_t rank;		/* drawn: the heap's order */
};

struct spans {
	struct span *root;
	uint64_t drawn;		/* state of the ranks' generator; from 0 */
};

void spans_add(struct spans *spans, struct span *span);
void spans_remove(struct spans *spans, struct span *span);	/* it is in there */
/* Calls see() for each that has a number of first..last, in order of their first ones, as long as it returns 0. What it
 * returned. It must change nothing. */
int  spans_find(const struct spans *spans, uint64_t first, uint64_t last, int (*see)(struct span *span, void *arg),
		void *arg);

#endif
