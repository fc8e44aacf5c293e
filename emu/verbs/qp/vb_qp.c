/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp.c - queue pairs are made, queried and destroyed. */
#include "emu/verbs/qp/vb_qp.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/cm.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/process/check/check.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/qp/vb_qp_kind.h"
#include "emu/verbs/qp/vb_srq.h"
#include "emu/verbs/qp/vb_xrcd.h"
#include "emu/verbs/queues/vb_async.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/regions/vb_pd.h"
#include "emu/verbs/start/vb_refuse.h"

#define CALL "ibv_create_qp"

enum { NAME_TEXT = 64 };

static atomic_uint open_qps; /* of the process */
static atomic_uint numbers;  /* given out so far */

int vb_qp_check_handle(struct vb_qp *qp, const char *call)
{
	return vb_check_handle(qp->context, qp->head.ibv.handle, qp->rq.qp_num, "queue pair", call);
}

/* InfiniBand's kind of the refusal of a peer's request: of its operation, or of the access to memory. Misaligned atomics and too
 * many READs at a time count as such. */
static enum ibv_event_type refusal_event(enum refusal_cause cause)
{
	switch (cause) {
	case REFUSAL_ATOMIC:
	case REFUSAL_MESSAGE_LONG:
	case REFUSAL_NO_SRX:
	case REFUSAL_PROTOCOL:
		return IBV_EVENT_QP_REQ_ERR;
	case REFUSAL_RESOURCE:
		return IBV_EVENT_QP_FATAL;
	default:
		return IBV_EVENT_QP_ACCESS_ERR;
	}
}

/* A program that stays in RTR on purpose has a peer in RTS, and is not told of. */
static void tell_both_wait(const struct vb_qp *qp, const struct sockaddr_storage *peer)
{
	char name[NAME_TEXT];

	check_tell(&(struct check_finding){ .cause = CHECK_BOTH_WAIT, .call = "ibv_modify_qp" },
		   "QPN 0x%06x and its peer, %s, are both in RTR: they receive, and neither sends", qp->rq.qp_num,
		   address_text(peer, name, sizeof(name)));
}

void vb_qp_tell(struct vb_qp *qp, enum ibv_event_type type)
{
	vb_async_tell(qp->context, &(struct ibv_async_event){ .element.qp = &qp->head.ibv, .event_type = type }, &qp->async_told);
}

bool vb_qp_event(void *owner, const struct cm_event *event)
{
	struct vb_qp *qp = owner;

	if (event->kind == CM_WAITS)
		tell_both_wait(qp, event->peer);
	if (event->kind == CM_HEARD)
		vb_qp_tell(qp, IBV_EVENT_COMM_EST);
	if (event->kind == CM_DRAINED) {
		atomic_store(&qp->draining, false);
		if (qp->tells_drained)
			vb_qp_tell(qp, IBV_EVENT_SQ_DRAINED);
	}
	if (event->kind == CM_STOPPED) { /* V147, V184 */
		atomic_store(&qp->draining, false);
		vb_qp_enter(qp, IBV_QPS_SQE);
	}
	if (event->kind != CM_HALTED)
		return true;
	vb_qp_enter(qp, IBV_QPS_ERR);                        /* V42, V63 */
	if (event->cause != REFUSAL_NONE)                    /* else a completion tells it */
		vb_qp_tell(qp, refusal_event(event->cause)); /* V41 */
	if (qp->srq)                                         /* it takes no receive from there any more */
		vb_qp_tell(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	return true;
}

/* --- made --- */

static int check_cap(const struct ibv_qp_cap *cap)
{
	if (cap->max_send_wr > VB_MAX_QP_WR || cap->max_recv_wr > VB_MAX_QP_WR)
		return vb_refuse(EINVAL, CALL, "max_send_wr %u or max_recv_wr %u is beyond max_qp_wr, %d.", cap->max_send_wr,
				 cap->max_recv_wr, VB_MAX_QP_WR);
	if (cap->max_send_sge > VB_MAX_SGE || cap->max_recv_sge > VB_MAX_SGE)
		return vb_refuse(EINVAL, CALL, "max_send_sge %u or max_recv_sge %u is beyond max_sge, %d.", cap->max_send_sge,
				 cap->max_recv_sge, VB_MAX_SGE);
	if (cap->max_inline_data <= VB_MAX_INLINE)
		return 0;
	/* No attribute tells how many there may be, so programs try: libfabric's provider verbs does. */
	vb_inform(CALL, "max_inline_data is %u, and the device copies up to %d bytes.", cap->max_inline_data, VB_MAX_INLINE);
	return errno = EINVAL;
}

/* What a queue pair has of what was asked for: a request has one buffer at least, and receives of an SRQ are none of its own. */
static struct ibv_qp_cap cap_of(const struct vb_qp_kind *kind, const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_cap cap = attr->cap;

	cap.max_send_sge += !cap.max_send_sge;
	cap.max_recv_sge += !cap.max_recv_sge;
	if (attr->srq || kind->lacks & VB_QP_RECEIVES)
		cap.max_recv_wr = cap.max_recv_sge = 0;
	if (kind->lacks & VB_QP_SENDS)
		cap.max_send_wr = cap.max_send_sge = cap.max_inline_data = 0;
	return cap;
}

/* XRC_RECV: all that it has is its domain's. */
static int check_xrc(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !vb_xrcd_is_of(attr->xrcd, context))
		return vb_refuse(EINVAL, CALL, "xrcd is no XRC domain of this context (IBV_QP_INIT_ATTR_XRCD).");
	return 0;
}

