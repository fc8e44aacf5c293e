/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_channel.c - event channels, and the events that wait in them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/cm/cm_id.h"

enum { RETIRED_MOST = 16 };

struct cm_channel *cm_channel_new(void)
{
	struct cm_channel *channel = calloc(1, sizeof(*channel));
	int err = channel ? vb_events_open(&channel->events) : ENOMEM;

	if (err) {
		free(channel);
		errno = err;
		return NULL;
	}
	channel->channel.fd = channel->events.fd;
	channel->life = cm_life;
	return channel;
}

/* With cm_lock, before what a fork's child may do with a channel of its parent's. */
static void channel_claim(struct cm_channel *channel)
{
	if (channel->life != cm_life)
		vb_events_forked(&channel->events);
	channel->life = cm_life;
}

void cm_channel_free(struct cm_channel *channel)
{
	vb_events_close(&channel->events);
	vb_events_free(vb_events_drop(&channel->events, NULL, NULL));
	if (!atomic_load(&channel->takers)) /* else a thread sleeps there for good, as in a read() of a descriptor that is closed */
		free(channel);
}

/* The program's channel is closed, and a thread of it may be in rdma_get_cm_event(), or on its way there: rping has such a thread,
 * and ends with an error when that call returns. With the kernel's it sleeps in the read() of a descriptor that was closed
 * meanwhile. So the last channels stay in memory. With cm_lock. */
static void channel_retire(struct cm_channel *channel)
{
	static struct cm_channel *retired[RETIRED_MOST];
	static unsigned int turn;
	struct cm_channel **place = &retired[turn++ % RETIRED_MOST];

	if (channel->retired)
		return;
	channel->retired = true;
	if (*place)
		cm_channel_free(*place);
	*place = channel;
}

/* If the channel was closed, and blocks: for good. */
static void channel_sleep(struct cm_channel *channel)
{
	while (atomic_load(&channel->closed) && !channel->polled)
		pause();
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	int err = vb_cm_fault("rdma_create_event_channel");
	struct cm_channel *channel = err ? NULL : cm_channel_new();

	if (err) {
		errno = err;
		return NULL;
	}
	if (!channel)
		return vb_refuse_null(errno, "rdma_create_event_channel",
				      "no memory or no descriptor for a channel. Raise RLIMIT_NOFILE.");
	channel->check = vb_cm_opened("event channel", "rdma_destroy_event_channel");
	return &channel->channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *pub)
{
	struct cm_channel *channel = cm_channel_of(pub);

	cm_hold();
	channel_claim(channel);
	if (channel->told != channel->acked)
		vb_inform("rdma_destroy_event_channel",
			  "%u events that it has given were not acknowledged: rdma_ack_cm_event() comes first.",
			  channel->told - channel->acked);
	vb_cm_closed(channel->check);
	channel->polled = fcntl(channel->events.fd, F_GETFL) & O_NONBLOCK;
	atomic_store(&channel->closed, true);
	vb_events_close(&channel->events);
	if (channel->told == channel->acked) /* else with the last that is acknowledged */
		channel_retire(channel);
	cm_let_go();
}

/* --- events --- */

static void event_queue(struct cm_id *id, struct told_event *event)
{
	event->link.told = &id->told;
	event->id = id;
	pthread_mutex_lock(&told_lock);
	cm_deliver(event);
	pthread_mutex_unlock(&told_lock);
}

int cm_tell_planned(struct cm_id *id, enum rdma_cm_event_type type, int status, const struct vb_cm_planned *planned)
{
	struct told_event *event = planned->lost ? NULL : calloc(1, sizeof(*event));

	if (!event)
		return planned->lost ? 0 : ENOMEM;
	event->plain = true;
	event->pub = (struct rdma_cm_event){ .id = &id->id, .event = type, .status = status };
	event->planned = *planned;
	event_queue(id, event);
	return 0;
}

int rdma_write_cm_event(struct rdma_cm_id *pub, enum rdma_cm_event_type type, int status, uint64_t arg)
{
	struct told_event *event;

	if (!pub || (int)type != CM_EVENT_USER)
		return cm_refuse(EINVAL, "rdma_write_cm_event", "id is NULL, or event is %s: write RDMA_CM_EVENT_USER.",
				 rdma_event_str(type));
	event = calloc(1, sizeof(*event));
	if (!event)
		return cm_result(ENOMEM);
	event->plain = true;
	event->pub = (struct rdma_cm_event){ .id = pub, .event = type, .status = status };
	memcpy(&event->pub.param, &arg, sizeof(arg)); /* param.arg of newer headers */
	cm_hold();
	event_queue(cm_id_of(pub), event);
	cm_let_go();
	return 0;
}

int cm_tell(struct cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct vb_cm_planned planned = { 0 };

	(void)vb_cm_plan(type, false, &planned);
	return cm_tell_planned(id, type, status, &planned);
}

int cm_tell_group(struct cm_id *id, struct cm_group *group, bool *told)
{
	struct vb_cm_planned planned = { 0 };
	struct told_event *event;

	(void)vb_cm_plan(RDMA_CM_EVENT_MULTICAST_JOIN, false, &planned);
	*told = !planned.lost;
	if (planned.lost)
		return 0;
	event = calloc(1, sizeof(*event));
	if (!event)
		return ENOMEM;
	event->group = group;
	event->planned = planned;
	event_queue(id, event);
	return 0;
}

