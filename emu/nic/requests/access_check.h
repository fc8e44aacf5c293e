/* SPDX-License-Identifier: BSD-2-Clause */
/* access_check.h - one remote access of a session's peer against the regions of the endpoint's domain.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_ACCESS_CHECK_H
#define EMU_NIC_ACCESS_CHECK_H

#include "emu/nic/regions/access.h"
#include "emu/nic/regions/mr.h"

struct session;

/* Finds the region and lets mr_check() judge it; a key that was closed, or went to another region meanwhile, is
 * REFUSAL_CLOSED. Fills *place, or *why; if access is granted *why says no more than that there is no cause. A region of single
 * use is taken by the request that is granted access, and closed to all others from then on (S130, S131). Pinned memory whose
 * mapping was changed is logged at a request's first frame (S80). Returns the region, or NULL: refused. */
struct mr *access_check(struct session *session, const struct access *ask, struct mr_place *place, struct refusal *why);

/* The region or receive that the access names, not judged; NULL: none. */
struct mr *access_region(const struct session *session, const struct access *ask);

/* Notes the access in *why: op, key, address, length. */
void access_describe(const struct access *ask, struct refusal *why);

/* A request that was granted access fails all the same, or ends before it is complete: it has not used up a region of
 * single use. Any request may be named. */
void access_release(struct session *session, uint64_t key, uint64_t mr_id, uint64_t seq);

/* A request has changed bytes of the region: counters that are bound to it count one (S98), if the endpoint
 * was opened with the right to it (S100). */
void access_count_change(struct session *session, uint64_t key, uint64_t mr_id, uint64_t length);

/* A request was executed in the region: tells the layer above if it watches, and gives the context of the event that tells the
 * program (EP_REGION_EVENTS). False: there is no event. */
bool access_event(struct session *session, const struct access *ask, void **context);

#endif
