/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_wait.c - an rsocket's states, and calls that sleep until it is ready.
 *
 * A sleeper sleeps in poll() on the rsocket's epoll descriptor, without the lock. Another call may take what it was woken for
 * before it looks: the descriptor is not readable any more then, and poll() goes on sleeping though what it waits for has
 * come. So a call that takes something while others sleep rings: it puts an ever readable descriptor into the epoll
 * descriptor, and the last sleeper that has awoken takes it out again. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "emu/cm/rsocket/rs_dgram.h"
#include "emu/verbs/cm/vb_cm.h"

static int bell = -1; /* of the process, and ever readable */

static void make_bell(void)
{
	bell = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
}

void rs_ring(struct rsocket *rs)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_bell);
	if (rs->sleepers && !rs->rung)
		rs->rung = !rs_watch(rs, bell);
}

void rs_enter(struct rsocket *rs, enum rs_state state)
{
	rs->state = state;
	rs_ring(rs);
}

void rs_fail(struct rsocket *rs, int err)
{
	if (rs->state == RS_OVER)
		return;
	rs->error = err;
	rs_enter(rs, RS_OVER);
}

int64_t rs_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void take_completion_events(struct rsocket *rs)
{
	struct ibv_cq *cq;
	void *context;

	while (rs->armed && !ibv_get_cq_event(rs->completions, &cq, &context)) {
		ibv_ack_cq_events(cq, 1);
		rs->armed = false;
	}
}

static void take_cm_events(struct rsocket *rs)
{
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(rs->channel, &event)) {
		rs_event(rs, event);
		rdma_ack_cm_event(event);
		rs_ring(rs);
	}
}

void rs_look(struct rsocket *rs)
{
	if (rs->cq) {
		take_completion_events(rs);
		(void)rs_poll(rs);
	}
	if (rs->dgram)
		rs_dgram_look(rs);
	else if (rs->state != RS_LISTENING && rs->id)
		take_cm_events(rs);
}

/* What comes after it was armed makes the descriptor readable, and leaves it so. */
void rs_sleep_begin(struct rsocket *rs)
{
	rs->sleepers++;
	rs_look(rs);
	if (!rs->cq)
		return;
	if (!rs->armed)
		rs->armed = !ibv_req_notify_cq(rs->cq, 0);
	(void)rs_poll(rs);
}

void rs_sleep_end(struct rsocket *rs)
{
	if (--rs->sleepers || !rs->rung)
		return;
	(void)epoll_ctl(rs->fd, EPOLL_CTL_DEL, bell, NULL);
	rs->rung = false;
}

/* 0, ETIMEDOUT, EINTR or EBADF. */
static int sleep_once(struct rsocket *rs, bool (*ready)(const struct rsocket *rs), int64_t until_us)
{
	struct pollfd on = { .fd = rs->fd, .events = POLLIN };
	int64_t left_ms = until_us < 0 ? -1 : (until_us - rs_now_us() + 999) / 1000;
	int err = 0, n;

	if (until_us >= 0 && left_ms <= 0)
		return ETIMEDOUT;
	rs_sleep_begin(rs);
	if (!ready(rs) && !rs->closing) {
		pthread_mutex_unlock(&rs->lock);
		vb_cm_doze();
		n = poll(&on, 1, (int)left_ms);
		err = n < 0 ? errno : 0;
		pthread_mutex_lock(&rs->lock);
	}
	rs_sleep_end(rs);
	rs_look(rs);
	return rs->closing ? EBADF : err;
}

int rs_await(struct rsocket *rs, bool (*ready)(const struct rsocket *rs), bool blocks, int64_t timeout_ms)
{
	int64_t begin_us, until_us;
	int err = 0;

	if (rs->cq)
		(void)rs_poll(rs);
	if (ready(rs))
		return 0;
	rs_look(rs);
	if (ready(rs))
		return 0;
	if (!blocks)
		return EAGAIN;
	begin_us = rs_now_us();
	until_us = timeout_ms < 0 ? -1 : begin_us + timeout_ms * 1000;
	while (rs->cq && !ready(rs) && rs_now_us() - begin_us < rs->options.poll_us)
		(void)rs_poll(rs);
	while (!err && !ready(rs))
		err = sleep_once(rs, ready, until_us);
	return ready(rs) ? 0 : err;
}
