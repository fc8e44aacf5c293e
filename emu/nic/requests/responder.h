/* SPDX-License-Identifier: BSD-2-Clause */
/* responder.h - the target's half of a session: the peer's requests judged, executed, answered.
 *
 * Thread: holder of the driver role. A request climbs a ladder: sequence, right of the endpoint (responder.c), region, range, place
 * (target_*.c). Functions that take a peer's word return NULL if all is well, else the breach of the protocol, for log and BYE. */
#ifndef EMU_NIC_RESPONDER_H
#define EMU_NIC_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/rx_match.h"
#include "emu/nic/regions/access.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

/* --- the ladder (responder.c) --- */

/* Is the request frame to be executed? False: it is dropped (conn->in.skip), or *broken says how it breaks the protocol. */
MUST_USE bool responder_admits(struct conn *conn, const struct wire_head *head, enum op_kind kind, const char **broken);
/* It has been executed, or refused, and counts as seen; `broken` is what its execution returned, and comes back. one_sided: the
 * program here has no reason to say anything soon that the acknowledgement could ride on. */
MUST_USE const char *responder_executed(struct conn *conn, const char *broken, bool one_sided);

/* Receiver not ready: this request and all that follow are dropped; the peer is told. Returns NULL. */
const char *responder_rnr(struct conn *conn);
/* Has the endpoint the capability (enum ep_cap), and no fault plan anything against the request? Else *why says so. */
bool responder_allows(const struct session *session, uint32_t cap, struct refusal *why);
/* Why a request is refused, if the endpoint has not the capability. */
enum refusal_cause responder_lacks(const struct session *session, uint32_t cap) __attribute__((cold));

/* A receive is about to fail with the request that has taken it: a queue pair is in error before its program sees that, and the
 * receive's completion is all that is told (V136). Before the verdict. */
void responder_receive_fails(struct session *session, enum refusal_cause cause) __attribute__((cold));

/* Until the session ends, no request of the peer is executed any more, nor the one whose frame is under way. Receives that requests
 * have taken, and that have not ended, do so now: `told` as cancelled, else without a word. */
void responder_halt(struct session *session, bool told);

/* --- the peer's requests, a file for each kind (target_write.c, target_read.c, target_send.c, target_atomic.c) ---
 * _take() has head and body, and sets conn->in for the payload; _end() follows when the payload is complete, also if there is
 * none. */

/* The first segment judges the whole message. */
MUST_USE const char *target_write_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_write_end(struct conn *conn, enum wire_status status);
/* The message under way may never be completed: a region of single use is free for others, until its next segment. */
void target_write_pause(struct session *session);
/* It will not be completed: the initiator has ended it, or its session. */
void target_write_abandon(struct session *session);
/* The receive that is kept for its CQ data may name this region (named.h): the message that takes it after all will find that. */
void target_write_recall(struct session *session, uint64_t desc);

/* Answered by read_response.c. */
MUST_USE const char *target_read_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_read_end(struct conn *conn, enum wire_status status);

MUST_USE const char *target_taken_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_taken_end(struct conn *conn, enum wire_status status);

/* SEND and RTS; the rest of their way is message.c. */
MUST_USE const char *target_send_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_send_end(struct conn *conn, enum wire_status status);

/* RSEND: a message that takes a posted receive, segment by segment (EP_RULE_RECEIVE_FIRST). */
MUST_USE const char *target_rsend_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_rsend_end(struct conn *conn, enum wire_status status);
/* As of a WRITE: if no segment of the message was executed, its receive is free for it again, and for others; it will not be
 * completed. */
void target_rsend_pause(struct session *session);
void target_rsend_abandon(struct session *session, enum refusal_cause cause);
/* Its receive may name this region (named.h): it ends, unless the message needs no byte of that (POST_REACH). */
void target_rsend_recall(struct session *session, uint64_t desc);

/* Judged and executed when the whole frame is here, so that one that is cut has done nothing and one that was executed is never
 * executed again (WIRE-51). */
MUST_USE const char *target_atomic_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_atomic_end(struct conn *conn, enum wire_status status);

