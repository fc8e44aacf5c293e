/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.h - what a blocked reader of a queue or counter sleeps on: an epoll descriptor over the queue's own eventfd and
 * the set of all data sockets. So the reader is woken once, by the socket, and drives the device itself; or by
 * wait_wake(), when another thread did. Spurious returns are normal.
 *
 * Order for a reader: arm the queue (cq_arm), drive and look (driver_poll, cq_ready), wait_sleep(), and so on until
 * there is something or time is up; disarm. Any thread, without the driver role. After net_start(). */
#ifndef EMU_NET_WAIT_H
#define EMU_NET_WAIT_H

#include <stdbool.h>

struct wait;

int  wait_open(struct wait **wait);	/* 0 or -errno */
void wait_close(struct wait *wait);	/* nobody sleeps on it */
int  wait_fd(const struct wait *wait);	/* for FI_GETWAIT; belongs to the wait */
/* What cq_open() and cntr_open() get as `wake`, with the wait as its argument. Never blocks. */
void wait_wake(void *wait);

/* Sends the acknowledgements owed, then sleeps at most timeout_ms (negative: without end) or until the device's next
 * timer. 1: look again; 0: timeout_ms have passed; -EINTR: a signal; other -errno. */
int wait_sleep(struct wait *wait, int timeout_ms);
/* fi_trywait: to be called with the queue armed (and left armed). Drives; -EAGAIN if ready(arg) or if there is still
 * work, else 0: the program may sleep on wait_fd(). */
int wait_try(struct wait *wait, bool (*ready)(void *arg), void *arg);

#endif
