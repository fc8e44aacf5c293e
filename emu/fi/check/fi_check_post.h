/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_post.h - the operations under way, as far as they are checked: those of the data calls, without injected and deferred
 * ones. Any thread. */
#ifndef EMU_FI_CHECK_POST_H
#define EMU_FI_CHECK_POST_H

#include <stdbool.h>

/* Tells of the operations of an endpoint, receives left out, that are under way while it is closed; or of all while the process
 * ends (NULL). */
void check_posts_closing(const void *owner);
/* In a fork's child. */
void check_posts_forked(void);

#endif
