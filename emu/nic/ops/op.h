/* SPDX-License-Identifier: BSD-2-Clause */
/* op.h - a program's post, the op that the device makes of it, and queues of ops.
 *
 * Owner:  the endpoint's pool (submit.c). From post to completion the op belongs to the device.
 * Thread: filled by the poster; from the submit queue on, the holder of the driver role. */
#ifndef EMU_NIC_OP_H
#define EMU_NIC_OP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "emu/nic/atomics/atomic.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/op_kind.h"
#include "emu/nic/queues/cq.h"
#include "emu/nic/regions/named.h"
#include "emu/nic/regions/refusal.h"

struct cntr;
struct ep;
struct pool;
struct session;

enum post_flag {
	POST_COMPLETE = 1 << 0, /* a success makes an entry in the queue (errors always do, unless POST_SILENT) */
	POST_INJECT = 1 << 1,   /* the payload, at most LIMIT_INJECT bytes, is copied: the buffer is free on return */
	POST_FENCE = 1 << 2,    /* starts only when all earlier ops to the same peer are complete */
	POST_CQ_DATA = 1 << 3,  /* cq_data goes to the peer's completion */
	POST_COMMIT = 1 << 4,   /* a write or atomic that completes when the target has made it durable */
	POST_TAGGED =
		1 << 5, /* messages and receives: matched by tag, and never with those without; RMA: `key` is the tag of one */
	/* Receives that do not wait: they complete at once, with the message found or with none (peek.c). */
	POST_PEEK = 1 << 6,        /* tells of the message that it would take, and leaves it; tagged ones only */
	POST_CLAIM = 1 << 7,       /* with PEEK: sets the message aside for this context; else takes the one set aside */
	POST_DISCARD = 1 << 8,     /* the message found is thrown away */
	POST_MULTI = 1 << 9,       /* receives of one buffer: it takes many messages (multi_recv.c) */
	POST_MULTI_LAST = 1 << 12, /* with MULTI: the last message's completion tells that the buffer is released, if it is told */
	POST_WORK = 1 << 10,       /* counted in `when->done` alone, and reported to the queue if POST_COMPLETE */
	POST_MATCH = 1 << 11,      /* messages: complete when a receive has taken them, or the peer's program has discarded them */
	POST_COLLECTIVE = 1 << 13, /* receives: the device's own, of a collective (coll_step.c) */
	/* Between endpoints with EP_RULE_RECEIVE_FIRST: */
	POST_SOLICITED = 1 << 15,  /* messages, writes with CQ data: their completion at the peer is one that was asked for */
	POST_INVALIDATE = 1 << 16, /* messages: the peer's region under the key `cq_data` ends before they are received */
	/* Queue pairs, with FENCE: nothing is sent. In its turn the own region under the key `cq_data` ends for peers; or a memory
	 * window is bound, with INJECT, by the struct mr_bind that is its payload. */
	POST_LOCAL_INV = 1 << 17,
	POST_BIND = 1 << 20,
	POST_LOCAL = POST_LOCAL_INV | POST_BIND,
	/* Receives without a tag, of endpoints with EP_RULE_RECEIVE_FIRST, and all of those with EP_RULE_DATA_RECEIVES: one of
	 * which a region is closed stays where it is, and fails when a message comes that is longer than its `reach`. */
	POST_REACH = 1 << 18,
	POST_PLANNED = 1 << 19,   /* queue pairs: a fault plan has it fail by post.refused */
	POST_DELIVERED = 1 << 26, /* a write: completes when its bytes are seen, */
	POST_SENT = 1 << 27,      /* or was asked to complete before; neither: nothing was asked for */
	POST_LOST = 1 << 23,      /* the device's own mark: by a fault plan, it does not leave (EP_RULE_UNRELIABLE) */
	POST_IN_ORDER = 1 << 24,  /* the device's own mark: of a queue pair, in its list (in_order.c) */
	POST_ENDED = 1 << 25,     /* likewise: and waits there for those posted before it */
	POST_WATCHED = 1 << 14,   /* `watch` has what nic_config.watch noted of it (watch.h) */
};

