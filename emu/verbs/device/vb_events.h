/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_events.h - events that wait for the program, behind a descriptor: those of a completion channel, or the asynchronous ones of
 * a context.
 *
 * As with the kernel's, a program sleeps in a blocking call, or in poll(), select() or epoll on the descriptor, and may set
 * O_NONBLOCK on it. The descriptor is an eventfd that is readable while an event waits. Each new event signals it, so that
 * edge-triggered epoll is told of each. Any thread; vb_events_add() also with the driver role. */
#ifndef EMU_VB_EVENTS_H
#define EMU_VB_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/futex_lock.h"

/* Embedded in what has something to tell. All zero at first. */
struct vb_event {
	struct vb_event *next;
	uint32_t times; /* it waits so often: in the list while this is not 0 */
	uint32_t *told; /* how often it was taken is added here, under the lock of the events: for acknowledgements */
};

struct vb_events {
	int fd;                 /* -1: closed; then events are added, and signal nothing */
	struct futex_lock lock; /* guards all but the atomics, the fields of events, and what they count in */
	struct vb_event *first, *last;
	atomic_uint turn; /* a futex: moves with each event */
	atomic_uint sleepers;
};

/* For librdmacm, too: node EMU_1. */
#pragma GCC visibility push(default)
int vb_events_open(struct vb_events *events);   /* 0, EMFILE, ENFILE or ENOMEM */
void vb_events_close(struct vb_events *events); /* nobody sleeps in vb_events_take() */
/* One more time. No cancellation point, and never blocks. */
void vb_events_add(struct vb_events *events, struct vb_event *event);
/* The oldest event, once. Sleeps while there is none: a cancellation point, and before each sleep calls doze() (may be NULL), since
 * another thread must find what is waited for. NULL, with errno: EAGAIN where O_NONBLOCK is set, EINTR, EBADF: closed. */
struct vb_event *vb_events_take(struct vb_events *events, void (*doze)(void));
/* Takes out all those of which of(event, arg) is true, which runs with the lock and looks at the event alone; NULL: all. Returns
 * them, linked by `next`. */
struct vb_event *vb_events_drop(struct vb_events *events, bool (*of)(const struct vb_event *event, const void *arg),
				const void *arg);
/* In a fork's child, before anything else is done with what it has inherited: the thread that had the lock is not here. */
void vb_events_forked(struct vb_events *events);
/* vb_events_drop() in a fork's child, of what it has inherited: the descriptor is the parent's, too, and stays as it is. */
struct vb_event *vb_events_forget(struct vb_events *events, bool (*of)(const struct vb_event *event, const void *arg),
				  const void *arg);
/* These, each of which is the beginning of memory by malloc(). */
void vb_events_free(struct vb_event *dropped);
#pragma GCC visibility pop

#endif
