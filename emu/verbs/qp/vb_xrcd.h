/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_xrcd.h - XRC domains: shared receive queues that queue pairs of type XRC_RECV take by number. Any thread.
 *
 * Handles that were opened with one file have one domain, within the process: another process that opens the file has a domain of
 * its own. A shared receive queue, and each handle of a queue pair, belongs to the handle that it was made with. */
#ifndef EMU_VB_XRCD_H
#define EMU_VB_XRCD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/verbs/device/vb_context.h"

struct check_record;
struct pd;
struct vb_cq;
struct vb_qp;
struct vb_srq;
struct vb_xrc;
struct xrc;

struct vb_xrcd {
	struct ibv_xrcd ibv; /* the public struct has no more than the context */
	struct vb_context *context;
	struct vb_xrc *domain;
	struct check_record *check;
	atomic_uint users; /* queue pairs and shared receive queues */
};

static inline struct vb_xrcd *vb_xrcd_of(struct ibv_xrcd *ibv)
{
	return (struct vb_xrcd *)ibv;
}

/* False: none that is open, or of another context. */
bool vb_xrcd_is_of(struct ibv_xrcd *ibv, const struct ibv_context *context);
/* The device's domain, and a protection domain in which nothing is. */
struct xrc *vb_xrcd_device(const struct vb_xrcd *xrcd);
struct pd *vb_xrcd_pd(const struct vb_xrcd *xrcd);

/* A shared receive queue of the domain is there; or is there no longer. It keeps ibv_close_xrcd() at EBUSY. */
void vb_xrcd_add_srq(struct vb_xrcd *xrcd, struct vb_srq *srq);
void vb_xrcd_drop_srq(struct vb_xrcd *xrcd, struct vb_srq *srq);
/* The same, for a handle of a queue pair. */
void vb_xrcd_get(struct vb_xrcd *xrcd);
void vb_xrcd_put(struct vb_xrcd *xrcd);
/* It is found by its number, with one handle. */
void vb_xrcd_add_qp(struct vb_xrcd *xrcd, struct vb_qp *qp);
/* It has one handle fewer. True: that was the last one, and it is not found any more. */
bool vb_xrcd_drop_qp(struct vb_qp *qp);
/* The queue pair of that number, with one more handle, which is one of `xrcd`; NULL: the domain has none. */
struct vb_qp *vb_xrcd_open_qp(struct vb_xrcd *xrcd, uint32_t qp_num);
/* Each completion queue at which receives of the domain complete. */
void vb_xrcd_each_cq(const struct vb_xrc *domain, void (*each)(struct vb_cq *cq, void *arg), void *arg);

/* Of the context's table, as their man pages say. */
struct ibv_xrcd *vb_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int vb_close_xrcd(struct ibv_xrcd *xrcd);

#endif
