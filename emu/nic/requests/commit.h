/* SPDX-License-Identifier: BSD-2-Clause */
/* commit.h - WRITEs and ATOMICs with COMMIT whose bytes are in their place and not yet durable (WIRE-50, S133).
 *
 * Owner:  the nic, in one list; an answered one whose flush is still on waits there without a session.
 * Thread: holder of the driver role, but for the flushes that nic_flushed() hands back (flush.h). */
#ifndef EMU_NIC_COMMIT_H
#define EMU_NIC_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/requests/access_check.h"
#include "emu/nic/requests/completer.h"

struct commit;
struct flush;
struct mr;
struct nic;
struct session;
struct verdict;

MUST_USE int commits_init(struct commits *commits);
/* Frees the commits left; the outside hands no flush back any more. */
void commits_fini(struct commits *commits);
static inline bool commits_pending(const struct commits *commits)
{
	return atomic_load(&commits->waiting);
}

/* The request that is in its place. */
struct committed {
	struct access ask; /* the whole of it, with the region that it met */
	bool counted;      /* its region is bound to something */
	bool changed;      /* it has stored something */
	struct remote_done done;
	struct verdict *result; /* its answer, which is taken over; NULL: DONE */
};

/* Begins to flush it; the answer goes out by itself. NULL, or the breach of the protocol. */
MUST_USE const char *commit_begin(struct session *session, const struct committed *committed);
/* Answers for the flushes that the outside has handed back. True if there were any. */
__attribute__((cold)) bool commits_take(struct nic *nic);
/* The region ends: requests whose bytes in it are not durable yet are answered so, and not looked at again. */
void commits_close_region(struct nic *nic, const struct mr *mr);
/* The session ends: no request is answered. */
void commits_end(struct session *session);

#endif
