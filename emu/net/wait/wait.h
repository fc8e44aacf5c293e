/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.h - a blocked reader of a queue or counter sleeps on a wait: an epoll descriptor over the queue's own eventfd and
 * the set of all data sockets. So the reader is woken once, by the socket, and drives the device itself; or by
 * wait_wake(), when another thread has driven it; or when the NIC thread has finished a dial or accepted a peer. Spurious
 * returns are normal.
 *
 * Order for a reader: arm the queue (cq_arm); then wait_turn(), drive and look (driver_poll, cq_ready), wait_sleep(), and
 * so on until there is an entry or time is up; disarm. Any thread, without the driver role, and any number of threads at
 * once: one, the leader, sleeps on the descriptors; the others sleep on its turn and on wait_wake(). Each event wakes all.
 *
 * A wait may be opened before net_start(): the first sleep after net_start() makes it watch the device. */
#ifndef EMU_NET_WAIT_H
#define EMU_NET_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct wait;
struct wait_cond;

int wait_open(struct wait **wait);  /* 0 or -errno */
void wait_close(struct wait *wait); /* nobody sleeps on it */
/* Opens its descriptors, before the first sleep does: for a program that sleeps on them. 0 or -errno. */
int wait_equip(struct wait *wait);
/* For a sleep that has begun without it: the wait now watches the device, if there is one. 0 or -errno. */
int wait_watch_device(struct wait *wait);
/* One more descriptor that wakes while it is readable; the caller's. 0 or -errno. */
int wait_watch(struct wait *wait, int fd);
void wait_unwatch(struct wait *wait, int fd);
int wait_fd(const struct wait *wait); /* after wait_equip(): for FI_GETWAIT; belongs to the wait */
/* cq_open() and cntr_open() get this as `wake`, with the wait as its argument. Never blocks. */
void wait_wake(void *wait);

/* Generation counter. Read it before testing the condition; wait_sleep() returns at once if it has changed. */
uint32_t wait_turn(const struct wait *wait);
/* Sends the acknowledgements owed, then sleeps at most timeout_ms (negative: without end) or until the device's next
 * timer; not at all if the turn has moved since. 1: test again; 0: timeout_ms have passed; -EINTR: a signal; other -errno. */
int wait_sleep(struct wait *wait, uint32_t turn, int timeout_ms);
/* fi_trywait: -EAGAIN if ready(arg), which arms the queue and then looks, or if there is still work. Else 0: posts and
 * acknowledgements owed have been sent, and the program may sleep; with `park` on wait_fd(), else on an object by which the NIC
 * thread must wake it. */
int wait_try(struct wait *wait, bool park, bool (*ready)(void *arg), void *arg);
/* For programs that sleep on wait_fd() without wait_try(). wait_quiet() takes what has woken so far: before a look that drives, or
 * else what comes between is lost. wait_rouse() wakes, though nothing has armed the queue. */
void wait_quiet(struct wait *wait);
void wait_rouse(struct wait *wait);

/* --- A mutex and a condition variable that a program sleeps on itself (FI_WAIT_MUTEX_COND). It takes the mutex, calls
 * fi_trywait(), and waits: no wake-up is missed in between, since each takes the mutex, too.
 *
 * Wake-ups come under the driver role and never wait for the mutex: where the program has it, the worker thread waits in their
 * place. The mutex is recursive, as its holder may drive the device and so wake itself. Any thread. --- */

int wait_cond_open(struct wait_cond **cond); /* 0 or -errno */
/* Nobody wakes it any more. Waits for the worker if it has begun: not with the driver role or the mutex. */
void wait_cond_close(struct wait_cond *cond);
pthread_mutex_t *wait_cond_mutex(struct wait_cond *cond);
pthread_cond_t *wait_cond_cond(struct wait_cond *cond);
void wait_cond_wake(struct wait_cond *cond);

#endif