/* CONNECT, ACCEPT and REJECT; endpoint defines them. */
MUST_USE const char *target_cm_take(struct conn *conn, const struct wire_head *head);
MUST_USE const char *target_cm_end(struct conn *conn, enum wire_status status);

/* --- one remote access against the regions of the endpoint's domain (access_check.c) --- */

/* Finds the region and lets mr_check() judge it; a key that was closed, or went to another region meanwhile, is
 * REFUSAL_CLOSED. Fills *place, or *why; if access is granted *why says no more than that there is no cause. A region of single
 * use is taken by the request that is granted access, and closed to all others from then on (S130, S131). Pinned memory whose
 * mapping was changed is logged at a request's first frame (S80). Returns the region, or NULL: refused. */
struct mr *access_check(struct session *session, const struct access *ask, struct mr_place *place, struct refusal *why);

/* The region or receive that the access names, not judged; NULL: none. */
struct mr *access_region(const struct session *session, const struct access *ask);

/* A message is to invalidate the region under that key, once it is complete: may it (mr_may_invalidate())? */
bool access_may_invalidate(const struct session *session, uint64_t key);
/* The bytes of accesses to the region are in their place, and none goes on, where it ends for peers. */
void access_revoke(struct nic *nic, const struct mr *mr);
/* No access to the region under that key is granted any more, nor goes on. False: that may not be. */
bool access_invalidate(const struct session *session, uint64_t key);

/* window.c: ends the region, of which no post has the descriptor; or the binding of a memory window, if it is bound. */
void access_end(struct pd *pd, struct mr *mr);
void window_end(struct pd *pd, struct mr_window *window);

/* The key names no region, and perhaps named one: notes in *why when that ended. */
bool access_ended(const struct session *session, const struct access *ask, struct refusal *why);

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

/* --- a posted tagged receive in the place of a region (tagged_access.c) ---
 * A peer's WRITE or READ names it by its tag, takes it as a tagged message would, and uses it up. Until the request ends, the
 * receive is a region that this request alone finds. The session's: a WRITE ends its receive with its last byte, a READ by TAKEN;
 * both by a refusal, or with the session. */

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

/* --- DATA that the peer has asked for (read_response.c) ---
 * By READ, out of a region; by PULL, out of a parked op of ours. The session's. */

enum read_way {
	READ_PLAIN,
	READ_PINNED, /* out of pinned memory, which cannot be lent to the connection */
	READ_LATE,   /* by a fault plan, and in pieces (held.h) */
};
struct read_response {
	struct read_response *next;
	uint64_t ref;
	bool pulled;       /* PULL: from `op`; else READ: from a region */
	struct op *op;     /* PULL: NULL if it was given up meanwhile */
	struct access ask; /* READ: all that is to be read */
	uint8_t way;       /* READ: enum read_way */
	uint32_t srx;      /* READ: the context that it names (xrc.c); 0: none */
	uint64_t start;    /* PULL: where in the message it begins */
	uint64_t length;   /* bytes asked for */
	uint64_t offset;   /* of them sent */
	union {
		struct cq_node *slot;    /* READ that is told of (EP_REGION_EVENTS): see complete_has_room() */
		struct held_read *looks; /* READ_LATE */
	};
};

/* NULL, or the breach of the protocol. */
/* `looks`: of READ_LATE; it is taken. NULL: pinned memory, or any other. */
MUST_USE const char *read_response_add(struct session *session, uint64_t ref, const struct access *ask, bool pinned,
				       struct held_read *looks);
MUST_USE const char *read_response_add_pull(struct session *session, const struct wire_head *head);
/* Forgets the responses that read from this op, or all. */
void read_response_drop_op(struct session *session, const struct op *op);
/* Its memory is not there any more: the peer is told that the rest of it does not come (WIRE-72). */
void read_response_give_up_op(struct session *session, const struct op *op);
void read_response_flush(struct session *session);

/* --- WRITEs and ATOMICs with COMMIT whose bytes are in their place and not yet durable: WIRE-50, S133 (commit.c) ---
 * In one list of the nic's; an answered one whose flush is still on waits there without a session. Flushes are handed back by any
 * thread: nic_flushed() (flush.h). */

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
