/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_cq.c - completion queues: made, polled, armed, resized, destroyed. */
#include "emu/verbs/queues/vb_cq.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/cancel.h"
#include "emu/nic/base/errno.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/role/driver.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/queues/vb_async.h"
#include "emu/verbs/queues/vb_wc.h"
#include "emu/verbs/regions/vb_pd.h"
#include "emu/verbs/start/vb_front_end.h"
#include "emu/verbs/start/vb_refuse.h"

enum { BATCH = 16 }; /* entries taken at once */

static atomic_uint handles; /* given out so far */
static atomic_uint queues;  /* open */

/* --- told by the device, with the driver role --- */

/* An arm is used up. */
static void arm_spent(void *arg)
{
	struct vb_cq *cq = arg;

	vb_channel_tell(cq->channel, cq);
}

static void overran(void *arg)
{
	struct vb_cq *cq = arg;
	struct ibv_async_event event = { .element.cq = &cq->ibv, .event_type = IBV_EVENT_CQ_ERR };
	int cancel_state = cancel_off();
	struct cq_view view;

	cq_look(cq->cq, &view);
	if (!cq->tells_overrun)
		vb_inform("ibv_poll_cq",
			  "a completion queue of %zu entries is full, and loses what comes on top, as IGNORE_OVERRUN allows.",
			  view.size);
	else if (cq->check && view.size >= (size_t)cq->ibv.cqe)
		check_overran(cq->check, view.size);
	else
		vb_refuse(EOVERFLOW, "ibv_poll_cq",
			  "a completion queue of %zu entries%s is full, and loses what comes on top (IBV_EVENT_CQ_ERR). Poll it "
			  "more often, or make it for all requests that may be posted and not polled, of all its queue pairs.",
			  view.size,
			  view.size < (size_t)cq->ibv.cqe ? ", which the fault plan (FI_EMU_FAULT) has made smaller," : "");
	if (cq->tells_overrun) { /* V116 */
		vb_async_tell(cq->context, &event, &cq->async_told);
		nic_overran(atomic_load(&cq->context->nic), cq->cq);
	}
	cancel_back(cancel_state);
}

void vb_cq_break(struct vb_cq *cq)
{
	const struct ibv_async_event event = { .element.cq = &cq->ibv, .event_type = IBV_EVENT_CQ_ERR };

	cq_break(cq->cq);
	vb_async_tell(cq->context, &event, &cq->async_told);
}

/* --- made and destroyed --- */

static int check_attr(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr, const char *call)
{
	if (!attr->cqe || attr->cqe > VB_MAX_CQE)
		return vb_refuse(EINVAL, call, "cqe is %d, and not within 1 to %d (max_cqe).", (int)attr->cqe, VB_MAX_CQE);
	if (attr->comp_vector >= (unsigned int)context->num_comp_vectors) /* V112 */
		return vb_refuse(EINVAL, call, "comp_vector is %d, and the device has %d (num_comp_vectors), from 0 on.",
				 (int)attr->comp_vector, context->num_comp_vectors);
	if (attr->channel && attr->channel->context != context)
		return vb_refuse(EINVAL, call, "the completion channel is of another context.");
	return 0;
}

static int open_device(struct vb_cq *cq, const struct ibv_cq_init_attr_ex *attr, struct nic *nic)
{
	size_t size = nic_fault_queue(nic, attr->cqe);
	int err = cq_open(&cq->cq, size, cq->channel ? arm_spent : NULL, cq);

	if (err)
		return err;
	cq_overrun_at(cq->cq, size);
	cq_tell_overrun(cq->cq, overran, cq);
	return 0;
}

struct vb_cq *vb_cq_open(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr, const char *call)
{
	bool fails = vb_fault("ibv_create_cq", context, 0) || check_attr(context, attr, call);
	struct nic *nic = fails ? NULL : vb_nic_get(vb_context_of(context), call);
	struct vb_cq *cq;
	int err;

	if (!nic || vb_count_take(&queues, VB_MAX_CQ, call, "completion queues", "max_cq"))
		return NULL;
	cq = calloc(1, sizeof(*cq));
	if (cq && attr->channel)
		cq->channel = vb_channel_of(attr->channel);
	err = cq ? -open_device(cq, attr, nic) : ENOMEM;
	if (err) {
		free(cq);
		vb_count_give(&queues);
		return vb_refuse_null(err, call, "no memory for %u entries.", attr->cqe);
	}
	cq->context = vb_context_of(context);
	cq->ibv.context = context;
	cq->ibv.channel = attr->channel;
	cq->ibv.cq_context = attr->cq_context;
	cq->ibv.cqe = (int)attr->cqe;
	cq->handle = cq->ibv.handle = atomic_fetch_add(&handles, 1) + 1;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	cq->check = check_opened(&(struct check_what){ .name = "completion queue", .end = "ibv_destroy_cq" });
	cq->tells_overrun = true;
	cq->event.told = &cq->comp_told;
	if (cq->channel)
		(void)vb_channel_users(cq->channel, 1);
	vb_context_get(cq->context);
	return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
			     int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct vb_cq *cq = vb_cq_open(context, &attr, "ibv_create_cq");

	return cq ? &cq->ibv : NULL;
}

/* 0, or what is wrong with the handle. */
static int check_handle(const struct vb_cq *cq, const char *call)
{
	return vb_check_handle(cq->context, cq->ibv.handle, cq->handle, "completion queue", call);
}

