/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_impl.h - groups, the collectives that run in them, and their turns, for emu/nic alone.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_COLL_IMPL_H
#define EMU_NIC_COLL_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/collectives/coll_schedule.h"
#include "emu/nic/collectives/collective.h"
#include "emu/nic/queues/cq.h"
#include "emu/nic/regions/refusal.h"
#include "wire/codec.h"

struct coll;
struct coll_group;
struct ep;
struct message;
struct nic;
struct op;
struct pool;
struct rx;
struct session;
struct srx;

/* --- what can get on (coll_ready.c) ---
 * One after the other, and a bounded part of it in each slice. No step runs inside another, so a peer's messages never nest
 * calls. */

struct coll_ready {
	struct coll_ready *next;
	bool queued;
	/* Takes a step; *budget: bytes that may still be copied or reduced in this slice. It may queue itself again. */
	void (*step)(struct coll_ready *ready, uint64_t *budget);
};

/* Has it step in this slice or, outside of one, in the next. */
void coll_queue(struct nic *nic, struct coll_ready *ready);
/* It is about to go. */
void coll_unqueue(struct nic *nic, struct coll_ready *ready);
void coll_work(struct nic *nic); /* steps */
/* Something is queued, and this slice may not see it, as connections also break while it sends, at its end: has another slice
 * come at once. */
void coll_again(struct nic *nic);

/* --- the groups of an endpoint, as the device sees them (coll_group.c) ---
 * A member's messages are matched by receives of their own (`srx`), which a program's never meet. The tag that they are matched by
 * is made of the group's id, of the collective and its step, and of the sender's address by a secret hash: so nobody but a member
 * can send a message that is taken for that member's. The endpoint's. */

struct coll_member {
	struct sockaddr_storage at; /* canonical */
	uint64_t hash;              /* secret hash of that */
	uint64_t index;             /* in the AV */
};

struct coll_group {
	struct coll_ready ready; /* broken: the others are to be told */
	struct ep *ep;
	struct coll_group *next;
	uint64_t id;
	uint64_t begun;  /* collectives so far, the join included */
	uint64_t wanted; /* others wait until this member has begun so many */
	uint32_t size, rank;
	bool joined;
	bool closed;        /* the last collective that ends frees it, or has it remembered */
	bool left;          /* in collectives.left: a message of a collective that this member has not begun breaks it */
	bool told;          /* the others, that it is broken */
	struct refusal why; /* cause not REFUSAL_NONE: broken. Its collectives end for it, and so do those begun later */
	uint64_t knows;     /* secret hash of the member that need not be told: it has broken the group */
	void (*tell)(void *owner, const struct refusal *why);
	void *owner;
	struct coll_member member[];
};

/* How often the endpoint has joined a group of these members. */
struct coll_joins {
	struct coll_joins *next;
	uint64_t members; /* digest of them */
	uint64_t times;
};

/* A group was left by one of its members before it was joined here. */
struct coll_abort {
	uint64_t id, hash; /* hash 0: free */
	uint32_t cause;
};

struct collectives {
	struct srx *srx;
	struct pool *ops;   /* of messages that leave */
	struct pool *colls; /* struct coll */
	struct coll_group *groups;
	uint32_t group_count;
	struct coll_group *left; /* the newest first */
	uint32_t left_count;
	struct coll *running;
	struct coll_joins *joins;
	struct coll_abort abort[LIMIT_COLL_ABORTS];
	uint32_t next_abort;
};

/* 0 or -ENOMEM. */
MUST_USE int collectives_open(struct ep *ep);
/* The endpoint closes: all ends here, and no other member is told: its goodbye does that. Then frees. */
void collectives_end(struct ep *ep);
void collectives_close(struct ep *ep);

/* The tag of a receive; `call_step` as in the frame's cq_data. */
uint64_t coll_tag(const struct coll_group *group, uint32_t rank, uint64_t call_step);
/* A collective has begun: what came before it? */
void coll_compare_early(struct coll_group *group);

/* The group cannot be used any more; its collectives end, and the other members are told. */
void coll_break(struct coll_group *group, const struct refusal *why);
/* If it is closed and nothing runs in it: frees it; or keeps it in `left`, if the others have not been told. */
void coll_group_left(struct coll_group *group);

/* --- a collective on its way through the rounds of its schedule (coll_step.c) ---
 * The endpoint's pool's, from coll_begin() until its completion has been read. */

struct coll {
	struct coll_ready ready;
	struct coll *next; /* of the endpoint's */
	struct coll_group *group;
	struct pool *pool;
	uint64_t call; /* number and signature, as in the frame's cq_data with step 0 */
	struct coll_shape shape;
	uint8_t type, op;
	bool is_join;
	bool ending;
	uint32_t flags; /* POST_COMPLETE */
	uint8_t *buffer[COLL_BUFFERS];
	uint32_t at; /* round */
	struct coll_round round;
	uint32_t chore; /* those before are done, and so many bytes of this one */
	uint64_t chore_done;
	uint32_t sent, posted;              /* of the round's messages */
	uint32_t sends_left, receives_left; /* of those */
	struct session *awaited[COLL_FAN];  /* for each receive of the round that waits */
	uint8_t looks;                      /* at those, since the last of them began to wait */
	struct refusal why;                 /* cause not REFUSAL_NONE: it fails */
	uint64_t named[2];                  /* regions (named.h) */
	struct cq_node done;
};

/* The group's first collective, a barrier, whose end is coll_joined(). `agreed`: it ends at once. 0, -EAGAIN or -ENOMEM. */
MUST_USE int coll_begin_join(struct coll_group *group, bool agreed);
void coll_joined(struct coll_group *group, const struct refusal *why); /* coll_group.c; why NULL: it is in the group */
/* Ends it with this cause; its messages are taken back. */
void coll_end(struct coll *coll, const struct refusal *why);
/* Sends a member an empty message with that cq_data, whose end nobody waits for. False: no op is free, or no session. */
bool coll_say(const struct coll_group *group, uint32_t rank, uint64_t call_step);

/* A message of this call (cq_data of its frame) came, and no receive took it. Another signature than that of the collective of
 * this number means that members disagree. */
void coll_compare(const struct coll_group *group, uint64_t call);
/* A region is closed: collectives that name it end. */
void coll_recall(struct ep *ep, uint64_t desc);

/* --- members that are waited for long (coll_wait.c) ---
 * Each is told once that it is: one that has left the group, or leaves it before that call, then ends the call for all. No schedule
 * has a message from each member to each other, so one that left may hear of no call by itself. */

/* A receive of a collective begins to wait, and no look is due. */
void coll_look_later(struct nic *nic);
/* Timers; returns when the next look is due, UINT64_MAX: nothing waits that has not told so. */
uint64_t coll_look(struct nic *nic);

#endif