static bool event_is_of(const struct vb_event *event, const void *id)
{
	return ((const struct told_event *)event)->id == id;
}

/* In the order in which they came. */
static struct vb_event *events_of(struct cm_channel *channel, const struct cm_id *id)
{
	struct vb_event *first = NULL, *event;

	channel_claim(channel);
	event = (id->life == cm_life ? vb_events_drop : vb_events_forget)(&channel->events, event_is_of, id);
	while (event) {
		struct vb_event *next = event->next;

		event->next = first;
		first = event;
		event = next;
	}
	return first;
}

void cm_event_reject(struct told_event *event, uint32_t reason)
{
	const struct wire_rdma_fields say = cm_rejection(event->said.kind, reason);

	(void)vb_cm_reject(&event->request, &say);
	cm_listener_put(event->listener);
}

static void drop_events(struct vb_event *event)
{
	while (event) {
		struct vb_event *next = event->next;

		if (((struct told_event *)event)->listener) /* nobody has read it: the listener has gone */
			cm_event_reject((struct told_event *)event, CM_REJECT_CONSUMER);
		free(event);
		event = next;
	}
}

void cm_drop_events(struct cm_id *id) /* V224 */
{
	struct told_event *later;

	pthread_mutex_lock(&told_lock);
	later = cm_late_drop(event_is_of, id);
	pthread_mutex_unlock(&told_lock);
	drop_events(events_of(id->channel, id));
	drop_events((struct vb_event *)later);
}

/* With cm_lock. */
static void event_ack(struct told_event *event)
{
	event->id->acked++;
	if (event->group)
		cm_group_acked(event->group);
	cm_acked();
	free(event);
}

int rdma_get_cm_event(struct rdma_event_channel *pub, struct rdma_cm_event **out)
{
	struct cm_channel *channel = cm_channel_of(pub);

	if (!channel || !out)
		return cm_refuse(EINVAL, "rdma_get_cm_event", "channel or event is NULL.");
	for (;;) {
		struct told_event *event;
		bool tells;

		atomic_fetch_add(&channel->takers, 1);
		event = (struct told_event *)vb_events_take(&channel->events, vb_cm_doze); /* V222 */
		if (!event && errno == EBADF)
			channel_sleep(channel);
		atomic_fetch_sub(&channel->takers, 1);
		if (!event)
			return -1;
		cm_hold();
		tells = cm_event_take(event);
		if (tells) {
			event->channel = channel;
			event->check = vb_cm_opened("event of rdma_cm", "rdma_ack_cm_event");
			channel->told++;
			*out = &event->pub;
		} else {
			event_ack(event);
		}
		cm_let_go();
		if (tells)
			return 0;
	}
}

static struct told_event *told_event_of(struct rdma_cm_event *pub)
{
	return (struct told_event *)((char *)pub - offsetof(struct told_event, pub));
}

int rdma_ack_cm_event(struct rdma_cm_event *pub)
{
	struct cm_channel *channel;
	struct told_event *event;

	if (!pub)
		return cm_refuse(EINVAL, "rdma_ack_cm_event", "event is NULL.");
	event = told_event_of(pub);
	vb_cm_closed(event->check);
	cm_hold();
	channel = event->channel;
	channel->acked++;
	if (atomic_load(&channel->closed) && channel->told == channel->acked)
		channel_retire(channel);
	event_ack(event);
	cm_let_go();
	return 0;
}

int cm_complete(struct cm_id *id) /* V228 */
{
	struct rdma_cm_event *event;
	int status;

	if (!id->sync)
		return 0;
	if (id->id.event) {
		rdma_ack_cm_event(id->id.event);
		id->id.event = NULL;
	}
	if (rdma_get_cm_event(&id->channel->channel, &event))
		return -1;
	id->id.event = event;
	vb_cm_closed(told_event_of(event)->check); /* the id's next call acknowledges it */
	told_event_of(event)->check = NULL;
	status = event->status;
	if (!status)
		return 0;
	errno = event->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : status < 0 ? -status : status;
	return -1;
}

/* --- migration --- */

/* V225. An id without a channel gets one of its own. */
static int channel_move(struct cm_id *id, struct cm_channel *to)
{
	struct cm_channel *from = id->channel;
	struct vb_event *event;

	pthread_mutex_lock(&told_lock);
	id->channel = to;
	id->id.channel = &to->channel;
	event = events_of(from, id);
	while (event) {
		struct vb_event *next = event->next;

		vb_events_add(&to->events, event);
		event = next;
	}
	pthread_mutex_unlock(&told_lock);
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *pub, struct rdma_event_channel *channel)
{
	struct cm_id *id = cm_id_of(pub);
	struct cm_channel *to = cm_channel_of(channel), *left = NULL;

	if (!id)
		return cm_refuse(EINVAL, "rdma_migrate_id", "id is NULL.");
	if (id->sync && id->id.event) {
		rdma_ack_cm_event(id->id.event);
		id->id.event = NULL;
	}
	if (!to)
		to = cm_channel_new();
	if (!to)
		return cm_refuse(errno, "rdma_migrate_id", "no memory or no descriptor for a channel. Raise RLIMIT_NOFILE.");
	cm_hold();
	while (id->told != id->acked) /* as with the kernel: events that were read are acknowledged on the channel they came by */
		cm_await_ack();
	if (id->sync)
		left = id->channel;
	channel_move(id, to);
	id->sync = !channel;
	cm_let_go();
	if (left)
		cm_channel_free(left);
	return 0;
}
