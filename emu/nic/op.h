/* SPDX-License-Identifier: BSD-2-Clause */
/* op.h - what a program posts, and the op that the device makes of it.
 *
 * Owner:  the endpoint's pool (submit.c). From post to completion the op belongs to the device.
 * Thread: filled by the poster; from the submit queue on, the holder of the driver role. */
#ifndef EMU_NIC_OP_H
#define EMU_NIC_OP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/atomic.h"
#include "emu/nic/cq.h"
#include "emu/nic/limits.h"
#include "emu/nic/refusal.h"

struct cntr;
struct ep;
struct pool;
struct session;

enum op_kind {
	OP_SEND = 0, OP_WRITE = 1, OP_READ = 2, OP_ATOMIC = 3,
	OP_CONNECT = 4, OP_ACCEPT = 5, OP_REJECT = 6,	/* the device's own (cm.c), `tag` names the request; never posted */
};

/* Same values as libfabric's completion flags; emu/fi asserts it. */
#define CQ_F_MSG		(1ull << 1)
#define CQ_F_RMA		(1ull << 2)
#define CQ_F_TAGGED		(1ull << 3)
#define CQ_F_ATOMIC		(1ull << 4)
#define CQ_F_READ		(1ull << 8)
#define CQ_F_WRITE		(1ull << 9)
#define CQ_F_RECV		(1ull << 10)
#define CQ_F_SEND		(1ull << 11)
#define CQ_F_REMOTE_READ	(1ull << 12)
#define CQ_F_REMOTE_WRITE	(1ull << 13)
#define CQ_F_MULTI_RECV		(1ull << 16)
#define CQ_F_REMOTE_CQ_DATA	(1ull << 17)

/* COMPLETE, INJECT, FENCE, CQ_DATA, COMMIT, TAGGED, PEEK and MULTI have the values of libfabric's flags, so that a call's need
 * no translation; emu/fi asserts it. */
enum post_flag {
	POST_COMPLETE = 1 << 24,	/* a success makes an entry in the queue (errors always do, unless POST_SILENT) */
	POST_INJECT = 1 << 25,	/* the payload, at most LIMIT_INJECT bytes, is copied: the buffer is free on return */
	POST_FENCE = 1 << 21,	/* starts only when all earlier ops to the same peer are complete */
	POST_CQ_DATA = 1 << 17,	/* cq_data goes to the peer's completion */
	POST_COMMIT = 1 << 30,	/* a write or atomic that completes when the target has made it durable */
	POST_TAGGED = 1 << 3,	/* messages and receives: matched by tag, and never with those without */
	/* Receives that do not wait: what they find, or that there is nothing, completes at once (peek.h). */
	POST_PEEK = 1 << 19,	/* tells of the message that it would take, and leaves it; tagged ones only */
	POST_CLAIM = 1 << 4,	/* with PEEK: sets the message aside for this context; else takes what was set aside */
	POST_DISCARD = 1 << 5,	/* the message found is thrown away */
	POST_MULTI = 1 << 16,	/* receives of one buffer: it takes many messages (multi_recv.h) */
	POST_WORK = 1 << 6,	/* tells nobody but `when->done`, and the queue if POST_COMPLETE */
	POST_MATCH = 1 << 7,	/* messages: complete when a receive has taken them, or the peer's program has discarded them */
};

/* What a post waits for (held.h). */
struct when {
	struct cntr *cntr;
	uint64_t threshold;
	bool     errors;		/* errors count, too */
	const void *work;		/* POST_WORK: by which it is cancelled, */
	const void *owner;		/* or all of one owner; else NULL */
	struct cntr *done;		/* POST_WORK: counts what completes; may be NULL */
};

/* A change of a counter. */
struct held_change {
	struct cntr *cntr;
	uint64_t value;
	bool     set;			/* else added */
};

struct remote {
	uint64_t addr;
	uint64_t length;
	uint64_t key;
	uint64_t key_tail;	/* second half of a raw key (FI_MR_RAW); 0: a plain one */
};

