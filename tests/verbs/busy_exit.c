/* SPDX-License-Identifier: BSD-2-Clause */
/* busy_exit.c - a program that ends while threads of it post, poll, register and wait. Run by told.sh. Exit status 0 and no output
 * but of full queues where all went as it should. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 100, THREADS = 4 };

static char bytes[64];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *channel;
static struct ibv_qp *qp;
static atomic_int rounds[THREADS];

/* What a right program goes on after. Else the process ends here, as exit() runs already. */
static void must_go_on(const char *call, int rc, int also)
{
	if (!rc || rc == EAGAIN || rc == also)
		return;
	fprintf(stderr, "%s = %d (%s) while another thread calls exit()\n", call, rc, strerror(rc));
	_exit(3);
}

/* In ERR each request is flushed. */
static void *post_on(void *round)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad_send;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv;

	for (;; atomic_fetch_add((atomic_int *)round, 1)) {
		must_go_on("ibv_post_send", ibv_post_send(qp, &send, &bad_send), ENOMEM);
		must_go_on("ibv_post_recv", ibv_post_recv(qp, &recv, &bad_recv), ENOMEM);
	}
	return NULL;
}

static void *poll_on(void *round)
{
	struct ibv_wc wc;
	int got;

	for (;;) {
		got = ibv_poll_cq(cq, 1, &wc);
		if (got < 0)
			must_go_on("ibv_poll_cq", EIO, 0);
		atomic_fetch_add((atomic_int *)round, got);
		must_go_on("ibv_req_notify_cq", ibv_req_notify_cq(cq, 0), 0);
	}
	return NULL;
}

static void *wait_on(void *round)
{
	struct ibv_cq *from;
	void *cq_context;

	for (;; atomic_fetch_add((atomic_int *)round, 1)) {
		if (ibv_get_cq_event(channel, &from, &cq_context))
			must_go_on("ibv_get_cq_event", EIO, 0);
		ibv_ack_cq_events(from, 1);
	}
	return NULL;
}

static void *register_on(void *round)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (;; atomic_fetch_add((atomic_int *)round, 1)) {
		struct ibv_mr *mr = ibv_reg_mr(pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);

		must_go_on("ibv_reg_mr", mr ? 0 : errno, 0);
		must_go_on("ibv_dereg_mr", mr ? ibv_dereg_mr(mr) : 0, 0);
		must_go_on("ibv_query_qp", ibv_query_qp(qp, &attr, 0, &init), 0);
	}
	return NULL;
}

int main(void)
{
	void *(*const work[THREADS])(void *) = { post_on, poll_on, wait_on, register_on };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 } };
	struct ibv_device **list = ibv_get_device_list(NULL);
	pthread_t thread;

	alarm(120);
	context = ibv_open_device(list[0]);
	pd = ibv_alloc_pd(context);
	channel = ibv_create_comp_channel(context);
	cq = ibv_create_cq(context, 16, NULL, channel, 0);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return 1;
	attr.qp_state = IBV_QPS_ERR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, work[i], &rounds[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		while (atomic_load(&rounds[i]) < ROUNDS)
			sched_yield();
	return 0;
}