static int check_init(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const struct vb_qp_kind *kind = vb_qp_kind(attr->qp_type);
	struct ibv_qp_cap cap;

	if (!kind)
		return vb_absent(CALL, "qp_type %d (enum ibv_qp_type): this device has no queue pairs of that type.",
				 (int)attr->qp_type);
	if (attr->comp_mask & ~kind->init_attrs || (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags))
		return vb_absent(CALL, "comp_mask 0x%x or create_flags 0x%x asks for what %s queue pairs have not.",
				 attr->comp_mask, attr->create_flags, kind->name);
	if (kind->lacks & VB_QP_SENDS)
		return check_xrc(context, attr);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd)
		return vb_refuse(EINVAL, CALL, "there is no PD (IBV_QP_INIT_ATTR_PD).");
	if (vb_pd_check(attr->pd, CALL))
		return ENOENT;
	if (attr->pd->context != context) /* V1 */
		return vb_refuse(EINVAL, CALL, "the PD is of another context.");
	if (!vb_cq_is_of(attr->send_cq, context))
		return vb_refuse(EINVAL, CALL, "send_cq is no completion queue of this context.");
	if (!(kind->lacks & VB_QP_RECEIVES) && attr->srq && !vb_srq_is_of(attr->srq, context))
		return vb_refuse(EINVAL, CALL, "srq is no shared receive queue of this context.");
	if (!(kind->lacks & VB_QP_RECEIVES) && attr->srq && vb_srq_of(attr->srq)->xrcd) /* as the kernel does */
		return vb_refuse(EINVAL, CALL, "srq is one of XRC, which XRC_RECV queue pairs take by number.");
	if (!(kind->lacks & VB_QP_RECEIVES) && !vb_cq_is_of(attr->recv_cq, context))
		return vb_refuse(EINVAL, CALL, "recv_cq is no completion queue of this context.");
	cap = cap_of(kind, attr);
	return check_cap(&cap);
}

static void references(struct vb_qp *qp, bool take)
{
	if (qp->pd)
		(take ? vb_pd_get : vb_pd_put)(qp->pd);
	if (qp->send_cq)
		(take ? vb_cq_get : vb_cq_put)(qp->send_cq);
	if (qp->recv_cq)
		(take ? vb_cq_get : vb_cq_put)(qp->recv_cq);
	if (qp->srq)
		(take ? vb_srq_get : vb_srq_put)(qp->srq);
	(take ? vb_context_get : vb_context_put)(qp->context);
}

/* Numbers of requests that are zero still have a queue. */
static int open_queues(struct vb_qp *qp)
{
	int err = vb_queue_open(&qp->sq, qp->cap.max_send_wr, 0, false);

	qp->windows = calloc(1, sizeof(*qp->windows));
	if (!qp->windows)
		err = ENOMEM;
	if (!err)
		err = vb_queue_open(&qp->rq, qp->cap.max_recv_wr, 0, false);
	return err;
}

static void qp_free(struct vb_qp *qp)
{
	vb_qp_ex_fini(&qp->head);
	vb_queue_close(&qp->sq);
	vb_queue_close(&qp->rq);
	free(qp->windows);
	pthread_mutex_destroy(&qp->head.ibv.mutex);
	pthread_cond_destroy(&qp->head.ibv.cond);
	free(qp);
}

