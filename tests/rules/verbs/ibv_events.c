/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_events.c - events of completion queues and of the device: V118 to V124. */
#include "tests/rules/verbs/vworld.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define WRITE IBV_WR_RDMA_WRITE

/* The queue whose event is next; acknowledged. */
static struct ibv_cq *event(struct vworld *w, void **context)
{
	struct deadline guard = deadline_start();
	struct ibv_cq *cq;

	while (ibv_get_cq_event(w->channel, &cq, context)) {
		CHECK(errno == EAGAIN, "ibv_get_cq_event: %s", strerror(errno));
		deadline_check(&guard, "an event");
	}
	ibv_ack_cq_events(cq, 1);
	return cq;
}

/* No event of side 0's requests or side 1's receives is there, nor on its way: one that another queue tells now is the next. */
static void no_event(struct vworld *w, const char *when)
{
	struct pollfd in = { .fd = w->channel->fd, .events = POLLIN };
	struct ibv_cq *cq = w->side[1].send_cq;
	void *context;

	V_RC(0, ibv_req_notify_cq(cq, 0));
	v_does(w, 1, WRITE, 0, 8, IBV_WC_SUCCESS);
	CHECK(event(w, &context) == cq, "%s: an event", when);
	CHECK(!poll(&in, 1, 0), "%s: the channel is readable", when);
	CHECK(ibv_get_cq_event(w->channel, &cq, &context) == -1 && errno == EAGAIN, "%s: another event", when);
}

VPAIR(V118_a_queue_that_was_not_asked_tells_nothing, .channel = true)
{
	v_does(w, 0, WRITE, 0, 8, IBV_WC_SUCCESS);
	no_event(w, "not asked");
}

VPAIR(V119_each_request_is_told_once, .channel = true)
{
	void *context;

	for (int round = 0; round < 3; round++) {
		V_RC(0, ibv_req_notify_cq(w->side[0].send_cq, 0));
		no_event(w, "nothing has completed");
		v_post(w, 0, WRITE, 0, 8, 1);
		v_post(w, 0, WRITE, 0, 8, 2);
		CHECK(event(w, &context) == w->side[0].send_cq, "the event is of another queue");
		CHECK(context == &w->side[0].send_cq, "cq_context is not what was given");
		v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
		v_done(w->side[0].send_cq, 2, IBV_WC_SUCCESS);
		no_event(w, "told once");
	}
}

VPAIR(V120_the_descriptor_tells_too, .channel = true)
{
	struct pollfd in = { .fd = w->channel->fd, .events = POLLIN };
	void *context;

	V_RC(0, ibv_req_notify_cq(w->side[1].recv_cq, 0));
	v_receive(w, 1, 0, 64, 1);
	v_post(w, 0, IBV_WR_SEND, 0, 8, 1);
	CHECK(poll(&in, 1, CHECK_GUARD_MS) == 1 && in.revents & POLLIN, "the channel does not become readable");
	CHECK(event(w, &context) == w->side[1].recv_cq, "the event is of another queue");
	no_event(w, "told once");
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
}

static void message(struct vworld *w, enum ibv_wr_opcode opcode, unsigned flags)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 4096, 8, &sge);

	wr.send_flags |= flags;
	v_receive(w, 1, 0, 64, 1);
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
}

VPAIR(V121_only_solicited_messages_are_told, .channel = true)
{
	void *context;

	V_RC(0, ibv_req_notify_cq(w->side[1].recv_cq, 1));
	message(w, IBV_WR_SEND, 0);
	message(w, IBV_WR_RDMA_WRITE_WITH_IMM, 0);
	no_event(w, "not solicited");
	message(w, IBV_WR_SEND, IBV_SEND_SOLICITED);
	CHECK(event(w, &context) == w->side[1].recv_cq, "the event is of another queue");
	V_RC(0, ibv_req_notify_cq(w->side[1].recv_cq, 1));
	message(w, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SOLICITED);
	CHECK(event(w, &context) == w->side[1].recv_cq, "the event is of another queue");
	no_event(w, "told once");
}

VPAIR(V122_an_error_is_told_as_solicited, .channel = true)
{
	void *context;

	v_receive(w, 1, 0, 64, 1);
	V_RC(0, ibv_req_notify_cq(w->side[1].recv_cq, 1));
	v_to(w, 1, IBV_QPS_ERR);
	CHECK(event(w, &context) == w->side[1].recv_cq, "the event is of another queue");
	v_done(w->side[1].recv_cq, 1, IBV_WC_WR_FLUSH_ERR);
}

