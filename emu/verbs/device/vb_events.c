/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_events.c - events behind a descriptor.
 *
 * A blocking call cannot sleep in read() on the descriptor, whose count says no more than that there is something: it sleeps on a
 * futex, which the kernel restarts after a signal as it would restart a read() (SA_RESTART). */
#include "emu/verbs/device/vb_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/nic/base/nocancel_file.h"

int vb_events_open(struct vb_events *events)
{
	*events = (struct vb_events){ .fd = eventfd(0, EFD_CLOEXEC) };
	return events->fd < 0 ? errno : 0;
}

void vb_events_close(struct vb_events *events)
{
	int fd;

	futex_lock(&events->lock);
	fd = events->fd;
	events->fd = -1;
	futex_unlock(&events->lock);
	if (fd >= 0)
		nocancel_close(fd);
}

/* Lock held: the descriptor tells of one more. */
static void signal_fd(struct vb_events *events)
{
	static const uint64_t one = 1;

	if (events->fd >= 0)
		(void)!nocancel_write(events->fd, &one, sizeof(one)); /* fails only when it is full, after centuries */
}

/* Lock held, and it is readable: not any more. */
static void quiet_fd(struct vb_events *events)
{
	uint64_t count;

	if (events->fd >= 0)
		(void)!nocancel_read(events->fd, &count, sizeof(count));
}

/* Lock held. */
static void event_append(struct vb_events *events, struct vb_event *event)
{
	event->next = NULL;
	if (events->first)
		events->last->next = event;
	else
		events->first = event;
	events->last = event;
}

void vb_events_add(struct vb_events *events, struct vb_event *event)
{
	futex_lock(&events->lock);
	if (!event->times++)
		event_append(events, event);
	atomic_fetch_add(&events->turn, 1);
	signal_fd(events);
	futex_unlock(&events->lock);
	if (atomic_load(&events->sleepers))
		syscall(SYS_futex, &events->turn, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* One time of the oldest; what it has left waits behind the others. */
static struct vb_event *take_now(struct vb_events *events)
{
	struct vb_event *event;

	futex_lock(&events->lock);
	event = events->first;
	if (event) {
		events->first = event->next;
		if (--event->times)
			event_append(events, event);
		if (event->told)
			++*event->told;
		if (!events->first)
			quiet_fd(events);
	}
	futex_unlock(&events->lock);
	return event;
}

static void slept(void *sleepers)
{
	atomic_fetch_sub((atomic_uint *)sleepers, 1);
}

/* Until the turn has moved. 0 or an errno. */
static int event_sleep(struct vb_events *events, unsigned int turn)
{
	volatile int err = 0; /* kept over the jump of a cancellation, which the compiler sees */
	int type;

	atomic_fetch_add(&events->sleepers, 1);
	pthread_cleanup_push(slept, &events->sleepers);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type); /* within the system call, which holds nothing */
	if (syscall(SYS_futex, &events->turn, FUTEX_WAIT_PRIVATE, turn, NULL, NULL, 0) < 0 && errno != EAGAIN)
		err = errno;
	pthread_setcanceltype(type, NULL);
	pthread_cleanup_pop(1);
	return err;
}

/* What forbids to sleep: 0 or an errno. */
static int blocks(struct vb_events *events)
{
	int flags = -1;

	futex_lock(&events->lock); /* another thread may close it */
	if (events->fd >= 0)
		flags = fcntl(events->fd, F_GETFL);
	futex_unlock(&events->lock);
	if (flags < 0)
		return EBADF;
	return flags & O_NONBLOCK ? EAGAIN : 0; /* V120 */
}

struct vb_event *vb_events_take(struct vb_events *events, void (*doze)(void))
{
	for (;;) {
		unsigned int turn = atomic_load(&events->turn); /* before the look: an event that comes after it has moved this */
		struct vb_event *event = take_now(events);
		int err = event ? 0 : blocks(events);

		if (event)
			return event;
		if (!err && doze)
			doze();
		if (!err)
			err = event_sleep(events, turn);
		if (err) {
			errno = err;
			return NULL;
		}
	}
}

static struct vb_event *unlink_events(struct vb_events *events, bool (*of)(const struct vb_event *event, const void *arg),
				      const void *arg, bool quiets)
{
	struct vb_event **next = &events->first, *event, *dropped = NULL;

	futex_lock(&events->lock);
	events->last = NULL;
	while ((event = *next)) {
		if (of && !of(event, arg)) {
			events->last = event;
			next = &event->next;
			continue;
		}
		*next = event->next;
		event->times = 0;
		event->next = dropped;
		dropped = event;
	}
	if (quiets && dropped && !events->first)
		quiet_fd(events);
	futex_unlock(&events->lock);
	return dropped;
}

struct vb_event *vb_events_drop(struct vb_events *events, bool (*of)(const struct vb_event *event, const void *arg),
				const void *arg)
{
	return unlink_events(events, of, arg, true);
}

void vb_events_forked(struct vb_events *events)
{
	atomic_store(&events->lock.state, FUTEX_FREE);
}

struct vb_event *vb_events_forget(struct vb_events *events, bool (*of)(const struct vb_event *event, const void *arg),
				  const void *arg)
{
	return unlink_events(events, of, arg, false);
}

void vb_events_free(struct vb_event *dropped)
{
	while (dropped) {
		struct vb_event *next = dropped->next;

		free(dropped);
		dropped = next;
	}
}
