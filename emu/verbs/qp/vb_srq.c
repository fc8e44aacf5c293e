/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_srq.c - shared receive queues: made, changed, queried, destroyed; the event of the limit. */
#include "emu/verbs/qp/vb_srq.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/device/nic.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/qp/vb_recv.h"
#include "emu/verbs/qp/vb_xrcd.h"
#include "emu/verbs/queues/vb_async.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/start/vb_refuse.h"

enum { CHANGES = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT };

static atomic_uint handles; /* given out so far */
static atomic_uint open_now;

/* --- made and destroyed --- */

static int srq_check_attr(const struct ibv_srq_attr *attr, const char *call)
{
	if (!attr->max_wr || attr->max_wr > VB_MAX_SRQ_WR) /* V127 */
		return vb_refuse(EINVAL, call, "max_wr is %u, and not within 1 to %d (max_srq_wr).", attr->max_wr, VB_MAX_SRQ_WR);
	if (attr->max_sge > VB_MAX_SGE)
		return vb_refuse(EINVAL, call, "max_sge is %u, and %d at most are possible (max_srq_sge).", attr->max_sge,
				 VB_MAX_SGE);
	return 0;
}

/* The device's context has room for all that a later ibv_modify_srq() may ask for; its memory is taken as it is needed. */
static int srq_open_device(struct vb_srq *srq, struct nic *nic, const char *call)
{
	int err = vb_context_enter(srq->context, call);

	if (err)
		return err;
	err = -srx_open(nic, VB_MAX_SRQ_WR, false, &srq->srx);
	vb_context_leave(srq->context);
	return err;
}

/* Peers find it by its number from here on (V187). */
static int srq_offer(struct vb_srq *srq, struct pd *pd, const char *call)
{
	int err = vb_context_enter(srq->context, call);

	if (err)
		return err;
	srx_offer(srq->srx,
		  &(struct srx_offer){ .xrc = vb_xrcd_device(srq->xrcd), .number = srq->handle, .cq = srq->cq->cq, .pd = pd });
	vb_context_leave(srq->context);
	return 0;
}

/* To those of a domain belong a queue and the domain itself. */
static struct ibv_srq *srq_open_xrc(struct ibv_srq *ibv, struct ibv_srq_init_attr_ex *attr, const char *call)
{
	struct vb_srq *srq = vb_srq_of(ibv);
	struct pd *pd = ibv ? vb_pd_device(srq->pd, call) : NULL;

	if (!ibv)
		return NULL;
	srq->xrcd = vb_xrcd_of(attr->xrcd);
	srq->cq = vb_cq_of(attr->cq);
	vb_cq_get(srq->cq);
	vb_xrcd_add_srq(srq->xrcd, srq);
	if (!pd || srq_offer(srq, pd, call)) {
		(void)ibv_destroy_srq(ibv);
		return NULL;
	}
	return ibv;
}

static struct ibv_srq *srq_open(struct ibv_pd *pd, void *srq_context, struct ibv_srq_attr *attr, const char *call)
{
	struct vb_context *context = vb_context_of(pd->context);
	bool fails = vb_fault("ibv_create_srq", pd->context, 0) || vb_pd_check(pd, call) || srq_check_attr(attr, call);
	struct nic *nic = fails ? NULL : vb_nic_get(context, call);
	struct vb_srq *srq;
	int err;

