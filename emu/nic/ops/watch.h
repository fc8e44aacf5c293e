/* SPDX-License-Identifier: BSD-2-Clause */
/* watch.h - posts that a layer above the device watches: it sees their memory when they are posted, when a message is about to be
 * written into it, and when they have ended but the program does not know yet. For checks of the program, which are slow.
 *
 * Owner:  the device passes on what post() or receive() returned, and forgets it with drop() or end(), one of which comes once.
 * Thread: each function says. None may wait for a lock under which a thread waits for the driver role. */
#ifndef EMU_NIC_WATCH_H
#define EMU_NIC_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct post;
struct recv_post;

struct watch_ops {
	/* About to be posted by this thread, which holds no lock and not the role. `owner` is that of ep_attr; NULL: a shared
	 * context's. NULL: it is not watched. */
	void *(*post)(void *owner, const struct post *post);
	void *(*receive)(void *owner, const struct recv_post *post);
	/* By the same thread: the post was refused. */
	void (*drop)(void *watch);
	/* By the same thread, after each post: 0 or its negative errno. */
	void (*posted)(void *owner, int err);
	/* [role] The first byte of a message is about to be written into the buffer of a receive. May come again. */
	void (*place)(void *watch);
	/* [role] A receive is taken back by the program, and no message was placed. */
	void (*cancelled)(void *watch);
	/* [role] A receive by POST_CLAIM has found the message that was set aside for its context, which has this tag. */
	void (*claimed)(void *watch, uint64_t tag);
	/* [role] It has ended, before the program can tell. */
	void (*end)(void *watch);
	/* [role] A peer's access to a region of an endpoint with EP_WATCHED was executed. */
	void (*accessed)(void *owner);
};

#endif
