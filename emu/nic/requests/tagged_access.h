/* SPDX-License-Identifier: BSD-2-Clause */
/* tagged_access.h - a posted tagged receive in the place of a region: a peer's WRITE or READ names it by its tag, takes it as a
 * tagged message would, and uses it up. Until the request ends, the receive is a region that this request alone finds.
 *
 * Owner:  the session. A WRITE ends its receive with its last byte, a READ by TAKEN; both by a refusal, or with the session.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_TAGGED_ACCESS_H
#define EMU_NIC_TAGGED_ACCESS_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/regions/access.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/transport/conn.h"

/* Finds the receive for a request in sequence. NULL, or the breach of the protocol. If the endpoint does not take what the
 * initiator shows, conn->in.why says so. If none is posted, or one for many messages comes first, the peer is told RNR, and
 * conn->in.skip is set. */
MUST_USE const char *tagged_admit(struct conn *conn, const struct access *ask);
/* The receive that the request `seq` has taken, as a region; NULL: none, or it has ended. */
struct mr *tagged_region(const struct session *session, uint64_t seq);

/* The length of the request that has taken one. False: none has, or it has ended. */
bool tagged_find_length(const struct session *session, uint64_t seq, uint64_t *length);

/* Each ends the request's receive, if it has one: it completes as `done` says, or fails; or it is posted again, since no segment
 * of a WRITE was executed. */
void tagged_done(struct session *session, uint64_t seq, const struct remote_done *done);
void tagged_fail(struct session *session, uint64_t seq, enum refusal_cause cause);
void tagged_undo(struct session *session, uint64_t seq);
/* All of them fail, or those that name this region (named.h). */
void tagged_flush(struct session *session, enum refusal_cause cause);
void tagged_recall(struct session *session, uint64_t desc);

#endif