	if (!nic || vb_count_take(&open_now, VB_MAX_SRQ, call, "shared receive queues", "max_srq"))
		return NULL;
	srq = calloc(1, sizeof(*srq));
	err = srq ? vb_queue_open(&srq->queue, attr->max_wr, 0, true) : ENOMEM;
	if (!err) {
		srq->context = context;
		err = srq_open_device(srq, nic, call);
	}
	if (err) {
		if (srq)
			vb_queue_close(&srq->queue);
		free(srq);
		vb_count_give(&open_now);
		if (err == ENOMEM)
			vb_refuse(err, call, "no memory for %u receives.", attr->max_wr);
		errno = err;
		return NULL;
	}
	attr->max_sge = attr->max_sge ? attr->max_sge : 1;
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = srq_context;
	srq->ibv.pd = pd;
	srq->pd = vb_pd_of(pd); /* V12 */
	srq->sge_most = attr->max_sge;
	srq->handle = srq->ibv.handle = atomic_fetch_add(&handles, 1) + 1;
	srq->check = check_opened(&(struct check_what){ .name = "shared receive queue", .end = "ibv_destroy_srq" });
	mutex_init(&srq->lock);
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	vb_pd_get(srq->pd);
	vb_context_get(context);
	return &srq->ibv;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return srq_open(pd, attr->srq_context, &attr->attr, "ibv_create_srq");
}

struct ibv_srq *vb_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	static const char call[] = "ibv_create_srq_ex";
	uint32_t known = IBV_SRQ_INIT_ATTR_RESERVED - 1;
	bool xrc;

	if (attr->comp_mask & ~known)
		return vb_absent_null(call, "comp_mask 0x%x has unknown bits.", attr->comp_mask); /* as libibverbs does */
	xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC && !xrc)
		return vb_absent_null(call, "srq_type %d: there are basic queues and those of XRC.", (int)attr->srq_type);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return vb_refuse_null(EINVAL, call, "a queue needs a pd of this context, and IBV_SRQ_INIT_ATTR_PD in comp_mask.");
	if (!xrc)
		return srq_open(attr->pd, attr->srq_context, &attr->attr, call);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !vb_xrcd_is_of(attr->xrcd, context) ||
	    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !vb_cq_is_of(attr->cq, context))
		return vb_refuse_null(EINVAL, call,
				      "a queue of XRC needs an xrcd and a cq of this context, and IBV_SRQ_INIT_ATTR_XRCD | "
				      "IBV_SRQ_INIT_ATTR_CQ in comp_mask.");
	return srq_open_xrc(srq_open(attr->pd, attr->srq_context, &attr->attr, call), attr, call);
}

/* 0, or what is wrong with the handle. */
static int srq_check_handle(const struct vb_srq *srq, const char *call)
{
	return vb_check_handle(srq->context, srq->ibv.handle, srq->handle, "shared receive queue", call);
}

bool vb_srq_is_of(struct ibv_srq *ibv, const struct ibv_context *context)
{
	return ibv && ibv->context == context && ibv->handle == vb_srq_of(ibv)->handle;
}

static int srq_close_device(struct vb_srq *srq)
{
	int err = vb_context_enter(srq->context, "ibv_destroy_srq");

	if (err)
		return err;
	srx_tell_low(srq->srx, 0, NULL, NULL);
	err = -srx_close(srq->srx);
	vb_context_leave(srq->context);
	return err;
}

static bool is_of_srq(const struct completion *c, void *arg)
{
	const struct vb_srq *srq = arg;
	const struct vb_wr *wr = c->context;

	return wr->queue == &srq->queue;
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct vb_srq *srq = vb_srq_of(ibv);
	bool inherited = !vb_context_usable(srq->context);
	unsigned int users = atomic_load(&srq->users);
	int err = inherited ? 0 : srq_check_handle(srq, "ibv_destroy_srq");

	if (!err && users && !inherited) /* V4 */
		err = vb_refuse(EBUSY, "ibv_destroy_srq", "%u queue pairs use it. Destroy them first.", users);
	if (!err && !inherited)
		err = srq_close_device(srq);
	if (err)
		return err;
	if (!inherited)
		vb_await_acks(&ibv->mutex, &ibv->cond, &ibv->events_completed, vb_async_forget(srq->context, ibv, &srq->told));
	if (srq->xrcd) {
		vb_xrcd_drop_srq(srq->xrcd, srq);
		if (!inherited)
			vb_cq_forget(srq->cq, is_of_srq, srq);
		vb_cq_put(srq->cq);
	}
	vb_queue_close(&srq->queue);
	vb_pd_put(srq->pd);
	vb_context_put(srq->context);
	vb_count_give(&open_now);
	mutex_destroy(&srq->lock);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	check_settle(); /* receives that nobody took have ended */
	check_closed(srq->check);
	free(srq);
	return 0;
}

