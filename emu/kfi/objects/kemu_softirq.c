/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_softirq.c - the thread that calls the handlers of queues. */
#include "emu/kfi/objects/kemu_queue_parts.h"

#include <emu_kernel.h>
#include <errno.h>
#include <kfi_errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WAKE_ID = 0 }; /* epoll's number of the eventfd; sources count from 1 */

struct kemu_softirq {
	pthread_mutex_t lock; /* guards all below, and the sources */
	pthread_cond_t idle;  /* a run has ended */
	struct kemu_source *first, *running;
	uint64_t last_id;
	int epoll, wake;
	bool started, stop;
	pthread_t thread;
};

static struct kemu_source *find_source(struct kemu_softirq *softirq, uint64_t id)
{
	struct kemu_source *at = softirq->first;

	while (at && at->id != id)
		at = at->next;
	return at;
}

static struct kemu_source *find_kicked(struct kemu_softirq *softirq)
{
	struct kemu_source *at = softirq->first;

	while (at && !at->kicked)
		at = at->next;
	return at;
}

/* Under the lock, which is free while the source runs. */
static void run_source(struct kemu_softirq *softirq, struct kemu_source *source)
{
	source->kicked = false;
	softirq->running = source;
	pthread_mutex_unlock(&softirq->lock);
	source->run(source);
	pthread_mutex_lock(&softirq->lock);
	softirq->running = NULL;
	pthread_cond_broadcast(&softirq->idle);
}

static void *softirq_main(void *arg)
{
	struct kemu_softirq *softirq = arg;
	struct kemu_source *source;
	struct epoll_event event;
	eventfd_t value;

	pthread_mutex_lock(&softirq->lock);
	while (!softirq->stop) {
		int count;

		pthread_mutex_unlock(&softirq->lock);
		count = epoll_wait(softirq->epoll, &event, 1, -1);
		pthread_mutex_lock(&softirq->lock);
		if (count != 1)
			continue; /* a signal */
		if (event.data.u64 == WAKE_ID) {
			eventfd_read(softirq->wake, &value);
			while ((source = find_kicked(softirq)))
				run_source(softirq, source);
		} else if ((source = find_source(softirq, event.data.u64))) {
			run_source(softirq, source);
		}
	}
	pthread_mutex_unlock(&softirq->lock);
	return NULL;
}

int kemu_softirq_open(struct kemu_softirq **out)
{
	struct kemu_softirq *softirq = calloc(1, sizeof(*softirq));
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = WAKE_ID };

	if (!softirq)
		return -KFI_ENOMEM;
	pthread_mutex_init(&softirq->lock, NULL);
	pthread_cond_init(&softirq->idle, NULL);
	softirq->epoll = epoll_create1(EPOLL_CLOEXEC);
	softirq->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*out = softirq;
	if (softirq->epoll >= 0 && softirq->wake >= 0 && !epoll_ctl(softirq->epoll, EPOLL_CTL_ADD, softirq->wake, &event))
		return 0;
	kemu_softirq_close(softirq);
	return -KFI_ENOMEM;
}

void kemu_softirq_close(struct kemu_softirq *softirq)
{
	bool started;

	pthread_mutex_lock(&softirq->lock);
	softirq->stop = true;
	started = softirq->started;
	pthread_mutex_unlock(&softirq->lock);
	if (started) {
		eventfd_write(softirq->wake, 1);
		pthread_join(softirq->thread, NULL);
	}
	if (softirq->epoll >= 0)
		close(softirq->epoll);
	if (softirq->wake >= 0)
		close(softirq->wake);
	pthread_cond_destroy(&softirq->idle);
	pthread_mutex_destroy(&softirq->lock);
	free(softirq);
}

/* The thread takes no signals: they are the program's. Under the lock. */
static int start_softirq(struct kemu_softirq *softirq)
{
	int err;

	if (softirq->started)
		return 0;
	err = emu_kernel_start_thread(&softirq->thread, softirq_main, softirq);
	softirq->started = !err;
	return err;
}

int kemu_softirq_add(struct kemu_softirq *softirq, struct kemu_source *source, int fd)
{
	struct epoll_event event = { .events = EPOLLONESHOT };
	int err;

	pthread_mutex_lock(&softirq->lock);
	err = start_softirq(softirq);
	event.data.u64 = softirq->last_id + 1;
	if (!err && fd >= 0 && epoll_ctl(softirq->epoll, EPOLL_CTL_ADD, fd, &event))
		err = -errno;
	if (!err) {
		source->id = ++softirq->last_id;
		source->fd = fd;
		source->kicked = false;
		source->softirq = softirq;
		source->next = softirq->first;
		softirq->first = source;
	}
	pthread_mutex_unlock(&softirq->lock);
	return err;
}

bool kemu_softirq_remove(struct kemu_source *source)
{
	struct kemu_softirq *softirq = source->softirq;
	struct kemu_source **link;

	if (!softirq)
		return true;
	pthread_mutex_lock(&softirq->lock);
	if (softirq->running == source && pthread_equal(pthread_self(), softirq->thread)) {
		pthread_mutex_unlock(&softirq->lock);
		return false;
	}
	for (link = &softirq->first; *link != source; link = &(*link)->next)
		;
	*link = source->next;
	if (source->fd >= 0)
		epoll_ctl(softirq->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	while (softirq->running == source)
		pthread_cond_wait(&softirq->idle, &softirq->lock);
	pthread_mutex_unlock(&softirq->lock);
	source->softirq = NULL;
	return true;
}

void kemu_softirq_watch(struct kemu_source *source)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = source->id };

	epoll_ctl(source->softirq->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

void kemu_softirq_kick(struct kemu_source *source)
{
	struct kemu_softirq *softirq = source->softirq;

	pthread_mutex_lock(&softirq->lock);
	source->kicked = true;
	pthread_mutex_unlock(&softirq->lock);
	eventfd_write(softirq->wake, 1);
}