static void fill_public(struct vb_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *ibv = &qp->head.ibv;

	ibv->context = &qp->context->abi.context;
	ibv->qp_context = attr->qp_context;
	ibv->pd = qp->pd ? attr->pd : NULL;
	ibv->send_cq = qp->send_cq ? attr->send_cq : NULL;
	ibv->recv_cq = qp->recv_cq ? attr->recv_cq : NULL;
	ibv->srq = qp->srq ? attr->srq : NULL;
	ibv->qp_num = qp->sq.qp_num = qp->rq.qp_num = ep_qpn(qp->ep);
	ibv->handle = ibv->qp_num;
	qp->number = atomic_fetch_add(&numbers, 1) + 1;
	ibv->qp_type = attr->qp_type;
	ibv->state = IBV_QPS_RESET; /* V43 */
}

static struct vb_qp *qp_new(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	struct vb_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->kind = vb_qp_kind(attr->qp_type);
	qp->context = vb_context_of(context);
	if (!(qp->kind->lacks & VB_QP_SENDS)) {
		qp->pd = vb_pd_of(attr->pd);
		qp->send_cq = vb_cq_of(attr->send_cq);
	} else {
		qp->xrcd = vb_xrcd_of(attr->xrcd);
	}
	if (!(qp->kind->lacks & VB_QP_RECEIVES)) {
		qp->recv_cq = vb_cq_of(attr->recv_cq);
		qp->srq = attr->srq ? vb_srq_of(attr->srq) : NULL;
	}
	qp->cap = cap_of(qp->kind, attr);
	qp->signals_all = attr->sq_sig_all;
	qp->watched = check_posts();
	mutex_init(&qp->modify);
	pthread_mutex_init(&qp->head.ibv.mutex, NULL);
	pthread_cond_init(&qp->head.ibv.cond, NULL);
	qp->head.sge_most = qp->cap.max_send_sge;
	qp->head.inline_most = qp->cap.max_inline_data;
	return qp;
}

static struct pd *pd_of(const struct ibv_qp_init_attr_ex *attr)
{
	return vb_qp_kind(attr->qp_type)->lacks & VB_QP_SENDS ? vb_xrcd_pd(vb_xrcd_of(attr->xrcd))
							      : vb_pd_device(vb_pd_of(attr->pd), CALL);
}

struct ibv_qp *vb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	bool fails = vb_fault("ibv_create_qp", context, 0) || check_init(context, attr);
	struct pd *pd = fails ? NULL : pd_of(attr);
	struct vb_qp *qp;
	int err;

	if (!pd || vb_count_take(&open_qps, VB_MAX_QP, CALL, "queue pairs", "max_qp"))
		return NULL;
	qp = qp_new(context, attr);
	err = qp ? open_queues(qp) : ENOMEM;
	if (!err && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = vb_qp_ex_init(&qp->head, qp->kind, attr->send_ops_flags);
	if (!err)
		err = vb_qp_port_open(qp, pd, CALL);
	if (err) {
		if (qp)
			qp_free(qp);
		vb_count_give(&open_qps);
		errno = err;
		return NULL;
	}
	fill_public(qp, attr);
	qp->check = check_opened(&(struct check_what){ .name = "queue pair", .end = "ibv_destroy_qp" });
	references(qp, true);
	if (qp->xrcd) {
		vb_xrcd_get(qp->xrcd);
		vb_xrcd_add_qp(qp->xrcd, qp);
	}
	attr->cap = qp->cap; /* V7 */
	return &qp->head.ibv;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = vb_create_qp_ex(pd->context, &attr);

	if (qp)
		init->cap = attr.cap;
	return qp;
}

/* --- queried --- */

int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct vb_qp *qp = vb_qp_real(vb_qp_of(ibv));
	int err = vb_qp_check_handle(qp, "ibv_query_qp");

	(void)mask; /* all that is known is told */
	if (err)
		return err;
	mutex_lock(&qp->modify);
	*attr = qp->attr; /* V62 */
	attr->qp_state = attr->cur_qp_state = vb_qp_state(qp);
	attr->sq_draining = attr->qp_state == IBV_QPS_SQD && atomic_load(&qp->draining);
	attr->cap = qp->cap;
	mutex_unlock(&qp->modify);
	*init = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = qp->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = qp->signals_all,
	};
	return 0;
}

/* Enhanced connection establishment: the device has no options on which two sides could agree. */
int ibv_query_ece(struct ibv_qp *ibv, struct ibv_ece *ece)
{
	(void)ibv;
	ece->vendor_id = 0;
	return vb_absent("ibv_query_ece", "the device has no options.");
}

int ibv_set_ece(struct ibv_qp *ibv, struct ibv_ece *ece)
{
	(void)ibv;
	return vb_absent("ibv_set_ece", "the device has no options, and not those of vendor %#x.", ece->vendor_id);
}

/* --- destroyed --- */

