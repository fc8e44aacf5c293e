/* SPDX-License-Identifier: BSD-2-Clause */
/* shared.c - a shared receive queue of two queue pairs, of which one fails, is not ready, is reset or is cut: the other one and the
 * receives that are left go on. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, MAX_WR = 8, BYTES = 50, LONG = 1 << 19 };

/* Sides B of both take their receives from `srq`. `second` has completion queues of its own. */
static struct qp_pair first, second;
static struct ibv_srq *srq;

static void begin_as(const char *plan, unsigned char rnr_retry)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = MAX_WR, .max_sge = 1 } };

	if (plan)
		fault_plan(plan);
	said_begin();
	qp_pair_open(&first);
	srq = ibv_create_srq(first.verbs.pd, &attr);
	cr_assert_not_null(srq);
	qp_replace(&first, B, (struct ibv_qp_init_attr){ .srq = srq, .cap = { QP_WR, 0, 1, 0, 0 }, .sq_sig_all = 1 });
	second = first;
	for (int side = A; side <= B; side++) {
		struct ibv_qp_init_attr init = {
			.qp_type = IBV_QPT_RC, .srq = side == B ? srq : NULL, .cap = { QP_WR, QP_WR, 1, 1, 0 }, .sq_sig_all = 1
		};

		second.cq[side] = ibv_create_cq(first.verbs.context, QP_WR, NULL, NULL, 0);
		init.send_cq = init.recv_cq = second.cq[side];
		second.qp[side] = ibv_create_qp(first.verbs.pd, &init);
		cr_assert_not_null(second.qp[side]);
	}
	first.rnr_retry = rnr_retry;
	qp_pair_meet(&first);
	qp_pair_meet(&second);
	cr_assert_eq(fcntl(first.verbs.context->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static void begin(const char *plan)
{
	begin_as(plan, 7);
}

static void end(void)
{
	for (int side = A; side <= B; side++) {
		cr_assert_eq(ibv_destroy_qp(second.qp[side]), 0);
		cr_assert_eq(ibv_destroy_cq(second.cq[side]), 0);
	}
	qp_replace(&first, B, (struct ibv_qp_init_attr){ .cap = { 1, 1, 1, 1, 0 } });
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	qp_pair_close(&first);
}

TestSuite(verbs_shared, .timeout = 120);

static int receive(uint64_t wr_id, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)first.memory[B] + wr_id * BYTES, length, first.mr[B]->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int err = ibv_post_srq_recv(srq, &wr, &bad);

	cr_assert_eq(bad, err ? &wr : NULL);
	return err;
}

static void receives(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		cr_assert_eq(receive(i, BYTES), 0);
}

/* A message that takes that receive. */
static void message(struct qp_pair *pair, uint64_t wr_id)
{
	qp_post(pair, A, IBV_WR_SEND, 0, BYTES, wr_id);
	qp_done(pair, A, wr_id, IBV_WC_SUCCESS);
	qp_done(pair, B, wr_id, IBV_WC_SUCCESS);
}

static bool next_event(struct ibv_async_event *event)
{
	if (ibv_get_async_event(first.verbs.context, event))
		return false;
	ibv_ack_async_event(event);
	return true;
}

static void expect_event(enum ibv_event_type type, const struct ibv_qp *qp)
{
	struct ibv_async_event event;

	do
		cr_assert(next_event(&event), "no event of type %d", (int)type);
	while (event.event_type == IBV_EVENT_COMM_EST);
	cr_assert_eq(event.event_type, type, "%s", ibv_event_type_str(event.event_type));
	if (qp)
		cr_assert_eq(event.element.qp, qp);
}

static void expect_no_event(void)
{
	struct ibv_async_event event;

	while (next_event(&event))
		cr_assert_eq(event.event_type, IBV_EVENT_COMM_EST, "%s", ibv_event_type_str(event.event_type));
}

/* So many receives are out: as many as there may be can be posted on top. */
static void expect_out(uint64_t out)
{
	receives(0, MAX_WR - out);
	cr_assert_eq(receive(0, BYTES), ENOMEM);
}

/* --- one of them goes to ERR --- */

Test(verbs_shared, one_goes_to_err)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_wc wc;

	begin(NULL);
	receives(0, 4);
	cr_assert_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	message(&first, 0);
	qp_to(&first, B, IBV_QPS_ERR);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, first.qp[B]);
	cr_assert_eq(ibv_poll_cq(first.cq[B], 1, &wc), 0, "it has taken no receive that would be flushed");
	message(&second, 1);
	expect_no_event();
	message(&second, 2);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, NULL);
	message(&second, 3);
	expect_no_event();
	expect_out(0);
	end();
}

