/* SPDX-License-Identifier: BSD-2-Clause */
/* wait_cond.h - a mutex and a condition variable that a program sleeps on itself (FI_WAIT_MUTEX_COND). It takes the mutex,
 * calls fi_trywait(), and waits: no wake-up is missed in between, since each takes the mutex, too.
 *
 * Wake-ups come under the driver role and never wait for the mutex: where the program has it, the worker thread waits in
 * their place. The mutex is recursive, as its holder may drive the device and so wake itself. Any thread. */
#ifndef EMU_NET_WAIT_COND_H
#define EMU_NET_WAIT_COND_H

#include <pthread.h>

struct wait_cond;

int wait_cond_open(struct wait_cond **cond); /* 0 or -errno */
/* Nobody wakes it any more. Waits for the worker if it has begun: not with the driver role or the mutex. */
void wait_cond_close(struct wait_cond *cond);
pthread_mutex_t *wait_cond_mutex(struct wait_cond *cond);
pthread_cond_t *wait_cond_cond(struct wait_cond *cond);
void wait_cond_wake(struct wait_cond *cond);

#endif
