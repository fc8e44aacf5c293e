/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_async.c - asynchronous events, and their acknowledgement. */
#include "emu/verbs/queues/vb_async.h"

#include <stdlib.h>

#include "emu/nic/base/cancel.h"
#include "emu/verbs/device/vb_events.h"
#include "emu/verbs/start/vb_refuse.h"

struct async {
	struct vb_event event; /* first */
	struct ibv_async_event ibv;
};

/* Whose acknowledgements are counted: fields of the public struct. NULL: nobody's. */
struct acks {
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	uint32_t *count;
};

static struct acks acks_of(const struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return (struct acks){ &cq->mutex, &cq->cond, &cq->async_events_completed };
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return (struct acks){ &qp->mutex, &qp->cond, &qp->events_completed };
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return (struct acks){ &srq->mutex, &srq->cond, &srq->events_completed };
	default:
		return (struct acks){ NULL, NULL, NULL };
	}
}

void vb_async_tell(struct vb_context *context, const struct ibv_async_event *event, uint32_t *told)
{
	int cancel_state = cancel_off();
	struct async *async = calloc(1, sizeof(*async));

	if (async) {
		async->event.told = told;
		async->ibv = *event;
		vb_events_add(&context->events, &async->event);
	} else {
		vb_refuse(ENOMEM, "ibv_get_async_event", "no memory for an event of type %d (%s): it is lost.",
			  (int)event->event_type, ibv_event_type_str(event->event_type));
	}
	cancel_back(cancel_state);
}

static bool event_of(const struct vb_event *event, const void *object)
{
	const struct ibv_async_event *ibv = &((const struct async *)event)->ibv;

	return acks_of(ibv).mutex && ibv->element.cq == object; /* all elements that are pointers are one place */
}

uint32_t vb_async_forget(struct vb_context *context, const void *object, const uint32_t *told)
{
	uint32_t count;

	vb_events_free(vb_events_drop(&context->events, event_of, object));
	futex_lock(&context->events.lock);
	count = *told;
	futex_unlock(&context->events.lock);
	return count;
}

void vb_await_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked, uint32_t told)
{
	pthread_mutex_lock(mutex);
	while (*acked != told) /* V124 */
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct vb_context *context = vb_context_of(ibv);
	struct async *async;

	if (!vb_context_usable(context) && !vb_is_ending()) {
		vb_inherited("ibv_get_async_event");
		return -1;
	}
	async = (struct async *)vb_events_take(&context->events, vb_context_doze);
	if (!async)
		return -1;
	*event = async->ibv;
	free(async);
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct acks acks = acks_of(event);

	if (!acks.mutex)
		return;
	pthread_mutex_lock(acks.mutex);
	++*acks.count;
	pthread_cond_signal(acks.cond);
	pthread_mutex_unlock(acks.mutex);
}
