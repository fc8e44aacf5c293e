/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_srq.h - shared receive queues. Any thread.
 *
 * The device's part is a shared receive context (srx_open()): a message takes the receive that was posted first, and the receive
 * completes where the message arrived. */
#ifndef EMU_VB_SRQ_H
#define EMU_VB_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/nic/base/mutex.h"
#include "emu/verbs/queues/vb_wr.h"
#include "emu/verbs/regions/vb_pd.h"

struct srx;
struct check_record;
struct vb_cq;
struct vb_xrcd;

struct vb_srq {
	struct ibv_srq ibv;
	struct vb_context *context;
	struct vb_pd *pd;
	struct srx *srx;
	struct check_record *check;
	struct vb_xrcd *xrcd; /* of type XRC; else NULL, and so are the next two */
	struct vb_cq *cq;     /* where its receives complete */
	struct vb_srq *next;  /* of its domain (vb_xrcd.c) */
	uint32_t handle;      /* what ibv.handle was; also its number (ibv_get_srq_num()) */
	uint32_t sge_most;    /* max_sge */
	atomic_uint limit;    /* srq_limit; 0: nothing is told, or it was told */
	atomic_uint users;    /* queue pairs */
	struct mutex lock;    /* of posts, and of changes */
	struct vb_queue queue;
	uint32_t told; /* asynchronous events that were read: the lock of those */
};

static inline struct vb_srq *vb_srq_of(struct ibv_srq *ibv)
{
	return (struct vb_srq *)ibv;
}

/* False: no shared receive queue that is open, or of another context. */
bool vb_srq_is_of(struct ibv_srq *ibv, const struct ibv_context *context);
/* One more queue pair, which keeps ibv_destroy_srq() at EBUSY; or one less. */
static inline void vb_srq_get(struct vb_srq *srq)
{
	atomic_fetch_add(&srq->users, 1);
}
static inline void vb_srq_put(struct vb_srq *srq)
{
	atomic_fetch_sub(&srq->users, 1);
}

/* Of the tables of the context, as their man pages say. */
struct ibv_srq *vb_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int vb_get_srq_num(struct ibv_srq *ibv, uint32_t *number);

#endif