Test(verbs_shared, one_fails_by_a_plan)
{
	struct ibv_port_attr port;

	begin("[x]\nfault = event\nevent = QP_FATAL\nqp = 3\ncall = ibv_query_port\n"); /* that of first.qp[B] */
	receives(0, 2);
	cr_assert_eq(ibv_query_port(first.verbs.context, 1, &port), 0);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, first.qp[B]);
	expect_event(IBV_EVENT_QP_FATAL, first.qp[B]);
	message(&second, 0);
	message(&second, 1);
	end();
}

Test(verbs_shared, a_completion_queue_of_one_overruns)
{
	begin(NULL);
	cr_assert_eq(ibv_resize_cq(first.cq[B], 1), 0);
	receives(0, 4);
	for (uint64_t i = 0; i < 2; i++)
		qp_post(&first, A, IBV_WR_SEND, 0, BYTES, i);
	qp_done(&first, A, 0, IBV_WC_SUCCESS);
	(void)qp_next(&first, A); /* the second one arrived, or met the end of the queue pair */
	expect_event(IBV_EVENT_CQ_ERR, NULL);
	expect_event(IBV_EVENT_QP_FATAL, first.qp[B]);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, first.qp[B]);
	qp_done(&first, B, 0, IBV_WC_SUCCESS);
	message(&second, 2);
	message(&second, 3);
	end();
}

/* --- no receive is there --- */

Test(verbs_shared, both_are_not_ready)
{
	uint64_t took = 0;

	begin(NULL);
	qp_post(&first, A, IBV_WR_SEND, 0, BYTES, 1);
	qp_post(&second, A, IBV_WR_SEND, 0, BYTES, 2);
	receives(0, 2);
	qp_done(&first, A, 1, IBV_WC_SUCCESS);
	qp_done(&second, A, 2, IBV_WC_SUCCESS);
	took += qp_next(&first, B).wr_id;
	took += qp_next(&second, B).wr_id;
	cr_assert_eq(took, 0 + 1, "one receive each");
	expect_out(0);
	end();
}

