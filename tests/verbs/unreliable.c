/* SPDX-License-Identifier: BSD-2-Clause */
/* unreliable.c - UC queue pairs: what is lost by a plan, what the log tells of losses, and which calls they have. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

static void open_uc(struct qp_pair *pair)
{
	qp_pair_open_type(pair, IBV_QPT_UC);
	qp_pair_meet(pair);
}

/* Each third message does not leave; no completion tells of it. */
Test(verbs_unreliable, a_plan_loses)
{
	struct qp_pair pair;

	fault_plan("seed = 3\n[a]\nfault = lose\nop = send\nfirst = 3\nevery = 3\n");
	open_uc(&pair);
	for (uint64_t i = 1; i <= 9; i++)
		qp_receive(&pair, 1, 8, i);
	for (uint64_t i = 1; i <= 9; i++) {
		memset(pair.memory[0], (int)i, 8);
		qp_post(&pair, 0, IBV_WR_SEND, 0, 8, i);
		qp_done(&pair, 0, i, IBV_WC_SUCCESS);
		qp_post(&pair, 0, IBV_WR_RDMA_WRITE, 4096, 8, 100);
		qp_done(&pair, 0, 100, IBV_WC_SUCCESS);
		cr_assert_eq(pair.memory[1][4096], i);
	}
	for (uint64_t i = 1; i <= 6; i++)
		qp_done(&pair, 1, i, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_poll_cq(pair.cq[1], 1, &(struct ibv_wc){ 0 }), 0);
	qp_pair_close(&pair);
}

/* Nobody is sent a bind: the one loss is the message's. */
Test(verbs_unreliable, a_plan_loses_no_bind)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct qp_pair pair;
	struct ibv_mr *mr;

	fault_plan("[a]\nfault = lose\nop = send\nmost = 1\n");
	open_uc(&pair);
	mr = ibv_reg_mr(pair.verbs.pd, pair.memory[0], 64, IBV_ACCESS_MW_BIND);
	wr.bind_mw.mw = ibv_alloc_mw(pair.verbs.pd, IBV_MW_TYPE_2);
	cr_assert(mr && wr.bind_mw.mw);
	wr.bind_mw.rkey = ibv_inc_rkey(wr.bind_mw.mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ mr, (uintptr_t)pair.memory[0], 64, IBV_ACCESS_REMOTE_READ };
	cr_assert_eq(ibv_post_send(pair.qp[0], &wr, &bad), 0);
	qp_done(&pair, 0, 1, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_dereg_mr(mr), EBUSY);
	qp_receive(&pair, 1, 8, 50);
	qp_post(&pair, 0, IBV_WR_SEND, 0, 8, 2);
	qp_done(&pair, 0, 2, IBV_WC_SUCCESS);
	qp_post(&pair, 0, IBV_WR_RDMA_WRITE, 4096, 8, 3);
	qp_done(&pair, 0, 3, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_poll_cq(pair.cq[1], 1, &(struct ibv_wc){ 0 }), 0);
	cr_assert_eq(ibv_dealloc_mw(wr.bind_mw.mw), 0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	qp_pair_close(&pair);
}

Test(verbs_unreliable, a_plan_refuses_and_has_no_receive)
{
	struct qp_pair pair;

	fault_plan("[a]\nfault = refuse\ncause = range\nop = write\nfirst = 2\nmost = 1\n"
		   "[b]\nfault = rnr\nop = send\nfirst = 2\nmost = 1\n");
	open_uc(&pair);
	qp_receive(&pair, 1, 8, 50);
	qp_receive(&pair, 1, 8, 51);
	for (uint64_t i = 1; i <= 3; i++) {
		memset(pair.memory[0], (int)i, 8);
		qp_post(&pair, 0, IBV_WR_RDMA_WRITE, 4096 * i, 8, i);
		qp_done(&pair, 0, i, IBV_WC_SUCCESS);
		cr_assert_eq(pair.memory[1][4096 * i], i == 2 ? 0 : i);
		qp_post(&pair, 0, IBV_WR_SEND, 0, 8, i);
		qp_done(&pair, 0, i, IBV_WC_SUCCESS);
	}
	qp_done(&pair, 1, 50, IBV_WC_SUCCESS);
	qp_done(&pair, 1, 51, IBV_WC_SUCCESS);
	qp_pair_close(&pair);
}