/* A thread destroys an object of which an event is not acknowledged. */
struct closing {
	int (*close)(void *object);
	void *object;
	atomic_int thread; /* its id, when it begins */
	atomic_bool acknowledged, ended;
	bool early;
	int result;
};

static void *close_it(void *arg)
{
	struct closing *closing = arg;

	atomic_store(&closing->thread, gettid());
	closing->result = closing->close(closing->object);
	closing->early = !atomic_load(&closing->acknowledged);
	atomic_store(&closing->ended, true);
	return NULL;
}

/* How often the thread has gone to sleep, if it sleeps now; else 0. */
static unsigned long sleeps(int thread)
{
	char path[64], line[128], state = '?';
	unsigned long times = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		(void)sscanf(line, "State: %c", &state);
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &times);
	}
	if (file)
		fclose(file);
	return state == 'S' ? times : 0;
}

/* Until it has ended, or waits for the acknowledgement: it has slept while the device carried out something else. */
static void begin(struct vworld *w, struct closing *closing, pthread_t *thread)
{
	struct deadline guard = deadline_start();
	unsigned long before, now = 0;

	CHECK(!pthread_create(thread, NULL, close_it, closing), "no thread");
	do {
		deadline_check(&guard, "it neither ends nor waits");
		before = now;
		V_RC(0, ibv_dereg_mr(v_region(w->side[0].pd, w->side[0].bytes, V_SPAN, V_ALL)));
		now = atomic_load(&closing->thread) ? sleeps(atomic_load(&closing->thread)) : 0;
	} while (!atomic_load(&closing->ended) && (!now || now != before));
	atomic_store(&closing->acknowledged, true);
}

static void end(struct closing *closing, pthread_t thread)
{
	pthread_join(thread, NULL);
	V_RC(0, closing->result);
	CHECK(!closing->early, "it was destroyed before its event was acknowledged");
}

static int close_cq(void *cq)
{
	return ibv_destroy_cq(cq);
}

static int close_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

VRESET(V123_a_queue_closes_when_its_events_are_acknowledged, .channel = true)
{
	struct ibv_cq *cq = ibv_create_cq(w->context, V_CQE, NULL, w->channel, 0), *usual = w->side[0].recv_cq, *told;
	struct closing closing = { .close = close_cq, .object = cq };
	struct deadline guard = deadline_start();
	struct ibv_qp *qp;
	pthread_t thread;
	void *context;

	CHECK(cq, "no completion queue: %s", strerror(errno));
	w->side[0].recv_cq = cq;
	V_RC(0, ibv_destroy_qp(w->side[0].qp));
	qp = w->side[0].qp = v_qp(w, 0, NULL);
	w->side[0].recv_cq = usual;
	v_to(w, 0, IBV_QPS_INIT);
	v_receive(w, 0, 0, 64, 1);
	V_RC(0, ibv_req_notify_cq(cq, 0));
	v_to(w, 0, IBV_QPS_ERR);
	while (ibv_get_cq_event(w->channel, &told, &context))
		deadline_check(&guard, "an event");
	CHECK(told == cq, "the event is of another queue");
	V_RC(0, ibv_destroy_qp(qp));
	w->side[0].qp = NULL;
	begin(w, &closing, &thread);
	ibv_ack_cq_events(cq, 1);
	end(&closing, thread);
}

VPAIR(V124_a_queue_pair_closes_when_its_events_are_acknowledged, .mr_without = IBV_ACCESS_REMOTE_WRITE)
{
	struct closing closing = { .close = close_qp, .object = w->side[1].qp };
	struct deadline guard = deadline_start();
	struct ibv_async_event got;
	pthread_t thread;

	v_does(w, 0, WRITE, 0, 8, IBV_WC_REM_ACCESS_ERR);
	do {
		while (ibv_get_async_event(w->context, &got)) {
			CHECK(errno == EAGAIN, "ibv_get_async_event: %s", strerror(errno));
			deadline_check(&guard, "an event");
		}
		if (got.event_type != IBV_EVENT_QP_ACCESS_ERR)
			ibv_ack_async_event(&got);
	} while (got.event_type != IBV_EVENT_QP_ACCESS_ERR);
	begin(w, &closing, &thread);
	ibv_ack_async_event(&got);
	end(&closing, thread);
	w->side[1].qp = NULL;
}
