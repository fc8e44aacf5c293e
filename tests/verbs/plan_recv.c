/* SPDX-License-Identifier: BSD-2-Clause */
/* plan_recv.c - FI_EMU_FAULT: receives that complete with a chosen status. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

enum { A, B };

static struct qp_pair pair;

static void begin(const char *text)
{
	fault_plan(text);
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
}

struct planned_receive {
	char name[30];
	enum ibv_wc_status status, told; /* told: to the peer */
	enum ibv_wr_opcode opcode;
	uint32_t length;
};

ParameterizedTestParameters(verbs_plan_recv, fails_a_receive)
{
	static struct planned_receive all[] = {
		{ "LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WR_SEND, 8 },
		{ "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR, IBV_WR_SEND_WITH_IMM, 8 },
		{ "LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR, IBV_WC_REM_OP_ERR, IBV_WR_SEND, 0 },
		{ "GENERAL_ERR", IBV_WC_GENERAL_ERR, IBV_WC_REM_OP_ERR, IBV_WR_SEND, QP_SPAN / 2 },
		{ "IBV_WC_LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_OP_ERR, IBV_WR_RDMA_WRITE_WITH_IMM, 8 },
		{ "IBV_WC_LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WR_RDMA_WRITE_WITH_IMM, QP_SPAN / 2 },
	};

	return cr_make_param_array(struct planned_receive, all, sizeof(all) / sizeof(all[0]));
}

/* The second receive of the second queue pair, after those of the first and a message, which do not count. No byte of the message
 * has come, what is behind it is flushed on both sides, and both queue pairs are in ERR. */
ParameterizedTest(struct planned_receive *planned, verbs_plan_recv, fails_a_receive)
{
	char text[200];

	snprintf(text, sizeof(text), "[x]\nfault = fail\nstatus = %s\nop = recv\nqp = 2\nfirst = 2\nmost = 1\n", planned->name);
	said_begin();
	begin(text);
	for (uint64_t i = 1; i <= 2; i++)
		qp_receive(&pair, A, 8, 60 + i);
	for (uint64_t i = 1; i <= 3; i++)
		qp_receive(&pair, B, QP_SPAN, 70 + i);
	cr_assert(said_has("ibv_post_recv: receive 0x48 fails when it is taken (IBV_WC_"));
	qp_post(&pair, B, IBV_WR_SEND, 0, 8, 10);
	qp_done(&pair, B, 10, IBV_WC_SUCCESS);
	qp_done(&pair, A, 61, IBV_WC_SUCCESS);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_done(&pair, B, 71, IBV_WC_SUCCESS);
	memset(pair.memory[A], 0xa5, planned->length);
	qp_post(&pair, A, planned->opcode, 0, planned->length, 2);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 3);
	qp_done(&pair, B, 72, planned->status);
	cr_assert(strstr(ibv_wc_status_str(planned->status), "injected by the fault plan (FI_EMU_FAULT)"), "%s",
		  ibv_wc_status_str(planned->status));
	qp_done(&pair, B, 73, IBV_WC_WR_FLUSH_ERR);
	qp_done(&pair, A, 2, planned->told);
	cr_assert(strstr(ibv_wc_status_str(planned->told), "injected by the target's fault plan"), "%s",
		  ibv_wc_status_str(planned->told));
	qp_done(&pair, A, 3, IBV_WC_WR_FLUSH_ERR);
	qp_done(&pair, A, 62, IBV_WC_WR_FLUSH_ERR);
	cr_assert_eq(poll(&(struct pollfd){ .fd = pair.verbs.context->async_fd, .events = POLLIN }, 1, 0), 0,
		     "completions tell it");
	cr_assert(pair.qp[A]->state == IBV_QPS_ERR && pair.qp[B]->state == IBV_QPS_ERR);
	for (uint32_t i = 0; i < planned->length; i++)
		cr_assert_eq(pair.memory[B][i], 0);
	qp_pair_close(&pair);
}

/* A receive that no message takes is flushed, as ever. */
Test(verbs_plan_recv, flushes_a_receive)
{
	begin("[x]\nfault = fail\nstatus = LOC_PROT_ERR\nop = recv\n");
	qp_receive(&pair, B, 8, 70);
	qp_to(&pair, B, IBV_QPS_ERR);
	qp_done(&pair, B, 70, IBV_WC_WR_FLUSH_ERR);
	qp_pair_close(&pair);
}

/* A rule that does not name them leaves receives alone. */
Test(verbs_plan_recv, leaves_receives_to_rules_that_name_them)
{
	begin("[x]\nfault = fail\nstatus = LOC_PROT_ERR\nfirst = 2\n");
	qp_receive(&pair, B, 8, 70);
	qp_receive(&pair, B, 8, 71);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 2);
	qp_done(&pair, A, 2, IBV_WC_LOC_PROT_ERR);
	qp_pair_close(&pair);
}

/* The receives of a shared queue are counted, and are of no queue pair. */
Test(verbs_plan_recv, fails_a_receive_of_a_shared_queue)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 2, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_recv_wr wr = { .wr_id = 70 }, *bad;

	fault_plan("[x]\nfault = fail\nstatus = LOC_QP_OP_ERR\nop = recv\nqp = 3\n"
		   "[y]\nfault = fail\nstatus = LOC_PROT_ERR\nop = recv\nfirst = 2\n");
	qp_pair_open(&pair);
	init.srq = ibv_create_srq(pair.verbs.pd, &attr);
	cr_assert_not_null(init.srq);
	qp_replace(&pair, B, init);
	qp_pair_meet(&pair);
	for (; wr.wr_id < 72; wr.wr_id++)
		cr_assert_eq(ibv_post_srq_recv(init.srq, &wr, &bad), 0);
	qp_post(&pair, A, IBV_WR_SEND, 0, 0, 1);
	qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_post(&pair, A, IBV_WR_SEND, 0, 0, 2);
	qp_done(&pair, B, 71, IBV_WC_LOC_PROT_ERR);
	qp_done(&pair, A, 2, IBV_WC_REM_OP_ERR);
	qp_pair_close_queues(&pair);
	cr_assert_eq(ibv_destroy_srq(init.srq), 0);
	verbs_close(&pair.verbs);
}
