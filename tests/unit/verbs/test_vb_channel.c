/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vb_channel.c - arms, events and their acknowledgement. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "emu/verbs/start/vb_front_end.h"
#include "tests/unit/verbs/pushed.h"

static void push_send(uint64_t wr_id)
{
	push_good(posted(&sends, wr_id, IBV_WC_SEND), 0, 0);
}

static bool readable(void)
{
	struct pollfd wait = { .fd = channel->fd, .events = POLLIN };

	return poll(&wait, 1, 0) == 1;
}

Test(vb_channel, one_event_for_each_arm)
{
	open_all(8);
	push_send(0);
	cr_assert_not(readable(), "not armed");
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
	cr_assert_not(readable(), "what is there already tells nothing");
	push_send(1);
	push_send(2);
	cr_assert(readable());
	cr_assert_eq(events_now(), 1);
	cr_assert_not(readable());
	push_send(3);
	cr_assert_eq(events_now(), 0);
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
	push_failed(posted(&sends, 4, IBV_WC_SEND), REFUSAL_CANCELLED, "an error tells, too");
	cr_assert_eq(events_now(), 1);
	ibv_ack_cq_events(cq, 2);
	close_all();
}

/* A program that arms again before it has read the first event gets two. */
Test(vb_channel, events_add_up)
{
	open_all(8);
	for (uint64_t i = 0; i < 5; i++) {
		cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
		push_send(i);
		polled();
	}
	cr_assert(readable());
	cr_assert_eq(events_now(), 5);
	cr_assert_not(readable());
	ibv_ack_cq_events(cq, 5);
	close_all();
}

Test(vb_channel, solicited_alone)
{
	open_all(8);
	cr_assert_eq(ibv_req_notify_cq(cq, 1), 0);
	push_send(0);
	push_good(posted(&receives, 1, IBV_WC_RECV), VB_CQ_IMM, 0);
	cr_assert_not(readable());
	push_good(posted(&receives, 2, IBV_WC_RECV), VB_CQ_SOLICITED, 0);
	cr_assert_eq(events_now(), 1);
	cr_assert_eq(ibv_req_notify_cq(cq, 1), 0);
	push_failed(posted(&sends, 3, IBV_WC_SEND), REFUSAL_CANCELLED, "an error tells, too");
	cr_assert_eq(events_now(), 1);
	cr_assert_eq(ibv_req_notify_cq(cq, 1), 0);
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
	push_send(4);
	cr_assert_eq(events_now(), 1, "any entry, since that was asked for last");
	ibv_ack_cq_events(cq, 3);
	close_all();
}

/* Each event is an edge of its own. */
Test(vb_channel, edges_of_epoll)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(0);

	open_all(8);
	cr_assert_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &event), 0);
	for (uint64_t i = 0; i < 2; i++) {
		cr_assert_eq(epoll_wait(epoll, &event, 1, 0), 0);
		cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
		push_send(i);
		cr_assert_eq(epoll_wait(epoll, &event, 1, 0), 1);
	}
	cr_assert_eq(events_now(), 2);
	ibv_ack_cq_events(cq, 2);
	close(epoll);
	close_all();
}

/* Queues of one channel take turns. */
Test(vb_channel, events_of_two_queues)
{
	struct ibv_cq *one, *two, *which;
	void *arg;

	open_all(8);
	one = cq;
	two = ibv_create_cq(context, 8, &two, channel, 0);
	cr_assert_eq(ibv_req_notify_cq(one, 0), 0);
	cr_assert_eq(ibv_req_notify_cq(two, 0), 0);
	cq = two;
	push_send(0);
	cq = one;
	push_send(1);
	cr_assert_eq(ibv_get_cq_event(channel, &which, &arg), 0);
	cr_assert(which == two && arg == &two);
	cr_assert_eq(ibv_get_cq_event(channel, &which, &arg), 0);
	cr_assert(which == one && !arg);
	ibv_ack_cq_events(one, 1);
	ibv_ack_cq_events(two, 1);
	cr_assert_eq(ibv_destroy_cq(two), 0);
	close_all();
}

/* --- sleepers --- */

static void *sleeper(void *arg)
{
	struct ibv_cq *which;
	void *context_of_it;

	(void)arg;
	cr_assert_eq(ibv_get_cq_event(channel, &which, &context_of_it), 0);
	cr_assert_eq(which, cq);
	return NULL;
}

/* Several threads sleep there: each event wakes one of them. */
Test(vb_channel, wakes_sleepers)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];

	open_all(8);
	cr_assert_eq(fcntl(channel->fd, F_SETFL, 0), 0);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, sleeper, NULL), 0);
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
		push_send(i);
	}
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	ibv_ack_cq_events(cq, THREADS);
	close_all();
}

/* --- the end of a queue --- */

/* Events that nobody has read go with it. */
Test(vb_channel, unread_events_go_with_their_queue)
{
	struct ibv_cq *which;
	void *arg;

	open_all(8);
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
	push_send(0);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	cr_assert_not(readable());
	cr_assert_eq(ibv_get_cq_event(channel, &which, &arg), -1);
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	close_all();
}

static atomic_bool acked;

static void *destroyer(void *arg)
{
	(void)arg;
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	cr_assert(atomic_load(&acked), "destroyed before the last acknowledgement");
	return NULL;
}

Test(vb_channel, destruction_waits_for_acknowledgements)
{
	pthread_t thread;

	open_all(8);
	for (uint64_t i = 0; i < 2; i++) {
		cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
		push_send(i);
	}
	cr_assert_eq(events_now(), 2);
	cr_assert_eq(pthread_create(&thread, NULL, destroyer, NULL), 0);
	ibv_ack_cq_events(cq, 1);
	for (int i = 0; i < 100; i++)
		sched_yield();
	atomic_store(&acked, true);
	ibv_ack_cq_events(cq, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	close_all();
}
