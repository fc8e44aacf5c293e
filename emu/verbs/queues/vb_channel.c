/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_channel.c - completion channels, and the events of their queues. */
#include <errno.h>
#include <stdlib.h>

#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/start/vb_refuse.h"

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	bool fails = vb_fault("ibv_create_comp_channel", context, 0);
	struct vb_channel *channel = fails ? NULL : calloc(1, sizeof(*channel));
	int err = channel ? vb_events_open(&channel->events) : ENOMEM;

	if (fails)
		return NULL;
	if (err) {
		free(channel);
		return vb_refuse_null(err, "ibv_create_comp_channel",
				      "no memory or no descriptor for a channel. Raise RLIMIT_NOFILE.");
	}
	channel->ibv.context = context;
	channel->ibv.fd = channel->events.fd;
	channel->check = check_opened(&(struct check_what){ .name = "completion channel", .end = "ibv_destroy_comp_channel" });
	vb_context_get(vb_context_of(context));
	return &channel->ibv;
}

int vb_channel_users(struct vb_channel *channel, int more)
{
	int count;

	pthread_mutex_lock(&channel->ibv.context->mutex);
	count = channel->ibv.refcnt += more;
	pthread_mutex_unlock(&channel->ibv.context->mutex);
	return count;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct vb_channel *channel = vb_channel_of(ibv);
	int count = vb_channel_users(channel, 0);

	if (count) /* V5 */
		return vb_refuse(EBUSY, "ibv_destroy_comp_channel", "%d completion queues tell here. Destroy them first.", count);
	check_closed(channel->check);
	vb_events_close(&channel->events);
	vb_context_put(vb_context_of(ibv->context));
	free(channel);
	return 0;
}

void vb_channel_tell(struct vb_channel *channel, struct vb_cq *cq)
{
	vb_events_add(&channel->events, &cq->event); /* V119 */
}

static bool is_it(const struct vb_event *event, const void *it)
{
	return event == it;
}

uint32_t vb_channel_forget(struct vb_channel *channel, struct vb_cq *cq)
{
	uint32_t told;

	(void)vb_events_drop(&channel->events, is_it, &cq->event); /* it is in its queue, which goes */
	futex_lock(&channel->events.lock);
	told = cq->comp_told;
	futex_unlock(&channel->events.lock);
	return told;
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **out, void **cq_context)
{
	struct vb_event *event;
	struct vb_cq *cq;

	if (!vb_context_usable(vb_context_of(ibv->context)) && !vb_is_ending()) {
		vb_inherited("ibv_get_cq_event");
		return -1;
	}
	event = vb_events_take(&vb_channel_of(ibv)->events, vb_context_doze);
	if (!event)
		return -1;
	cq = (struct vb_cq *)((char *)event - offsetof(struct vb_cq, event));
	*out = &cq->ibv;
	*cq_context = cq->ibv.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += count;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