bool vb_cq_is_of(struct ibv_cq *ibv, const struct ibv_context *context)
{
	return ibv && ibv->context == context && ibv->handle == vb_cq_of(ibv)->handle;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct vb_cq *cq = vb_cq_of(ibv);
	bool inherited = !vb_context_usable(cq->context);
	unsigned int users = atomic_load(&cq->users);
	int err = inherited ? 0 : check_handle(cq, "ibv_destroy_cq");

	if (err)
		return err;
	if (users && !inherited) /* V3, V113 */
		return vb_refuse(EBUSY, "ibv_destroy_cq", "%u queues of queue pairs complete here. Destroy the queue pairs first.",
				 users);
	if (!inherited) {
		uint32_t comp = cq->channel ? vb_channel_forget(cq->channel, cq) : 0;

		vb_await_acks(&ibv->mutex, &ibv->cond, &ibv->comp_events_completed, comp); /* V123 */
		vb_await_acks(&ibv->mutex, &ibv->cond, &ibv->async_events_completed,
			      vb_async_forget(cq->context, ibv, &cq->async_told));
		(void)cq_close(cq->cq); /* not bound: vb_cq.users counts the same */
	}
	if (cq->channel)
		(void)vb_channel_users(cq->channel, -1);
	if (cq->parent)
		vb_pd_put(cq->parent);
	vb_context_put(cq->context);
	vb_count_give(&queues);
	check_closed(cq->check);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	free(cq);
	return 0;
}

int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct vb_cq *cq = vb_cq_of(ibv);
	int err = check_handle(cq, "ibv_resize_cq");

	if (err)
		return err;
	if (cqe < 1 || cqe > VB_MAX_CQE)
		return vb_refuse(EINVAL, "ibv_resize_cq", "cqe is %d, and not within 1 to %d (max_cqe).", cqe, VB_MAX_CQE);
	err = vb_context_enter(cq->context, "ibv_resize_cq");
	if (err)
		return err;
	(void)nic_work(atomic_load(&cq->context->nic)); /* what was posted before, as of UD, has completed: it counts */
	err = cq_resize(cq->cq, (size_t)cqe);           /* V114, V115 */
	vb_context_leave(cq->context);
	if (err)
		return vb_refuse(-err, "ibv_resize_cq",
				 err == -EINVAL ? "more than cqe %d entries are unread. Poll them first."
						: "no memory for %d entries.",
				 cqe);
	ibv->cqe = cqe;
	return 0;
}

/* --- polled --- */

int vb_cq_take(struct vb_cq *cq, int count, struct ibv_wc *wc)
{
	struct completion batch[BATCH];
	struct cq_error error;
	int done = 0;

	while (done < count && cq_ready(cq->cq)) { /* V111 */
		ssize_t got = cq_take(cq->cq, batch, count - done < BATCH ? (size_t)(count - done) : BATCH);

		if (got == -NIC_EAVAIL && cq_take_error(cq->cq, &error) == 1)
			vb_wc_failed(&error, &wc[done++]);
		for (ssize_t i = 0; i < got; i++)
			vb_wc_good(&batch[i], &wc[done++]);
	}
	return done;
}

void vb_cq_drive(struct vb_cq *cq)
{
	driver_poll(nic_driver(atomic_load_explicit(&cq->context->nic, memory_order_relaxed)));
}

void vb_cq_found_none(struct vb_cq *cq)
{
	if (cq_is_notified(cq->cq))
		vb_context_doze();
}

static int take_locked(struct vb_cq *cq, int count, struct ibv_wc *wc)
{
	int got;

	if (!cq_ready(cq->cq))
		return 0;
	futex_lock(&cq->polls);
	got = vb_cq_take(cq, count, wc);
	futex_unlock(&cq->polls);
	return got;
}

int vb_poll_cq(struct ibv_cq *ibv, int count, struct ibv_wc *wc)
{
	struct vb_cq *cq = vb_cq_of(ibv);
	int got;

	if (!vb_context_usable(cq->context))
		return vb_is_ending() ? 0 : -vb_inherited("ibv_poll_cq");
	if (count < 0)
		return -vb_refuse(EINVAL, "ibv_poll_cq", "num_entries is %d.", count);
	got = take_locked(cq, count, wc);
	if (got)
		return got;
	vb_cq_drive(cq);
	got = take_locked(cq, count, wc);
	if (!got)
		vb_cq_found_none(cq);
	return got;
}

int vb_poll_cq_checked(struct ibv_cq *ibv, int count, struct ibv_wc *wc)
{
	int got = vb_poll_cq(ibv, count, wc);

	if (got > 0)
		check_settle_told();
	else
		check_settle();
	return got;
}

int vb_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct vb_cq *cq = vb_cq_of(ibv);
	int err = check_handle(cq, "ibv_req_notify_cq");

	if (err)
		return err;
	if (!cq->channel) /* armed, and nobody is told */
		return 0;
	if (solicited_only) /* V121, V122 */
		cq_notify_flagged(cq->cq, VB_CQ_SOLICITED);
	else
		cq_notify(cq->cq); /* V118 */
	return 0;
}

void vb_cq_forget(struct vb_cq *cq, bool (*match)(const struct completion *c, void *arg), void *arg)
{
	futex_lock(&cq->polls);
	cq_purge(cq->cq, match, arg);
	futex_unlock(&cq->polls);
}