/* One that a plan has fail ends its queue pair alone: the sender hears nothing. */
static void planned_receive(enum ibv_wr_opcode opcode)
{
	struct qp_pair pair;

	fault_plan("[a]\nfault = fail\nstatus = LOC_LEN_ERR\nop = recv\nfirst = 2\n");
	open_uc(&pair);
	for (uint64_t i = 1; i <= 2; i++) {
		qp_receive(&pair, 1, 8, 50 + i);
		qp_post(&pair, 0, opcode, 0, 8, i);
		qp_done(&pair, 0, i, IBV_WC_SUCCESS);
		qp_done(&pair, 1, 50 + i, i == 2 ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS);
	}
	qp_post(&pair, 0, opcode, 0, 8, 3);
	qp_done(&pair, 0, 3, IBV_WC_SUCCESS);
	cr_assert(pair.qp[0]->state == IBV_QPS_RTS && pair.qp[1]->state == IBV_QPS_ERR);
	qp_pair_close(&pair);
}

Test(verbs_unreliable, a_plan_fails_a_receive)
{
	planned_receive(IBV_WR_SEND);
}

Test(verbs_unreliable, a_plan_fails_a_receive_of_a_write)
{
	planned_receive(IBV_WR_RDMA_WRITE_WITH_IMM);
}

Test(verbs_unreliable, the_log_tells)
{
	struct qp_pair pair;

	said_begin();
	open_uc(&pair);
	qp_post(&pair, 0, IBV_WR_SEND, 0, 8, 1);
	qp_done(&pair, 0, 1, IBV_WC_SUCCESS);
	cr_assert(said_has("lost, from"));
	cr_assert(said_has("message of 8 B: no receive was posted when it came, so it is lost. Post receives with ibv_post_recv"));
	qp_receive(&pair, 1, 8, 2);
	qp_post(&pair, 0, IBV_WR_SEND, 0, 9, 3);
	qp_done(&pair, 0, 3, IBV_WC_SUCCESS);
	cr_assert(said_has("longer by 1 B than the 8 B receive that is the next, so it is lost, and the receive waits for "
			   "another"));
	qp_post(&pair, 0, IBV_WR_RDMA_WRITE, QP_SPAN - 4, 8, 4);
	qp_done(&pair, 0, 4, IBV_WC_SUCCESS);
	cr_assert(said_has("4 B past the end of a 1048576 B region"));
	qp_pair_close(&pair);
}

Test(verbs_unreliable, the_log_tells_that_types_differ)
{
	struct ibv_qp_init_attr rc = { .qp_type = IBV_QPT_RC, .cap = { QP_WR, QP_WR, QP_SGE, QP_SGE, QP_INLINE } };
	struct qp_pair pair;

	said_begin();
	qp_pair_open_type(&pair, IBV_QPT_UC);
	qp_replace(&pair, 1, rc);
	qp_pair_meet(&pair);
	qp_post(&pair, 0, IBV_WR_SEND, 0, 8, 1);
	qp_done(&pair, 0, 1, IBV_WC_SUCCESS);
	cr_assert(said_has("is of type RC, and its peer of type UC: hardware drops such packets"));
	qp_pair_close(&pair);
}

Test(verbs_unreliable, calls_of_its_own)
{
	struct qp_pair pair;
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_UC,
					    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ };
	struct ibv_qp *qp;

	open_uc(&pair);
	init.pd = pair.verbs.pd;
	init.send_cq = init.recv_cq = pair.cq[0];
	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EOPNOTSUPP);
	init.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_INV;
	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EOPNOTSUPP);
	init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
			      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	qp = ibv_create_qp_ex(pair.verbs.context, &init);
	cr_assert_not_null(qp);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	qp_pair_close(&pair);
}

/* A process that goes on without its peer, and one that comes again under its number. */
Test(verbs_unreliable, a_peer_that_is_reset)
{
	struct qp_pair pair;

	open_uc(&pair);
	for (uint64_t i = 1; i <= 3; i++) {
		qp_receive(&pair, 1, 8, 50);
		qp_post(&pair, 0, IBV_WR_SEND, 0, 8, i);
		qp_done(&pair, 0, i, IBV_WC_SUCCESS);
		qp_done(&pair, 1, 50, IBV_WC_SUCCESS);
		qp_to(&pair, 1, IBV_QPS_RESET);
		qp_post(&pair, 0, IBV_WR_SEND, 0, 8, i);
		qp_done(&pair, 0, i, IBV_WC_SUCCESS);
		cr_assert_eq(pair.qp[0]->state, IBV_QPS_RTS);
		qp_to(&pair, 1, IBV_QPS_INIT);
		qp_to(&pair, 1, IBV_QPS_RTR);
		qp_to(&pair, 1, IBV_QPS_RTS);
	}
	qp_pair_close(&pair);
}
