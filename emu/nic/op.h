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

#include "emu/nic/cq.h"
#include "emu/nic/limits.h"
#include "emu/nic/refusal.h"

struct ep;
struct pool;
struct session;

enum op_kind { OP_SEND = 0, OP_WRITE = 1, OP_READ = 2 };

/* Same values as libfabric's completion flags; emu/fi asserts it. */
#define CQ_F_MSG		(1ull << 1)
#define CQ_F_RMA		(1ull << 2)
#define CQ_F_TAGGED		(1ull << 3)
#define CQ_F_READ		(1ull << 8)
#define CQ_F_WRITE		(1ull << 9)
#define CQ_F_RECV		(1ull << 10)
#define CQ_F_SEND		(1ull << 11)
#define CQ_F_REMOTE_READ	(1ull << 12)
#define CQ_F_REMOTE_WRITE	(1ull << 13)
#define CQ_F_REMOTE_CQ_DATA	(1ull << 17)

enum post_flag {
	POST_COMPLETE = 0x1,	/* a success makes an entry in the queue (errors always do, unless POST_SILENT) */
	POST_INJECT = 0x2,	/* the payload, at most LIMIT_INJECT bytes, is copied: the buffer is free on return */
	POST_FENCE = 0x4,	/* starts only when all earlier ops to the same peer are complete */
	POST_CQ_DATA = 0x8,	/* cq_data goes to the peer's completion */
};

struct remote {
	uint64_t addr;
	uint64_t length;
	uint64_t key;
};

/* One data transfer call, flags translated. Everything pointed to may go when the call returns, but for the payload. */
struct post {
	enum op_kind kind;
	uint32_t flags;			/* enum post_flag */
	uint64_t dest;			/* index in the endpoint's AV */
	const struct iovec *iov;	/* up to LIMIT_IOV */
	size_t   iov_count;
	const struct remote *remote;	/* RMA: 1 to LIMIT_IOV; their lengths sum to those of iov */
	size_t   remote_count;
	uint64_t cq_data;
	void    *context;
	uint64_t cq_flags;		/* what its completion reports */
};

struct recv_post {
	const struct iovec *iov;	/* 0 to LIMIT_IOV */
	size_t   iov_count;
	uint32_t flags;			/* POST_COMPLETE */
	uint64_t source;		/* AV index this receive is for, AV_NONE: any (directed receive) */
	void    *context;
	uint64_t cq_flags;
};

enum op_state {
	OP_QUEUED,	/* in the submit queue or its session's queue; nothing of it was sent */
	OP_SENDING,	/* some segments are on their way */
	OP_SENT,	/* all are; waits for the acknowledgement (READ: also for data) */
	OP_PARKED,	/* SEND: the receiver has the envelope only and will pull */
};

/* One request on the wire. A post with several remote ranges becomes several ops that end as one (leader). */
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
	uint8_t  iov_count;
	uint64_t dest;
	uint64_t first_seq, last_seq;	/* of its segments sent so far */
	uint64_t length;
	uint64_t moved;		/* bytes handed to the connection, or received (READ) */
	struct remote remote;
	uint64_t cq_data;
	struct refusal why;	/* leader: the group's first refusal */
	struct cq_node done;
	struct iovec iov[LIMIT_IOV];
	uint8_t inject[LIMIT_INJECT];
};

#endif