/* The trigger of a deferred post (deferred.c). */
struct trigger {
	struct cntr *cntr; /* NULL: the post does not wait, and is watched (watch.h); then the rest does not count */
	uint64_t threshold;
	bool errors;       /* errors count, too */
	const void *work;  /* POST_WORK: by which it is cancelled, */
	const void *owner; /* or all of one owner; else NULL */
	struct cntr *done; /* POST_WORK: counts the completion; may be NULL */
};

/* A change of a counter. */
struct deferred_change {
	struct cntr *cntr;
	uint64_t value;
	bool set; /* else added */
};

struct remote {
	uint64_t addr;
	uint64_t length;
	uint64_t key;
	uint64_t key_tail; /* second half of a raw key; 0: a plain one */
};

/* Where a message of a queue pair for datagrams goes, and what its GRH tells there. */
struct datagram_to {
	struct sockaddr_storage at; /* of the receiver; the port does not count, and nothing if dgid is a group */
	uint8_t sgid[16], dgid[16]; /* an IPv4 address is mapped */
	uint32_t qpn, qkey;         /* 24 bits; all set: a group */
	uint32_t flow_label;        /* 20 bits */
	uint32_t interface;         /* to a group: the index of the own one */
	uint8_t traffic_class, hop_limit, sl;
};

/* Further arguments of atomics, and of datagrams. */
struct post_atomic {
	struct atomic_what what;
	const struct iovec *compare; /* ATOMIC_COMPARE: as long as the remote ranges */
	size_t compare_count;
	const struct iovec *result; /* ATOMIC_FETCH and ATOMIC_COMPARE: likewise */
	size_t result_count;
	void *const *compare_desc, *const *result_desc; /* as in struct post */
	const struct datagram_to *to;                   /* not NULL: it is a message, and the rest is zero */
};

/* One data transfer call, flags translated. Everything pointed to may go when the call returns, but for the payload. */
struct post {
	enum op_kind kind;
	uint32_t flags;          /* enum post_flag */
	uint64_t dest;           /* index in the endpoint's AV */
	const struct iovec *iov; /* up to LIMIT_IOV */
	size_t iov_count;
	void *const *desc;           /* one for each, or NULL: they name no regions */
	const struct remote *remote; /* RMA, atomics: 1 to LIMIT_IOV; their lengths sum to those of iov */
	size_t remote_count;         /* messages: 0 */
	uint64_t cq_data;
	uint64_t tag; /* POST_TAGGED, else 0 */
	void *context;
	uint64_t cq_flags;                /* for its completion: the front end's, passed on (front_end.h) */
	enum refusal_cause refused;       /* queue pairs: it is not carried out, and fails so in its turn; else REFUSAL_NONE */
	const struct post_atomic *atomic; /* OP_ATOMIC, or a message of a queue pair for datagrams; else NULL */
	const struct trigger *when;       /* NULL: at once */
};

struct recv_post {
	const struct iovec *iov; /* 0 to LIMIT_IOV */
	size_t iov_count;
	void *const *desc;          /* as in struct post */
	uint32_t flags;             /* POST_COMPLETE, POST_TAGGED and those after it */
	uint64_t source;            /* AV index this receive is for, AV_NONE: any (directed receive) */
	uint64_t auth;              /* not 0: only messages that show this one (auth.h) */
	uint64_t least;             /* POST_MULTI: released when less is left, in bytes */
	uint64_t reach;             /* POST_REACH: so many bytes, from the first, are in regions that allow it */
	enum refusal_cause refused; /* POST_REACH: not NONE: a fault plan has it fail, and the peer is told this */
	uint64_t tag, ignore;       /* POST_TAGGED: takes messages with this tag, the bits of `ignore` left out; else 0 */
	void *context;
	uint64_t cq_flags;          /* as in struct post */
	const struct trigger *when; /* NULL: at once */
};

/* One request on the wire. A post with several remote ranges becomes several ops that end as one (leader). Fields that every op
 * needs come first, five cache lines with the first buffer. */
