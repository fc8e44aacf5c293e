/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_plan.c - what fault plans make of events (emu_fault(5)): they are late, lost, or another one in their place.
 *
 * A thread adds what is late to its channel, and answers requests that the plan rejects. It lasts while there are such. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "emu/cm/cm_id.h"

static struct told_event *late; /* told_lock, as of all these: in the order in which they are told */
static bool runs;
static pthread_cond_t late_came;

static uint64_t late_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void cm_plans_forked(void)
{
	late = NULL;
	runs = false;
}

/* --- judged --- */

/* What the event that the device tells will be to the program. -1: nothing. */
static int told_type(const struct told_event *event, struct cm_id *id)
{
	bool up = id->heard_up, down = id->heard_down;

	switch (event->kind) {
	case VB_CM_REPLIED:
		id->heard_up = true;
		return id->asked_with_qp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE;
	case VB_CM_FAILED:
		if (cm_is_ud(id))
			return cm_lookup_status(event) ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_ESTABLISHED;
		return event->has_said || event->err == ECONNREFUSED ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE;
	case VB_CM_SAID:
		if (event->said.kind == WIRE_RDMA_REJECT)
			return RDMA_CM_EVENT_REJECTED;
		id->heard_up |= event->said.kind == WIRE_RDMA_READY;
		if (event->said.kind == WIRE_RDMA_READY)
			return up ? -1 : RDMA_CM_EVENT_ESTABLISHED;
		id->heard_down = true;
		return down ? -1 : RDMA_CM_EVENT_DISCONNECTED;
	default:
		id->heard_down = true;
		if (down)
			return -1;
		return up ? RDMA_CM_EVENT_DISCONNECTED : RDMA_CM_EVENT_UNREACHABLE;
	}
}

bool cm_plan_told(struct told_event *event, struct cm_id *id)
{
	int type = id ? told_type(event, id) : RDMA_CM_EVENT_CONNECT_REQUEST;

	return type < 0 || !vb_cm_plan(type, false, &event->planned) || !event->planned.lost;
}

int cm_plan_error(int type, struct vb_cm_planned *planned)
{
	if (!vb_cm_plan(type, false, planned) || !planned->replaced)
		return 0;
	planned->replaced = false;
	return -planned->status;
}

/* With the driver role. Each that seeks is judged once, however often it tries. */
bool cm_plan_answers(struct cm_number *number, uint64_t seeks)
{
	struct vb_cm_planned planned;
	unsigned int place;

	for (place = 0; place < CM_SEEKERS; place++)
		if (number->sought[place] == seeks)
			return !(number->silent >> place & 1);
	place = number->turn++ % CM_SEEKERS;
	number->sought[place] = seeks;
	number->silent &= ~(1u << place);
	if (!vb_cm_plan(RDMA_CM_EVENT_CONNECT_REQUEST, true, &planned))
		return true;
	number->silent |= 1u << place;
	return false;
}

/* --- late --- */

static bool rejects(const struct told_event *event)
{
	return event->listener && event->planned.replaced;
}

static void event_place(struct told_event *event)
{
	vb_events_add(&event->id->channel->events, &event->link);
}

/* The first that is due, taken out. NULL: *next_ns is when there will be one. */
static struct told_event *late_due(uint64_t *next_ns)
{
	struct told_event **next = &late, *event;
	uint64_t now = late_now_ns();

	*next_ns = UINT64_MAX;
	while ((event = *next) && event->due_ns > now) {
		*next_ns = event->due_ns < *next_ns ? event->due_ns : *next_ns;
		next = (struct told_event **)&event->link.next;
	}
	if (event)
		*next = (struct told_event *)event->link.next;
	return event;
}

/* told_lock is free meanwhile. */
static void event_turn_away(struct told_event *event)
{
	event->listener->unread--;
	pthread_mutex_unlock(&told_lock);
	cm_hold();
	cm_event_reject(event, (uint32_t)event->planned.status);
	cm_let_go();
	free(event);
	pthread_mutex_lock(&told_lock);
}

static void *late_run(void *none)
{
	pthread_mutex_lock(&told_lock);
	while (late) {
		uint64_t next_ns;
		struct told_event *event = late_due(&next_ns);

		if (!event) {
			struct timespec until = { (time_t)(next_ns / 1000000000u), (long)(next_ns % 1000000000u) };

			pthread_cond_timedwait(&late_came, &told_lock, &until);
		} else if (rejects(event)) {
			event_turn_away(event);
		} else {
			event_place(event);
		}
	}
	runs = false;
	pthread_mutex_unlock(&told_lock);
	return none;
}

/* With told_lock. */
static bool late_start(void)
{
	pthread_condattr_t monotonic;
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	if (runs)
		return true;
	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&late_came, &monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	runs = !pthread_create(&thread, &attr, late_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	pthread_condattr_destroy(&monotonic);
	return runs;
}

/* Events of an id keep their order (V226), but for requests. */
void cm_deliver(struct told_event *event)
{
	struct told_event **next = &late, *before;
	uint64_t after_ns = 0;

	while ((before = *next)) {
		if (before->id == event->id && !event->listener)
			after_ns = before->due_ns;
		next = (struct told_event **)&before->link.next;
	}
	if (!after_ns && !event->planned.wait_ns && !rejects(event)) {
		event_place(event);
		return;
	}
	event->due_ns = late_now_ns() + event->planned.wait_ns;
	if (event->due_ns < after_ns)
		event->due_ns = after_ns;
	event->link.next = NULL;
	*next = event;
	if (late_start()) {
		pthread_cond_signal(&late_came);
		return;
	}
	*next = NULL; /* without a thread nothing is late */
	event->planned.replaced &= !event->listener;
	event_place(event);
}

struct told_event *cm_late_drop(bool (*of)(const struct vb_event *event, const void *arg), const void *arg)
{
	struct told_event **next = &late, *event, *first = NULL, **last = &first;

	while ((event = *next)) {
		if (!of(&event->link, arg)) {
			next = (struct told_event **)&event->link.next;
			continue;
		}
		*next = (struct told_event *)event->link.next;
		event->link.next = NULL;
		*last = event;
		last = (struct told_event **)&event->link.next;
	}
	return first;
}
