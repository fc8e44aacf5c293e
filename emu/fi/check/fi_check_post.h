/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_post.h - the operations under way, as far as they are checked: those of the data calls, without injected and deferred
 * ones. Any thread. */
#ifndef EMU_FI_CHECK_POST_H
#define EMU_FI_CHECK_POST_H

#include <stdbool.h>
#include <stddef.h>

#include "emu/process/report/call_stack.h"
#include "emu/nic/base/interval_tree.h"

/* Operations that are under way: how many, and the call and place of one. */
struct check_left {
	unsigned int count;
	const char *call;
	struct call_stack posted;
};

/* Those of an endpoint (NULL: all), receives left out. False: none. */
bool check_posts_left(const void *owner, struct check_left *left);
/* Tells that they are dropped: their endpoint was closed, or the process exits. */
void check_posts_dropped(const struct check_left *left, bool exits);
/* Peers may have written to these bytes until now: operations under way whose buffers are there are not compared. */
void check_posts_unsure(const struct interval *spans, size_t count);
/* Compares the buffers of operations that have ended. At the end of each call that may tell the program of an end. */
void check_posts_settle(void);
/* In a fork's child. */
void check_posts_forked(void);

#endif
