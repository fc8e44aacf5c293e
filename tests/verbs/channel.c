/* SPDX-License-Identifier: BSD-2-Clause */
/* channel.c - completion channels and the queue of asynchronous events, while nothing happens. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tests/verbs/world.h"

TestSuite(verbs_channel, .timeout = 60);

static struct verbs verbs;

static bool readable(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, 0) == 1;
}

static void nonblocking(int fd)
{
	cr_assert_eq(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

Test(verbs_channel, busy_while_queues_use_it)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *one, *two;

	verbs_open(&verbs);
	said_begin();
	channel = ibv_create_comp_channel(verbs.context);
	one = ibv_create_cq(verbs.context, 1, NULL, channel, 0);
	two = ibv_create_cq(verbs.context, 1, NULL, channel, 0);
	cr_assert_eq(channel->refcnt, 2);
	cr_assert_eq(ibv_destroy_comp_channel(channel), EBUSY);
	cr_assert(said_has("2 completion queues tell here"));
	cr_assert_eq(ibv_destroy_cq(one), 0);
	cr_assert_eq(ibv_destroy_cq(two), 0);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	verbs_close(&verbs);
}

Test(verbs_channel, nothing_without_blocking)
{
	struct ibv_async_event event;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	void *context;

	verbs_open(&verbs);
	channel = ibv_create_comp_channel(verbs.context);
	cr_assert(!readable(channel->fd) && !readable(verbs.context->async_fd));
	nonblocking(channel->fd);
	nonblocking(verbs.context->async_fd);
	errno = 0;
	cr_assert_eq(ibv_get_cq_event(channel, &cq, &context), -1);
	cr_assert_eq(errno, EAGAIN);
	errno = 0;
	cr_assert_eq(ibv_get_async_event(verbs.context, &event), -1);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	verbs_close(&verbs);
}

Test(verbs_channel, descriptors_are_closed_by_exec)
{
	struct ibv_comp_channel *channel;

	verbs_open(&verbs);
	channel = ibv_create_comp_channel(verbs.context);
	cr_assert(fcntl(channel->fd, F_GETFD) & FD_CLOEXEC);
	cr_assert(fcntl(verbs.context->async_fd, F_GETFD) & FD_CLOEXEC);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	verbs_close(&verbs);
}

/* --- a thread that sleeps in ibv_get_cq_event() --- */

static struct ibv_comp_channel *slept_on;
static int got, got_errno;

static void *sleeper(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	(void)arg;
	got = ibv_get_cq_event(slept_on, &cq, &context);
	got_errno = errno;
	return NULL;
}

/* rping ends the thread that waits for events so. */
Test(verbs_channel, a_sleeper_can_be_cancelled)
{
	pthread_t thread;
	void *result;

	verbs_open(&verbs);
	slept_on = ibv_create_comp_channel(verbs.context);
	cr_assert_eq(pthread_create(&thread, NULL, sleeper, NULL), 0);
	cr_assert_eq(pthread_cancel(thread), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
	cr_assert_eq(ibv_destroy_comp_channel(slept_on), 0);
	verbs_close(&verbs);
}

static void on_signal(int number)
{
	(void)number;
}

/* As read() on a descriptor: a handler without SA_RESTART ends the sleep. The signal may come before, so it comes again. */
Test(verbs_channel, a_sleeper_can_be_interrupted)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;

	verbs_open(&verbs);
	slept_on = ibv_create_comp_channel(verbs.context);
	cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
	cr_assert_eq(pthread_create(&thread, NULL, sleeper, NULL), 0);
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
		pthread_kill(thread, SIGUSR1);
		sched_yield();
	}
	cr_assert_eq(got, -1);
	cr_assert_eq(got_errno, EINTR);
	cr_assert_eq(ibv_destroy_comp_channel(slept_on), 0);
	verbs_close(&verbs);
}
