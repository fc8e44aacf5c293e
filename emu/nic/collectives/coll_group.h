/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_group.h - the groups of an endpoint, as the device sees them.
 *
 * A member's messages are matched by receives of their own (`srx`), which a program's never meet. The tag that they are matched
 * by is made of the group's id, of the collective and its step, and of the sender's address by a secret hash: so nobody but a
 * member can send a message that is taken for that member's.
 * Owner: the endpoint. Thread: holder of the driver role. */
#ifndef EMU_NIC_COLL_GROUP_H
#define EMU_NIC_COLL_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/collectives/coll_ready.h"
#include "emu/nic/collectives/collective.h"
#include "emu/nic/regions/refusal.h"
#include "wire/codec.h"

struct coll;
struct ep;
struct message;
struct pool;
struct session;
struct srx;

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

#endif
