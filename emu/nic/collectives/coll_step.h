/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_step.h - a collective on its way through the rounds of its schedule.
 * Owner:  the endpoint's pool, from coll_begin() until its completion has been read.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_COLL_STEP_H
#define EMU_NIC_COLL_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/collectives/coll_ready.h"
#include "emu/nic/collectives/coll_schedule.h"
#include "emu/nic/queues/cq.h"
#include "emu/nic/regions/refusal.h"

struct coll_group;
struct ep;
struct op;
struct rx;
struct session;

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

#endif
