/* SPDX-License-Identifier: BSD-2-Clause */
/* commit.h - WRITEs and ATOMICs with COMMIT whose bytes are in their place and not yet durable (WIRE-50, S133).
 *
 * Owner:  the nic, in one list; an answered one whose flush is still on waits there without a session.
 * Thread: holder of the driver role, but for what nic_flushed() leaves (flush.h). */
#ifndef EMU_NIC_COMMIT_H
#define EMU_NIC_COMMIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/completer.h"
#include "emu/nic/judge.h"

struct commit;
struct flush;
struct mr;
struct nic;
struct session;
struct verdict;

struct commits {
	struct commit *first;		/* all that there are */
	pthread_mutex_t lock;		/* a leaf, of `flushed` */
	struct flush *flushed;		/* handed back by the outside, the last one first */
	atomic_bool waiting;		/* there are some; written under the lock, read by anyone (D1, D2) */
};

int  commits_init(struct commits *commits);
/* Frees what is left; the outside hands nothing back any more. */
void commits_fini(struct commits *commits);
static inline bool commits_pending(const struct commits *commits)
{
	return atomic_load(&commits->waiting);
}

/* The request that is in its place. */
struct committed {
	struct judge_ask ask;		/* the whole of it, with the region that it met */
	bool     counted;		/* its region is bound to something */
	bool     changed;		/* it may have changed bytes */
	struct remote_done done;
	struct verdict *result;		/* its answer, which is taken over; NULL: DONE */
};

/* Begins to flush it; the answer comes by itself. NULL, or what breaks the protocol. */
const char *commit_begin(struct session *session, const struct committed *committed);
/* Answers what the outside has handed back. True if there was anything. */
__attribute__((cold)) bool commits_take(struct nic *nic);
/* The region ends: what of it is not durable yet is answered so, and not looked at again. */
void commits_close_region(struct nic *nic, const struct mr *mr);
/* The session ends: nobody is answered. */
void commits_end(struct session *session);

#endif
