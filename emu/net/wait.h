/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.h - what a blocked reader of a queue or counter sleeps on: an epoll descriptor over the queue's own eventfd and
 * the set of all data sockets. So the reader is woken once, by the socket, and drives the device itself; or by
 * wait_wake(), when another thread did; or when the NIC thread has finished a dial or let a peer in. Spurious returns
 * are normal.
 *
 * Order for a reader: arm the queue (cq_arm); then wait_turn(), drive and look (driver_poll, cq_ready), wait_sleep(), and
 * so on until there is something or time is up; disarm. Any thread, without the driver role, and any number of threads at
 * once: one of them sleeps on the descriptors, the others on him and on wait_wake(), and each wakes for whatever comes.
 *
 * A wait may be opened before net_start(): it watches the device as soon as somebody sleeps when there is one. */
#ifndef EMU_NET_WAIT_H
#define EMU_NET_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct wait;

int  wait_open(struct wait **wait);	/* 0 or -errno */
void wait_close(struct wait *wait);	/* nobody sleeps on it */
/* For who sleeps on it already: it watches the device, if there is one. 0 or -errno. */
int  wait_watch_device(struct wait *wait);
/* One more descriptor that wakes while it is readable; the caller's. 0 or -errno. */
int  wait_watch(struct wait *wait, int fd);
void wait_unwatch(struct wait *wait, int fd);
int  wait_fd(const struct wait *wait);	/* for FI_GETWAIT; belongs to the wait */
/* What cq_open() and cntr_open() get as `wake`, with the wait as its argument. Never blocks. */
void wait_wake(void *wait);

/* Moves with every wait_wake() and more often: to be read before one looks at what one waits for. */
uint32_t wait_turn(const struct wait *wait);
/* Sends the acknowledgements owed, then sleeps at most timeout_ms (negative: without end) or until the device's next
 * timer; not at all if the turn has moved since. 1: look again; 0: timeout_ms have passed; -EINTR: a signal; other -errno. */
int wait_sleep(struct wait *wait, uint32_t turn, int timeout_ms);
/* fi_trywait: -EAGAIN if ready(arg), which arms the queue and then looks, or if there is still work; else what was posted and is
 * owed has been sent, and 0: the program may sleep, with `park` on wait_fd(), else on something that the NIC thread must
 * wake it by. */
int wait_try(struct wait *wait, bool park, bool (*ready)(void *arg), void *arg);

#endif
