/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_recv.h - posts of receives, to a queue pair or a shared receive queue. */
#ifndef EMU_VB_RECV_H
#define EMU_VB_RECV_H

#include <stdbool.h>

#include "emu/verbs/start/vb_abi.h"

struct ep;
struct srx;
struct trigger;
struct vb_pd;
struct vb_queue;

/* Where receives go. */
struct vb_recv_to {
	const char *call, *sge_name, *wr_name; /* for sentences: the limits' names, too */
	const struct vb_pd *pd;                /* its lkeys are taken */
	struct vb_queue *queue;                /* of records */
	uint64_t number;                       /* of the queue pair, as fault plans count them; 0: shared */
	uint32_t sge_most;                     /* buffers of a receive */
	const struct trigger *watched;         /* check_posts() */
	struct ep *ep;                         /* the device's: either this, */
	struct srx *srx;                       /* or this */
	bool datagrams;                        /* their headers come first */
};

/* A list, up to the first receive that is refused, which is *bad: 0 or an errno, after a line of log. The caller has the lock of
 * posts to the queue. */
int vb_recv_list(const struct vb_recv_to *to, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* Of the context's table, as their man pages say. Any thread. */
int vb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int vb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
