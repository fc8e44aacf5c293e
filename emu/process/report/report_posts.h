/* SPDX-License-Identifier: BSD-2-Clause */
/* report_posts.h - where the ops were posted that are under way: the latest few thousand, by endpoint, kind, context and target.
 * One that was overwritten by later ones is not found. Any thread, with the driver role or without; a leaf lock guards it. */
#ifndef EMU_PROCESS_REPORT_POSTS_H
#define EMU_PROCESS_REPORT_POSTS_H

#include <stdbool.h>
#include <stdint.h>

struct call_stack;

struct report_post {
	const void *owner; /* endpoint */
	const void *context;
	uint64_t key, addr; /* messages: 0 */
	uint8_t kind;
};

/* Allocates the table. Without the driver role; again is harmless. Without memory nothing is ever found. */
void report_posts_open(void);
/* It is posted here, by the calling thread. */
void report_posts_add(const struct report_post *post);
/* False: not known (any more). */
bool report_posts_find(const struct report_post *post, struct call_stack *stack);
void report_posts_forked(void);

#endif