/* What a purge looks for, and the records of a shared queue that it has found: these are free again. */
struct purged {
	const struct vb_qp *qp;
	struct vb_wr *shared;
};

static bool is_of_queues(const struct completion *c, void *arg)
{
	struct purged *purged = arg;
	const struct vb_qp *qp = purged->qp;
	struct vb_wr *wr = c->context;

	if (!wr->queue->shared)
		return wr->queue == &qp->sq || wr->queue == &qp->rq;
	if (c->source != (uint64_t)(uintptr_t)&qp->rq)
		return false;
	wr->next = purged->shared;
	purged->shared = wr;
	return true;
}

static void purge_queue(struct vb_cq *cq, void *arg)
{
	vb_cq_forget(cq, is_of_queues, arg);
}

void vb_qp_purge(struct vb_qp *qp)
{
	struct purged purged = { .qp = qp };

	if (qp->send_cq)
		vb_cq_forget(qp->send_cq, is_of_queues, &purged);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		vb_cq_forget(qp->recv_cq, is_of_queues, &purged);
	if (qp->domain)
		vb_xrcd_each_cq(qp->domain, purge_queue, &purged);
	while (purged.shared) {
		struct vb_wr *wr = purged.shared;

		purged.shared = wr->next;
		vb_queue_free_to(wr);
	}
}

/* V172: those of type 2 stay bound, and nobody reaches them. There may be many: others get the device in between. */
static void drop_windows(struct vb_qp *qp) REQUIRES(driver_role)
{
	struct driver *driver = nic_driver(atomic_load(&qp->context->nic));

	while (binding_drop_slice(qp->windows)) {
		driver_leave(driver);
		driver_take(driver);
	}
}

/* --- handles of one that is there --- */

struct ibv_qp *vb_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	static const char call[] = "ibv_open_qp";
	static const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct vb_qp *handle, *qp;

	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV || !vb_xrcd_is_of(attr->xrcd, context))
		return vb_refuse_null(EINVAL, call,
				      "it takes qp_num, qp_type IBV_QPT_XRC_RECV and an xrcd of this context, and their bits in "
				      "comp_mask.");
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return NULL;
	qp = vb_xrcd_open_qp(vb_xrcd_of(attr->xrcd), attr->qp_num);
	if (!qp) {
		free(handle);
		return vb_refuse_null(EINVAL, call, "the domain has no queue pair with QPN 0x%06x.", attr->qp_num);
	}
	handle->real = qp;
	handle->xrcd = vb_xrcd_of(attr->xrcd);
	handle->kind = qp->kind;
	handle->context = qp->context;
	handle->head.ibv = (struct ibv_qp){
		.context = context,
		.qp_context = attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL,
		.handle = attr->qp_num,
		.qp_num = attr->qp_num,
		.state = vb_qp_state(qp),
		.qp_type = IBV_QPT_XRC_RECV,
	};
	return &handle->head.ibv;
}

/* The last handle ends it. 0 or an errno, after a line of log. */
static int qp_end(struct vb_qp *qp)
{
	static const char call[] = "ibv_destroy_qp";
	struct ibv_qp *ibv = &qp->head.ibv;
	int err = vb_qp_check_handle(qp, call);

	if (err)
		return err;
	err = vb_context_enter(qp->context, call);
	if (err)
		return err;
	if (ep_is_attached(qp->ep)) { /* V157 */
		vb_context_leave(qp->context);
		return vb_refuse(EBUSY, call, "it is attached to a group. Call ibv_detach_mcast first.");
	}
	ep_reset(qp->ep); /* what is posted ends untold: a queue need not have room for it */
	drop_windows(qp);
	ep_close(qp->ep);
	vb_qp_port_close(qp);
	vb_context_leave(qp->context);
	vb_qp_purge(qp);
	vb_await_acks(&ibv->mutex, &ibv->cond, &ibv->events_completed, vb_async_forget(qp->context, ibv, &qp->async_told));
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct vb_qp *handle = vb_qp_of(ibv), *qp = vb_qp_real(handle);
	struct vb_xrcd *xrcd = handle->xrcd;
	bool last = !xrcd || vb_xrcd_drop_qp(qp);
	int err = last && vb_context_usable(qp->context) ? qp_end(qp) : 0;

	if (err) {
		if (xrcd)
			vb_xrcd_add_qp(xrcd, qp);
		return err;
	}
	if (handle != qp)
		free(handle);
	if (last) {
		check_settle();
		check_closed(qp->check);
		references(qp, false);
		vb_count_give(&open_qps);
		qp_free(qp);
	}
	if (xrcd)
		vb_xrcd_put(xrcd);
	return 0;
}
