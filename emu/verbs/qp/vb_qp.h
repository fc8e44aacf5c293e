/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp.h - queue pairs: what they consist of, and what their files share.
 *
 * `modify` guards the attributes and the order of ibv_modify_qp(), ibv_query_qp() and ibv_destroy_qp(); the send and the receive
 * lock the posts of each side. ibv.state is written under the driver role, as the device may change it, too (CM_HALTED). */
#ifndef EMU_VB_QP_H
#define EMU_VB_QP_H

#include <stdatomic.h>

#include "emu/nic/base/futex_lock.h"
#include "emu/nic/base/mutex.h"
#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/qp/vb_qp_ex.h"
#include "emu/verbs/queues/vb_wr.h"

struct binding_end;
struct cm_event;
struct ep;
struct pd;
struct trigger;
struct check_record;
struct vb_cq;
struct vb_pd;
struct vb_qp_kind;
struct vb_qp_port;
struct vb_srq;
struct vb_xrc;
struct vb_xrcd;

struct vb_qp {
	struct vb_qp_head head; /* begins with the public struct */
	const struct vb_qp_kind *kind;
	struct vb_context *context;
	struct vb_pd *pd;
	struct vb_cq *send_cq, *recv_cq;
	struct vb_srq *srq;   /* NULL: it has receives of its own */
	struct vb_xrcd *xrcd; /* XRC_RECV: what this handle was opened with; then it has no PD and no queues; else NULL */
	struct vb_qp *real;   /* of a handle that ibv_open_qp() made, and that has no more than both: the queue pair; else NULL */
	struct vb_xrc *domain;
	struct vb_qp *next; /* of its domain (vb_xrcd.c) */
	unsigned int opens; /* handles of it, with the domain's lock */
	struct ibv_qp_cap cap;
	bool signals_all;              /* sq_sig_all */
	bool tells_drained;            /* with the driver role */
	atomic_bool draining;          /* in SQD: requests that had begun are under way */
	atomic_bool reads_none;        /* max_rd_atomic was set to 0 */
	const struct trigger *watched; /* check_posts() */
	struct check_record *check;
	struct vb_qp_port *port;
	struct ep *ep;
	struct binding_end *windows; /* memory windows of type 2 that it has bound; with the driver role */
	struct mutex modify;
	struct ibv_qp_attr attr; /* as modified so far; the state is ibv.state */
	struct futex_lock send_lock, recv_lock;
	struct vb_queue sq, rq; /* each by its lock; ep_attr.tag is the address of rq */
	atomic_uint qkey;       /* of attr, for posts */
	uint32_t async_told;
	uint32_t number; /* of its creation in the process, from 1: fault plans know it by that */
};

static inline struct vb_qp *vb_qp_of(struct ibv_qp *ibv)
{
	return (struct vb_qp *)ibv;
}

/* The queue pair that a handle is of. */
static inline struct vb_qp *vb_qp_real(struct vb_qp *handle)
{
	return handle->real ? handle->real : handle;
}

/* The state as it is now: any thread. */
static inline enum ibv_qp_state vb_qp_state(const struct vb_qp *qp)
{
	return __atomic_load_n(&qp->head.ibv.state, __ATOMIC_ACQUIRE);
}
/* With the driver role. */
static inline void vb_qp_enter(struct vb_qp *qp, enum ibv_qp_state state)
{
	__atomic_store_n(&qp->head.ibv.state, state, __ATOMIC_RELEASE);
}

/* 0; or after a line of log ENOENT: no queue pair that is open, or ENODEV: of a fork's parent. */
int vb_qp_check_handle(struct vb_qp *qp, const char *call);

/* What the endpoint may do (enum ep_cap), by its kind and qp_access_flags, in enum ibv_access_flags (vb_qp_modify.c). */
uint32_t vb_qp_caps(const struct vb_qp *qp, unsigned int access);
/* An asynchronous event of it (vb_async.h). Any thread, also with the driver role. */
void vb_qp_tell(struct vb_qp *qp, enum ibv_event_type type);
/* To ERR from any state but RESET; `fatal`: with IBV_EVENT_QP_FATAL. */
void vb_qp_fail(struct vb_qp *qp, bool fatal) REQUIRES(driver_role);
/* The completions that nobody has polled are gone, and their records free. No post comes meanwhile; without the driver role. */
void vb_qp_purge(struct vb_qp *qp);

/* --- listeners, of up to 256 queue pairs each (vb_qp_port.c) --- */

/* Opens the endpoint of `qp` behind a listener that has room, or a new one. 0; or a positive errno, after a line of log. Waits for
 * the driver role. */
int vb_qp_port_open(struct vb_qp *qp, struct pd *pd, const char *call);
/* The endpoint was closed. */
void vb_qp_port_close(struct vb_qp *qp) REQUIRES(driver_role);

/* --- posts (vb_send.c; vb_recv.h): of the context's table --- */

int vb_post_send_op(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* Of ibv_bind_mw(): one request that binds a window of type 1. 0 or an errno, after a line of log. */
int vb_post_bind(struct ibv_qp *qp, const struct ibv_send_wr *wr);

/* --- of the context's table, as its man page says (vb_qp.c) --- */

struct ibv_qp *vb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *vb_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
/* What the device tells of one (cm.h): it has gone to ERR by itself, is drained, hears its peer first, or waits. Always true. With
 * the driver role. */
bool vb_qp_event(void *owner, const struct cm_event *event);

#endif
