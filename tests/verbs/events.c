/* SPDX-License-Identifier: BSD-2-Clause */
/* events.c - completion events of traffic: which entries make one, and how a program that sleeps gets it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, FOREVER = -1 };

static struct qp_pair pair;
static struct ibv_comp_channel *channel; /* of B's queue */

static void meet(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = QP_WR, .max_recv_wr = QP_WR, .max_send_sge = 1, .max_recv_sge = 1 }
	};

	qp_pair_open(&pair);
	channel = ibv_create_comp_channel(pair.verbs.context);
	cr_assert_not_null(channel);
	cr_assert_eq(ibv_destroy_qp(pair.qp[B]), 0);
	cr_assert_eq(ibv_destroy_cq(pair.cq[B]), 0);
	pair.cq[B] = ibv_create_cq(pair.verbs.context, 2 * QP_WR, &pair, channel, 0);
	attr.send_cq = attr.recv_cq = pair.cq[B];
	pair.qp[B] = ibv_create_qp(pair.verbs.pd, &attr);
	cr_assert_not_null(pair.qp[B]);
	qp_pair_meet(&pair);
}

static void leave(void)
{
	qp_pair_close_queues(&pair);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	verbs_close(&pair.verbs);
}

TestSuite(verbs_events, .init = meet, .fini = leave, .timeout = 120);

static bool readable(int timeout_ms)
{
	struct pollfd wait = { .fd = channel->fd, .events = POLLIN };

	return poll(&wait, 1, timeout_ms) == 1;
}

/* The event is there, and is B's. */
static void event(void)
{
	struct ibv_cq *cq;
	void *context;

	cr_assert_eq(ibv_get_cq_event(channel, &cq, &context), 0);
	cr_assert(cq == pair.cq[B] && context == &pair);
	ibv_ack_cq_events(cq, 1);
}

static void send_flagged(enum ibv_wr_opcode opcode, unsigned int flags, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, opcode, 0, 10, &sge), *bad;

	wr.wr_id = wr_id;
	wr.send_flags = flags | IBV_SEND_SIGNALED;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, wr_id, IBV_WC_SUCCESS);
}

/* A message, and its completion at B. */
static void message(unsigned int flags)
{
	qp_receive(&pair, B, 100, 7);
	send_flagged(IBV_WR_SEND, flags, 1);
	qp_done(&pair, B, 7, IBV_WC_SUCCESS);
}

Test(verbs_events, any_entry)
{
	message(0);
	cr_assert_not(readable(0), "not armed");
	cr_assert_eq(ibv_req_notify_cq(pair.cq[B], 0), 0);
	message(0);
	cr_assert(readable(0), "though the thread that polled has it");
	event();
	message(IBV_SEND_SOLICITED);
	cr_assert_not(readable(0));
}

Test(verbs_events, solicited_entries)
{
	cr_assert_eq(ibv_req_notify_cq(pair.cq[B], 1), 0);
	message(0);
	cr_assert_not(readable(0));
	message(IBV_SEND_SOLICITED);
	event();
	cr_assert_eq(ibv_req_notify_cq(pair.cq[B], 1), 0);
	qp_receive(&pair, B, 100, 7);
	send_flagged(IBV_WR_RDMA_WRITE_WITH_IMM, 0, 2);
	qp_done(&pair, B, 7, IBV_WC_SUCCESS);
	cr_assert_not(readable(0));
	qp_receive(&pair, B, 100, 8);
	send_flagged(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SOLICITED, 3);
	qp_done(&pair, B, 8, IBV_WC_SUCCESS);
	event();
}

/* A failed entry is one that every program wants to know of. */
Test(verbs_events, errors_are_solicited)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	qp_receive(&pair, B, 100, 7);
	cr_assert_eq(ibv_req_notify_cq(pair.cq[B], 1), 0);
	cr_assert_eq(ibv_modify_qp(pair.qp[B], &attr, IBV_QP_STATE), 0);
	cr_assert(readable(FOREVER));
	event();
	qp_done(&pair, B, 7, IBV_WC_WR_FLUSH_ERR);
}

/* The program arms, finds nothing, and sleeps in poll() or in the call: nobody but the NIC thread serves B then. */
Test(verbs_events, sleepers_are_served)
{
	for (int i = 0; i < 20; i++) {
		struct ibv_wc wc;

		qp_receive(&pair, B, 100, (uint64_t)i);
		cr_assert_eq(ibv_req_notify_cq(pair.cq[B], 0), 0);
		cr_assert_eq(ibv_poll_cq(pair.cq[B], 1, &wc), 0);
		qp_post(&pair, A, IBV_WR_SEND, 0, 10, 1);
		if (i % 2)
			cr_assert(readable(FOREVER));
		event();
		qp_done(&pair, B, (uint64_t)i, IBV_WC_SUCCESS);
		qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	}
}

/* In a fork's child all of it is dead, and can be destroyed; the parent's goes on. */
static int in_child(void)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

	if (ibv_poll_cq(pair.cq[B], 1, &wc) >= 0)
		return 1;
	if (ibv_req_notify_cq(pair.cq[B], 0) != ENODEV)
		return 2;
	if (ibv_get_cq_event(channel, &cq, &context) != -1 || errno != ENODEV)
		return 3;
	if (ibv_resize_cq(pair.cq[B], 10) != ENODEV)
		return 4;
	return 0;
}

Test(verbs_events, forks_child)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(in_child());
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert_eq(ibv_req_notify_cq(pair.cq[B], 0), 0);
	message(0);
	event();
}