struct op {
	struct op *next; /* whichever queue it is in */
	struct ep *ep;
	struct pool *pool; /* where it goes back to; outlives the endpoint */
	struct session *session;
	struct op *leader;   /* the op that reports for the group; itself if alone */
	uint32_t group_left; /* leader: ops of the group not resolved yet, itself included */
	enum op_kind kind;
	uint32_t flags; /* enum post_flag */
	struct atomic_what what;
	uint8_t compare_count, result_count, named_count;
	uint8_t rnrs; /* so often the receiver was not ready for it */
	bool passed;  /* fault plan: while it waits for depart_ns, ops that may pass it do */
	uint8_t iov_count;

	uint64_t first_seq, last_seq; /* of its segments sent so far */
	uint64_t moved;               /* bytes handed to the connection, or received (READ) */
	struct cntr *counted;         /* POST_WORK: where it is counted; held; NULL: nowhere */
	uint64_t length;
	uint64_t total; /* leader: bytes of the group */
	uint64_t dest;
	uint64_t auth; /* shown to the peer */

	struct cq_node done;
	struct remote remote;
	uint64_t cq_data;
	uint64_t tag; /* or, of the device's own ops, names the request; of a tagged READ that has its answer: its number */
	struct iovec iov[LIMIT_IOV];
	struct refusal why;           /* leader: the group's first refusal; the cause alone is set while there is none */
	uint64_t depart_ns;           /* fault plan: leaves then, if not later; and when it has ended, is told of then */
	uint64_t late_ns;             /* fault plan: so long after it has ended */
	uint64_t again_ns;            /* `rnrs` of an endpoint with EP_ORDER_NONE: it waits until then */
	uint8_t inject[LIMIT_INJECT]; /* operands, and the comparands behind them */
	union {
		struct {
			struct iovec compare[LIMIT_IOV], result[LIMIT_IOV];
		};
		struct datagram_to to;
	};
	uint64_t named[3 * LIMIT_IOV]; /* regions of the whole post (named.h) */
	void *watch;                   /* leader, POST_WATCHED */
	uint64_t posted_ticks;         /* trace: when it was posted */
	struct op *after;              /* POST_IN_ORDER: was posted next */
};

/* An op, as the rules of a fault plan (fault_plan.h) see it. */
struct fault_op {
	bool ours; /* posted here; else a peer asks for it */
	enum op_kind kind;
	uint64_t key; /* of its region; messages: 0 */
	bool cq_data;
};

/* Does its post need that region's memory? Injected data has been copied. */
static inline bool op_names(const struct op *op, uint64_t desc)
{
	return !(op->flags & POST_INJECT) && named_has(op->named, op->named_count, desc);
}

/* A tagged READ that has its answer: all that is left is to tell the peer. */
static inline bool op_is_taken(const struct op *op)
{
	return op->kind == OP_READ && op->tag;
}

/* Is it resolved by a verdict of its own, and by nothing else (WIRE-50, WIRE-51)? */
static inline bool op_by_verdict(const struct op *op)
{
	return op->flags & POST_COMMIT || op->what.kind != ATOMIC_PLAIN;
}

/* --- a singly linked queue of ops through op.next --- */

struct op_list {
	struct op *first;
	struct op *last;
};

static inline void op_list_push(struct op_list *list, struct op *op)
{
	struct op **at = list->first ? &list->last->next : &list->first;

	op->next = NULL;
	*at = op;
	list->last = op;
}

static inline struct op *op_list_pop(struct op_list *list)
{
	struct op *op = list->first;

	if (op)
		list->first = op->next;
	return op;
}

/* Takes `op`, which follows `before` (NULL: is the first), out of the list. */
static inline void op_list_cut(struct op_list *list, struct op *before, struct op *op)
{
	if (before)
		before->next = op->next;
	else
		list->first = op->next;
	if (list->last == op)
		list->last = before;
}

/* Finds the op whose first segment is `seq` and takes it out; NULL if it is not there. */
static inline struct op *op_list_take(struct op_list *list, uint64_t seq)
{
	struct op *before = NULL;

	for (struct op *op = list->first; op; before = op, op = op->next) {
		if (op->first_seq == seq) {
			op_list_cut(list, before, op);
			return op;
		}
	}
	return NULL;
}

#endif