/* What atomics have besides. */
struct post_atomic {
	struct atomic_what what;
	const struct iovec *compare;	/* ATOMIC_COMPARE: as long as the remote ranges */
	size_t   compare_count;
	const struct iovec *result;	/* ATOMIC_FETCH and ATOMIC_COMPARE: likewise */
	size_t   result_count;
};

/* One data transfer call, flags translated. Everything pointed to may go when the call returns, but for the payload. */
struct post {
	enum op_kind kind;
	uint32_t flags;			/* enum post_flag */
	uint64_t dest;			/* index in the endpoint's AV */
	const struct iovec *iov;	/* up to LIMIT_IOV */
	size_t   iov_count;
	const struct remote *remote;	/* RMA, atomics: 1 to LIMIT_IOV; their lengths sum to those of iov */
	size_t   remote_count;		/* messages: 0 */
	uint64_t cq_data;
	uint64_t tag;			/* POST_TAGGED, else 0 */
	void    *context;
	uint64_t cq_flags;		/* what its completion reports */
	const struct post_atomic *atomic;	/* OP_ATOMIC, else NULL */
	const struct when *when;	/* NULL: at once */
};

struct recv_post {
	const struct iovec *iov;	/* 0 to LIMIT_IOV */
	size_t   iov_count;
	uint32_t flags;			/* POST_COMPLETE, POST_TAGGED and those after it */
	uint64_t source;		/* AV index this receive is for, AV_NONE: any (directed receive) */
	uint64_t auth;			/* not 0: only messages that show this one (auth.h) */
	uint64_t least;			/* POST_MULTI: released when less is left, in bytes */
	uint64_t tag, ignore;		/* POST_TAGGED: takes messages with this tag, the bits of `ignore` left out; else 0 */
	void    *context;
	uint64_t cq_flags;
	const struct when *when;	/* NULL: at once */
};

enum op_state {
	OP_QUEUED,	/* in the submit queue or its session's queue; nothing of it was sent */
	OP_SENDING,	/* some segments are on their way */
	OP_SENT,	/* all are; waits for the acknowledgement (READ: also for data) */
	OP_PARKED,	/* waits for its verdict: a SEND whose payload will be pulled, or see op_by_verdict() */
};

/* One request on the wire. A post with several remote ranges becomes several ops that end as one (leader). What every op has
 * comes first, five cache lines of it with the first buffer. */
struct op {
	struct op *next;	/* whichever queue it is in */
	struct ep *ep;
	struct pool *pool;	/* where it goes back to; outlives the endpoint */
	struct session *session;
	struct op *leader;	/* the op that reports for the group; itself if alone */
	uint32_t group_left;	/* leader: ops of the group not resolved yet, itself included */
	enum op_state state;
	enum op_kind kind;
	uint32_t flags;		/* enum post_flag */
	struct atomic_what what;
	uint8_t  iov_count, compare_count, result_count;
	bool     passed;	/* fault plan: while it waits for hold_ns, what may pass it does */

	uint64_t first_seq, last_seq;	/* of its segments sent so far */
	uint64_t moved;		/* bytes handed to the connection, or received (READ) */
	struct cntr *counted;	/* POST_WORK: where it is counted; held; NULL: nowhere */
	uint64_t length;
	uint64_t total;		/* leader: bytes of the group */
	uint64_t dest;
	uint64_t auth;		/* shown to the peer */

	struct cq_node done;
	struct remote remote;
	uint64_t cq_data;
	uint64_t tag;
	struct iovec iov[LIMIT_IOV];
	struct refusal why;	/* leader: the group's first refusal; the cause alone is set while there is none */
	uint64_t hold_ns;	/* fault plan: leaves then, if not later; and when it has ended, is told of then */
	uint64_t late_ns;	/* fault plan: so long after it has ended */
	uint8_t inject[LIMIT_INJECT];	/* operands, and behind them what they are compared with */
	struct iovec compare[LIMIT_IOV], result[LIMIT_IOV];
};

/* Is it resolved by a verdict of its own, and by nothing else (WIRE-50, WIRE-51)? */
static inline bool op_by_verdict(const struct op *op)
{
	return op->flags & POST_COMMIT || op->what.kind != ATOMIC_PLAIN;
}

#endif
