/* SPDX-License-Identifier: BSD-2-Clause */
/* cq_load.c - completion queues under load: more entries than they hold, several threads that poll, sizes that change meanwhile. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, SMALL = 4, POSTS = SMALL + 2, MANY = 20000, POLLERS = 3 };

static struct qp_pair pair;

static void open_pair(void)
{
	setenv("EMU_LOG_LEVEL", "info", 1);
	qp_pair_open(&pair);
}

static void close_pair(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_cq_load, .init = open_pair, .fini = close_pair, .timeout = 240);

static int write_one(uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, wr_id % 1000, 1, &sge), *bad;

	wr.wr_id = wr_id;
	wr.send_flags = IBV_SEND_SIGNALED;
	return ibv_post_send(pair.qp[A], &wr, &bad);
}

/* A queue may hold fewer entries than its queue pairs have receives: what is destroyed or reset adds none. */
Test(verbs_cq_load, no_overrun_when_a_queue_pair_goes)
{
	struct ibv_async_event event;
	struct ibv_wc wc;

	cr_assert_eq(ibv_resize_cq(pair.cq[A], SMALL), 0);
	cr_assert_eq(fcntl(pair.verbs.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	for (int by_reset = 1; by_reset >= 0; by_reset--) {
		qp_pair_meet(&pair);
		for (uint64_t i = 0; i < 2 * SMALL; i++)
			qp_receive(&pair, A, 1, i);
		cr_assert_eq(write_one(0), 0);
		qp_done(&pair, A, 0, IBV_WC_SUCCESS);
		if (by_reset) {
			qp_to(&pair, A, IBV_QPS_RESET);
			qp_to(&pair, B, IBV_QPS_RESET);
		}
	}
	cr_assert_eq(ibv_destroy_qp(pair.qp[A]), 0);
	cr_assert_eq(ibv_poll_cq(pair.cq[A], 1, &wc), 0);
	cr_assert_eq(ibv_get_async_event(pair.verbs.context, &event), -1);
	pair.qp[A] = ibv_create_qp(pair.verbs.pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,
									      .send_cq = pair.cq[A],
									      .recv_cq = pair.cq[A],
									      .cap = { 1, 1, 1, 1, 0 } });
	cr_assert_not_null(pair.qp[A]);
}

/* The first are kept, the next is lost, and told once, and ends the queue pair, but none that has no peer yet. What comes after
 * room was made is polled again, and frees all before. */
Test(verbs_cq_load, overrun)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = pair.cq[A], .recv_cq = pair.cq[A], .cap = { 1, 1, 1, 1, 0 }
	};
	struct ibv_qp *idle = ibv_create_qp(pair.verbs.pd, &init);
	struct ibv_async_event event;
	struct ibv_wc wc[POSTS];

	cr_assert_eq(ibv_resize_cq(pair.cq[A], SMALL), 0);
	cr_assert_eq(pair.cq[A]->cqe, SMALL);
	qp_pair_meet(&pair);
	for (uint64_t i = 0; i < POSTS; i++)
		cr_assert_eq(write_one(i), 0);
	cr_assert_eq(ibv_get_async_event(pair.verbs.context, &event), 0); /* it waits for the fifth */
	cr_assert(event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == pair.cq[A]);
	ibv_ack_async_event(&event);
	cr_assert_eq(ibv_get_async_event(pair.verbs.context, &event), 0);
	cr_assert(event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == pair.qp[A]);
	ibv_ack_async_event(&event);
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_ERR);
	cr_assert_eq(idle->state, IBV_QPS_RESET);
	cr_assert_eq(ibv_destroy_qp(idle), 0);
	cr_assert_eq(ibv_poll_cq(pair.cq[A], SMALL, wc), SMALL);
	for (uint64_t i = 0; i < SMALL; i++)
		cr_assert(wc[i].wr_id == i && wc[i].status == IBV_WC_SUCCESS);
	cr_assert_eq(write_one(POSTS), 0);
	for (uint64_t last = SMALL; last < POSTS; last = wc[0].wr_id) {
		wc[0] = qp_next(&pair, A);
		cr_assert(wc[0].wr_id > last && wc[0].status == IBV_WC_WR_FLUSH_ERR, "the fifth is lost, and perhaps the sixth");
	}
	for (uint64_t i = 0; i < SMALL; i++)
		cr_assert_eq(write_one(i), 0);
	for (uint64_t i = 0; i < SMALL; i++)
		qp_done(&pair, A, i, IBV_WC_WR_FLUSH_ERR);
	cr_assert_eq(fcntl(pair.verbs.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(ibv_get_async_event(pair.verbs.context, &event), -1);
}

/* IGNORE_OVERRUN: the queue pair goes on. */
Test(verbs_cq_load, overrun_that_is_ignored)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = SMALL,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN };
	struct ibv_cq *usual = pair.cq[A];
	struct ibv_wc wc;

	said_begin();
	pair.cq[A] = ibv_cq_ex_to_cq(ibv_create_cq_ex(pair.verbs.context, &attr));
	cr_assert_not_null(pair.cq[A]);
	qp_replace(&pair, A, (struct ibv_qp_init_attr){ .cap = { QP_WR, 1, 1, 1, 0 } });
	qp_pair_meet(&pair);
	for (uint64_t i = 0; i < POSTS; i++)
		cr_assert_eq(write_one(i), 0);
	while (!said_has("loses what comes on top")) /* the device goes on by itself */
		sched_yield();
	for (int i = 0; i < SMALL; i++)
		qp_done(&pair, A, (uint64_t)i, IBV_WC_SUCCESS);
	cr_assert_eq(write_one(POSTS), 0);
	do {
		wc = qp_next(&pair, A);
		cr_assert_eq(wc.status, IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	} while (wc.wr_id != POSTS);
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_RTS);
	cr_assert_eq(ibv_destroy_qp(pair.qp[A]), 0);
	cr_assert_eq(ibv_destroy_cq(pair.cq[A]), 0);
	pair.cq[A] = usual;
	pair.qp[A] = ibv_create_qp(pair.verbs.pd,
				   &(struct ibv_qp_init_attr){
					   .qp_type = IBV_QPT_RC, .send_cq = usual, .recv_cq = usual, .cap = { 1, 1, 1, 1, 0 } });
}