/* --- posted to --- */

int vb_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vb_srq *srq = vb_srq_of(ibv);
	const struct vb_recv_to to = { .call = "ibv_post_srq_recv",
				       .sge_name = "max_sge",
				       .wr_name = "max_wr",
				       .pd = srq->pd,
				       .queue = &srq->queue,
				       .sge_most = srq->sge_most,
				       .watched = check_posts(),
				       .srx = srq->srx };
	int err = srq_check_handle(srq, to.call);

	if (!err)
		err = vb_fault(to.call, ibv->context, 0);
	if (err) {
		*bad = wr;
		return err;
	}
	mutex_lock(&srq->lock);
	err = vb_recv_list(&to, wr, bad);
	mutex_unlock(&srq->lock);
	return err;
}

/* --- changed --- */

/* With the driver role: fewer receives wait than srq_limit. */
static void srq_is_low(void *arg)
{
	struct vb_srq *srq = arg;
	struct ibv_async_event event = { .element.srq = &srq->ibv, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED };

	atomic_store(&srq->limit, 0); /* V128 */
	vb_async_tell(srq->context, &event, &srq->told);
}

static int srq_set_limit(struct vb_srq *srq, uint32_t limit)
{
	int err = vb_context_enter(srq->context, "ibv_modify_srq");

	if (err)
		return err;
	(void)nic_work(atomic_load(&srq->context->nic)); /* receives that were posted before wait from now on */
	atomic_store(&srq->limit, limit);
	srx_tell_low(srq->srx, limit, srq_is_low, srq);
	vb_context_leave(srq->context);
	return 0;
}

/* With its lock. */
static int srq_change(struct vb_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	uint32_t max_wr = mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->queue.size;
	uint32_t limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : atomic_load(&srq->limit);
	int err = 0;

	if (!max_wr || max_wr > VB_MAX_SRQ_WR)
		return vb_refuse(EINVAL, "ibv_modify_srq", "max_wr is %u, and not within 1 to %d (max_srq_wr).", max_wr,
				 VB_MAX_SRQ_WR);
	if (limit > max_wr) /* V129 */
		return vb_refuse(EINVAL, "ibv_modify_srq", "srq_limit is %u, and max_wr %u.", limit, max_wr);
	if (mask & IBV_SRQ_MAX_WR)
		err = vb_queue_resize(&srq->queue, max_wr);
	if (err)
		return vb_refuse(err, "ibv_modify_srq",
				 err == EINVAL ? "max_wr is %u, and more receives are posted and not polled."
					       : "no memory for %u receives.",
				 max_wr);
	return mask & IBV_SRQ_LIMIT ? srq_set_limit(srq, attr->srq_limit) : 0;
}

int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct vb_srq *srq = vb_srq_of(ibv);
	int err = srq_check_handle(srq, "ibv_modify_srq");

	if (err)
		return err;
	if (mask & ~CHANGES)
		return vb_refuse(EINVAL, "ibv_modify_srq", "srq_attr_mask 0x%x has unknown bits.", (unsigned int)mask);
	mutex_lock(&srq->lock);
	err = srq_change(srq, attr, mask);
	mutex_unlock(&srq->lock);
	return err;
}

int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct vb_srq *srq = vb_srq_of(ibv);
	int err = srq_check_handle(srq, "ibv_query_srq");

	if (err)
		return err;
	mutex_lock(&srq->lock);
	attr->max_wr = srq->queue.size;
	mutex_unlock(&srq->lock);
	attr->max_sge = srq->sge_most;
	attr->srq_limit = atomic_load(&srq->limit);
	return 0;
}

int vb_get_srq_num(struct ibv_srq *ibv, uint32_t *number)
{
	int err = srq_check_handle(vb_srq_of(ibv), "ibv_get_srq_num");

	if (!err)
		*number = vb_srq_of(ibv)->handle;
	return err;
}
