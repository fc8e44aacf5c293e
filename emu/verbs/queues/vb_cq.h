/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_cq.h - completion queues, plain and extended. Any thread; calls of vb_cq_ex.c as their man page has them.
 *
 * The device's queue (cq.h) overruns at `cqe` entries, and tells so by IBV_EVENT_CQ_ERR. It is woken once an arm
 * (ibv_req_notify_cq()), which adds an event to the channel. */
#ifndef EMU_VB_CQ_H
#define EMU_VB_CQ_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/nic/base/futex_lock.h"
#include "emu/nic/queues/cq.h"
#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/device/vb_events.h"

struct check_record;

struct vb_cq {
	union {
		struct ibv_cq ibv; /* a prefix of the extended one */
		struct ibv_cq_ex ex;
	};
	struct vb_context *context;
	struct check_record *check;
	struct vb_channel *channel; /* NULL: none */
	struct cq *cq;
	uint32_t handle;      /* what ibv.handle was: tells a queue from a stray pointer */
	bool tells_overrun;   /* without IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN */
	bool alone;           /* IBV_CREATE_CQ_ATTR_SINGLE_THREADED */
	atomic_uint users;    /* queue pairs and the like, once for each side */
	struct vb_pd *parent; /* of an extended one that was made with a parent domain; NULL: none */

	struct futex_lock polls; /* of a poll, from the take of an entry until its request is free; guards the next two */
	struct ibv_wc now;       /* the entry at which an extended poll is */
	uint64_t now_ns, wall_ns;

	struct vb_event event; /* in the channel, once for each arm that was used up */
	uint32_t comp_told;    /* of these, so many were taken: the channel's lock */
	uint32_t async_told;   /* likewise of asynchronous events: the lock of those */
};

static inline struct vb_cq *vb_cq_of(struct ibv_cq *ibv)
{
	return (struct vb_cq *)ibv;
}

/* False: no completion queue that is open, or of another context. */
bool vb_cq_is_of(struct ibv_cq *ibv, const struct ibv_context *context);
/* Completions that nobody has polled, and that `match` finds, are gone. A poll that has taken entries has them until it has freed
 * their requests. */
void vb_cq_forget(struct vb_cq *cq, bool (*match)(const struct completion *c, void *arg), void *arg);
/* One more user, which keeps ibv_destroy_cq() at EBUSY; or one less. */
static inline void vb_cq_get(struct vb_cq *cq)
{
	atomic_fetch_add(&cq->users, 1);
}
static inline void vb_cq_put(struct vb_cq *cq)
{
	atomic_fetch_sub(&cq->users, 1);
}

/* It fails: takes no completion any more, and tells so. With the driver role. */
void vb_cq_break(struct vb_cq *cq);
/* Makes one from what has been checked; `call` is the program's. NULL with errno, after a line of log. */
struct vb_cq *vb_cq_open(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr, const char *call);

/* Up to `count` entries that are there, errors in their place. The caller has cq->polls. */
int vb_cq_take(struct vb_cq *cq, int count, struct ibv_wc *wc);
/* Nothing was there: drives the device. Without cq->polls. */
void vb_cq_drive(struct vb_cq *cq);
/* And after that neither. If the queue is armed, the program goes to sleep now, in a call of ours or in one that we do not see. */
void vb_cq_found_none(struct vb_cq *cq);

/* Of the tables of the context, as their man pages say; `_checked` where the checker looks at posts (check_posts()). */
int vb_poll_cq(struct ibv_cq *ibv, int count, struct ibv_wc *wc);
int vb_poll_cq_checked(struct ibv_cq *ibv, int count, struct ibv_wc *wc);
int vb_req_notify_cq(struct ibv_cq *ibv, int solicited_only);
struct ibv_cq_ex *vb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/* --- vb_channel.c: completion channels, the events of queues behind a descriptor (vb_events.h). --- */

struct vb_channel {
	struct ibv_comp_channel ibv; /* refcnt: its queues, under the mutex of the context */
	struct vb_events events;
	struct check_record *check;
};

static inline struct vb_channel *vb_channel_of(struct ibv_comp_channel *ibv)
{
	return (struct vb_channel *)ibv;
}

/* So many `more` queues tell here, or less, as -1; returns how many do now. */
int vb_channel_users(struct vb_channel *channel, int more);
/* The queue's arm is used up. With the driver role. */
void vb_channel_tell(struct vb_channel *channel, struct vb_cq *cq);
/* The queue is about to end: no event of it comes any more. Returns how many were taken, which the program must acknowledge. */
uint32_t vb_channel_forget(struct vb_channel *channel, struct vb_cq *cq);

#endif