static atomic_uint polled;
static atomic_uchar seen[MANY];

static void *poller(void *arg)
{
	struct ibv_wc wc[3];
	uint64_t next = 0;

	(void)arg;
	while (atomic_load(&polled) < MANY) {
		int got = ibv_poll_cq(pair.cq[A], 3, wc);

		cr_assert_geq(got, 0);
		for (int i = 0; i < got; i++) {
			cr_assert_eq(wc[i].status, IBV_WC_SUCCESS);
			cr_assert_geq(wc[i].wr_id, next, "each poller sees them in their order");
			next = wc[i].wr_id + 1;
			cr_assert_eq(atomic_fetch_add(&seen[wc[i].wr_id], 1), 0);
		}
		atomic_fetch_add(&polled, (unsigned int)got);
	}
	return NULL;
}

static void *resizer(void *arg)
{
	int cqe = 2 * QP_WR;

	(void)arg;
	while (atomic_load(&polled) < MANY) {
		cqe = cqe == 2 * QP_WR ? 3 * QP_WR : 2 * QP_WR;
		cr_assert_eq(ibv_resize_cq(pair.cq[A], cqe), 0);
		sched_yield();
	}
	return NULL;
}

/* Each entry is polled once, by one of them, while another thread posts, and one more changes the size. */
Test(verbs_cq_load, many_pollers)
{
	pthread_t threads[POLLERS + 1];

	qp_pair_meet(&pair);
	for (int i = 0; i < POLLERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, poller, NULL), 0);
	cr_assert_eq(pthread_create(&threads[POLLERS], NULL, resizer, NULL), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		int err;

		while ((err = write_one(i)) == ENOMEM)
			sched_yield();
		cr_assert_eq(err, 0);
	}
	for (int i = 0; i <= POLLERS; i++)
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	cr_assert_eq(atomic_load(&polled), MANY);
}