/* The one that gave up takes no receive away from the other. */
Test(verbs_shared, one_is_not_ready_too_often)
{
	begin_as(NULL, 1);
	qp_post(&first, A, IBV_WR_SEND, 0, BYTES, 1);
	qp_done(&first, A, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	qp_post(&second, A, IBV_WR_SEND, 0, BYTES, 2);
	receives(5, 6);
	qp_done(&second, A, 2, IBV_WC_SUCCESS);
	qp_done(&second, B, 5, IBV_WC_SUCCESS);
	expect_out(0);
	end();
}

/* --- by plan --- */

static char plans[][80] = {
	"[a]\nfault = cut\nevery = 2\nwhen = before\n",
	"[a]\nfault = cut\nevery = 2\nwhen = after\n",
	"[a]\nfault = rnr\nevery = 2\ntimes = 2\n",
	"[a]\nfault = completion\nwait = 1ms\njitter = 3ms\n",
	"[a]\nfault = cut\nevery = 3\n[b]\nfault = rnr\nevery = 2\n",
};
struct planned {
	char text[sizeof(plans[0])];
};

ParameterizedTestParameters(verbs_shared, each_receive_is_taken_once)
{
	return cr_make_param_array(struct planned, (struct planned *)plans, sizeof(plans) / sizeof(plans[0]));
}

/* Messages of both at a time. */
ParameterizedTest(struct planned *planned, verbs_shared, each_receive_is_taken_once)
{
	bool taken[MAX_WR] = { false };

	begin(planned->text);
	receives(0, MAX_WR);
	for (uint64_t i = 0; i < MAX_WR / 2; i++) {
		qp_post(&first, A, IBV_WR_SEND, 0, BYTES, i);
		qp_post(&second, A, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, i);
	}
	for (uint64_t i = 0; i < MAX_WR; i++) {
		struct qp_pair *pair = i % 2 ? &second : &first;
		struct ibv_wc wc = qp_next(pair, B);

		cr_assert_eq(wc.status, IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
		cr_assert_not(taken[wc.wr_id]);
		taken[wc.wr_id] = true;
		qp_done(pair, A, i / 2, IBV_WC_SUCCESS);
	}
	expect_out(0);
	end();
}

/* A message is half there when its queue pair is reset, or destroyed: the program may post the receive anew, and the other queue
 * pair goes on. */
static void ends_within_a_message(bool by_reset)
{
	struct ibv_wc wc;

	begin("[a]\nfault = bandwidth\nrate = 400000\n");
	cr_assert_eq(receive(0, LONG), 0);
	qp_post(&first, A, IBV_WR_SEND, 0, LONG, 1);
	memset(first.memory[A], 7, LONG);
	while (!*(volatile unsigned char *)first.memory[B])
		cr_assert_eq(ibv_poll_cq(first.cq[B], 1, &wc), 0);
	if (by_reset)
		qp_to(&first, B, IBV_QPS_RESET);
	else
		qp_replace(&first, B, (struct ibv_qp_init_attr){ .srq = srq, .cap = { 1, 0, 1, 0, 0 } });
	cr_assert_eq(ibv_poll_cq(first.cq[B], 1, &wc), 0);
	receives(1, 2);
	message(&second, 1);
	expect_out(0);
	end();
}

Test(verbs_shared, one_is_reset_within_a_message)
{
	ends_within_a_message(true);
}

Test(verbs_shared, one_is_destroyed_within_a_message)
{
	ends_within_a_message(false);
}

/* --- the device fails --- */

Test(verbs_shared, the_device_fails)
{
	struct ibv_port_attr port;
	struct ibv_wc wc;

	begin("[x]\nfault = event\nevent = DEVICE_FATAL\ncall = ibv_query_port\nmost = 1\n");
	receives(0, 2);
	cr_assert_eq(ibv_query_port(first.verbs.context, 1, &port), EIO);
	cr_assert_eq(receive(3, BYTES), EIO);
	expect_event(IBV_EVENT_DEVICE_FATAL, NULL);
	cr_assert(first.qp[B]->state == IBV_QPS_ERR && second.qp[B]->state == IBV_QPS_ERR);
	cr_assert_eq(ibv_poll_cq(first.cq[B], 1, &wc), 0);
	for (int side = A; side <= B; side++) {
		cr_assert_eq(ibv_destroy_qp(second.qp[side]), 0);
		cr_assert_eq(ibv_destroy_cq(second.cq[side]), 0);
		cr_assert_eq(ibv_destroy_qp(first.qp[side]), 0);
		cr_assert_eq(ibv_destroy_cq(first.cq[side]), 0);
		cr_assert_eq(ibv_dereg_mr(first.mr[side]), 0);
		free(first.memory[side]);
	}
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	verbs_close(&first.verbs);
}

/* --- checked mode --- */

static struct ibv_mr *mine; /* memory that no peer may write to */
static char area[4 * BYTES];

static void receive_there(size_t at, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)area + at, BYTES, mine->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

/* Receives that nobody took end with their queue, and stay under way when a queue pair has ended that might have. */
Test(verbs_shared, checked_receives_that_nobody_took)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = MAX_WR, .max_sge = 1 } };
	struct ibv_srq *usual;

	setenv("FI_EMU_CHECK", "1", 1);
	begin(NULL);
	mine = ibv_reg_mr(first.verbs.pd, area, sizeof(area), IBV_ACCESS_LOCAL_WRITE);
	usual = srq;
	srq = ibv_create_srq(first.verbs.pd, &attr);
	receive_there(0, 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	memset(area, 9, sizeof(area));
	srq = usual;
	receive_there(1, 1); /* a part of one that is gone */
	receive_there(2 * BYTES, 2);
	qp_to(&first, B, IBV_QPS_ERR);
	message(&second, 1);
	cr_assert_not(said_has(" ["), "a right program");
	area[2 * BYTES]++;
	message(&second, 2);
	cr_assert(said_has("ibv_post_srq_recv: the buffer, 50 B") && said_has("[receive-buffer-changed]"));
	cr_assert_eq(ibv_dereg_mr(mine), 0);
	end();
}

/* --- forks --- */

static int in_child(void)
{
	struct ibv_srq_attr attr;

	if (receive(7, BYTES) != ENODEV || ibv_query_srq(srq, &attr) != ENODEV ||
	    ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) != ENODEV)
		return 1;
	return ibv_destroy_qp(second.qp[B]) || ibv_destroy_qp(first.qp[B]) || ibv_destroy_srq(srq);
}

Test(verbs_shared, forks_child)
{
	int status;
	pid_t child;

	begin(NULL);
	receives(0, 2);
	child = fork();
	if (!child)
		_exit(in_child());
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	message(&first, 0);
	message(&second, 1);
	end();
}
