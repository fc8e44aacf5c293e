/* SPDX-License-Identifier: BSD-2-Clause */
/* collective.h - groups of endpoints, and the collectives of their members, as the driver above the device and the simulator see
 * them.
 *
 * A group has an id that its members compute for themselves: from their addresses, in order, and from how often this endpoint
 * has joined just these before. A group's collectives are numbered as they are begun. So the members call them in one order, and
 * join groups of the same members in one order, as fi_collective(3) and MPI demand.
 * Thread: holder of the driver role. Errors are negative errnos. */
#ifndef EMU_NIC_COLLECTIVE_H
#define EMU_NIC_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/base/thread_safety.h"

struct coll_group;
struct ep;
struct refusal;

enum coll_kind {
	COLL_BARRIER,
	COLL_BROADCAST,
	COLL_ALLTOALL,
	COLL_ALLREDUCE,
	COLL_ALLGATHER,
	COLL_REDUCE_SCATTER,
	COLL_REDUCE,
	COLL_SCATTER,
	COLL_GATHER,
	COLL_KINDS,
};

/* A group to be joined. */
struct coll_join {
	const uint64_t *members; /* their indices in the endpoint's AV, each once; the endpoint is one of them */
	uint32_t count;          /* 1 to LIMIT_MEMBERS */
	bool agreed;             /* the program has seen to it that all members join: no message is needed */
	/* The join has ended; `why` NULL: the endpoint is in the group. With the role; not a cancellation point. */
	void (*joined)(void *owner, const struct refusal *why);
	void *owner;
};

/* [role] 0 and *group, and joined() comes later; -EINVAL: the endpoint is no member, or an index is not in the AV; -ENOMEM. */
MUST_USE int coll_join(struct ep *ep, const struct coll_join *join, struct coll_group **group) REQUIRES(driver_role);
/* [role] The endpoint leaves the group. Collectives that have not ended do so with REFUSAL_CANCELLED, and the other members are
 * told. There is no joined() after this. */
void coll_leave(struct coll_group *group) REQUIRES(driver_role);
/* [role] The member's place in the group, from 0; UINT32_MAX: none has this index in the AV. */
uint32_t coll_rank(const struct coll_group *group, uint64_t index) REQUIRES(driver_role);
uint32_t coll_size(const struct coll_group *group) REQUIRES(driver_role);
uint32_t coll_own_rank(const struct coll_group *group) REQUIRES(driver_role);
/* [role] Has the join ended well? */
bool coll_is_joined(const struct coll_group *group) REQUIRES(driver_role);

/* One call, checked as a post is. `count` elements are what one member gives to one other, or gets from it. */
struct coll_post {
	enum coll_kind kind;
	uint32_t flags; /* POST_COMPLETE */
	uint32_t root;  /* rank; of those that have one */
	const void *buf;
	void *result; /* BROADCAST: the same as buf */
	void *desc[2];
	size_t count;
	uint8_t type, op; /* enum atomic_type, enum atomic_op; BARRIER: none */
	void *context;
	uint64_t cq_flags;
};

/* [role] 0; -EAGAIN: LIMIT_COLLECTIVES are begun, or unread errors choke the queue; -EMSGSIZE: beyond
 * LIMIT_COLL_BYTES; -ENOMEM. The completion goes to the
 * endpoint's transmit queue and to its counter of writes. */
MUST_USE int coll_begin(struct coll_group *group, const struct coll_post *post) REQUIRES(driver_role);
/* Is there such a reduction? Any values, any thread. */
bool coll_reduces(uint8_t type, uint8_t op);

#endif
