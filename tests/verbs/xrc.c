/* SPDX-License-Identifier: BSD-2-Clause */
/* xrc.c - XRC: handles of a queue pair that is there, what is refused, and what the log tells. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { SRQ = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD };

static struct qp_pair pair; /* XRC_SEND and XRC_RECV */
static struct ibv_xrcd *xrcd;
static struct ibv_srq *srq;
static uint32_t number;

static struct ibv_xrcd *open_domain(void)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };

	return ibv_open_xrcd(pair.verbs.context, &attr);
}

static struct ibv_srq *open_srq(uint32_t mask)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 8, .max_sge = 1 },
					     .comp_mask = mask,
					     .srq_type = IBV_SRQT_XRC,
					     .pd = pair.verbs.pd,
					     .cq = pair.cq[1],
					     .xrcd = xrcd };

	return ibv_create_srq_ex(pair.verbs.context, &attr);
}

static struct ibv_qp *open_receiver(void)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd };

	return ibv_create_qp_ex(pair.verbs.context, &init);
}

static void open_all(void)
{
	qp_pair_open(&pair);
	qp_replace(&pair, 0, (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_XRC_SEND, .cap = { 8, 0, 1, 0, 0 }, .sq_sig_all = 1 });
	xrcd = open_domain();
	cr_assert_not_null(xrcd);
	srq = open_srq(SRQ);
	cr_assert_not_null(srq);
	cr_assert_eq(ibv_get_srq_num(srq, &number), 0);
	cr_assert_eq(ibv_destroy_qp(pair.qp[1]), 0);
	pair.qp[1] = open_receiver();
	cr_assert_not_null(pair.qp[1]);
	qp_pair_meet(&pair);
}

static void close_all(void)
{
	for (int side = 0; side < 2; side++)
		cr_assert_eq(ibv_destroy_qp(pair.qp[side]), 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	cr_assert_eq(ibv_close_xrcd(xrcd), 0);
	for (int side = 0; side < 2; side++) {
		cr_assert_eq(ibv_destroy_cq(pair.cq[side]), 0);
		cr_assert_eq(ibv_dereg_mr(pair.mr[side]), 0);
		free(pair.memory[side]);
	}
	verbs_close(&pair.verbs);
}

static void message(uint64_t wr_id)
{
	struct ibv_sge to = { (uintptr_t)pair.memory[1], 8, pair.mr[1]->lkey }, from;
	struct ibv_recv_wr recv = { .wr_id = wr_id, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = qp_request(&pair, 0, IBV_WR_SEND, 0, 8, &from), *bad;

	cr_assert_eq(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	memset(pair.memory[0], (int)wr_id, 8);
	wr.wr_id = wr_id;
	wr.qp_type.xrc.remote_srqn = number;
	cr_assert_eq(ibv_post_send(pair.qp[0], &wr, &bad), 0);
	qp_done(&pair, 0, wr_id, IBV_WC_SUCCESS);
	qp_done(&pair, 1, wr_id, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[1][0], wr_id);
}

/* A handle keeps the domain's handle that it was opened with, and no other. */
Test(verbs_xrc, handles_of_domains)
{
	struct ibv_xrcd_init_attr init = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .oflags = O_CREAT };
	struct ibv_qp_open_attr attr = { .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
					 .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp_init_attr_ex receiver = { .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct ibv_xrcd *one, *two;
	struct ibv_qp *first, *more;

	verbs_open(&pair.verbs);
	init.fd = open("/", O_RDONLY);
	cr_assert_geq(init.fd, 0);
	one = ibv_open_xrcd(pair.verbs.context, &init);
	two = ibv_open_xrcd(pair.verbs.context, &init);
	cr_assert(one && two);
	receiver.xrcd = one;
	first = ibv_create_qp_ex(pair.verbs.context, &receiver);
	cr_assert_not_null(first);
	attr.xrcd = two;
	attr.qp_num = first->qp_num;
	more = ibv_open_qp(pair.verbs.context, &attr);
	cr_assert_not_null(more);
	cr_assert_eq(ibv_close_xrcd(two), EBUSY);
	cr_assert_eq(ibv_destroy_qp(first), 0);
	cr_assert_eq(ibv_close_xrcd(one), 0);
	cr_assert_eq(ibv_close_xrcd(two), EBUSY);
	cr_assert_eq(ibv_destroy_qp(more), 0);
	errno = 0;
	cr_assert_null(ibv_open_qp(pair.verbs.context, &attr));
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(ibv_close_xrcd(two), 0);
	close(init.fd);
	verbs_close(&pair.verbs);
}

/* The queue pair ends with the last handle, whichever that is. */
Test(verbs_xrc, handles_of_a_queue_pair)
{
	struct ibv_qp_open_attr attr = { .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE |
						      IBV_QP_OPEN_ATTR_CONTEXT,
					 .qp_type = IBV_QPT_XRC_RECV,
					 .qp_context = &pair };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;
	struct ibv_qp *more[2];

	open_all();
	attr.xrcd = xrcd;
	attr.qp_num = pair.qp[1]->qp_num;
	for (int i = 0; i < 2; i++) {
		more[i] = ibv_open_qp(pair.verbs.context, &attr);
		cr_assert_not_null(more[i]);
		cr_assert(more[i]->qp_num == attr.qp_num && more[i]->qp_context == &pair && more[i]->state == IBV_QPS_RTS);
	}
	cr_assert_eq(ibv_query_qp(more[0], &got, IBV_QP_STATE, &init), 0);
	cr_assert(got.qp_state == IBV_QPS_RTS && got.dest_qp_num == pair.qp[0]->qp_num && init.qp_type == IBV_QPT_XRC_RECV);
	cr_assert_eq(ibv_destroy_qp(pair.qp[1]), 0);
	cr_assert_eq(ibv_close_xrcd(xrcd), EBUSY);
	pair.qp[1] = more[1];
	message(1);
	cr_assert_eq(ibv_destroy_qp(more[0]), 0);
	message(2);
	got.qp_state = IBV_QPS_ERR;
	cr_assert_eq(ibv_modify_qp(more[1], &got, IBV_QP_STATE), 0);
	cr_assert_eq(more[1]->state, IBV_QPS_ERR);
	attr.qp_num ^= 1;
	errno = 0;
	cr_assert_null(ibv_open_qp(pair.verbs.context, &attr));
	cr_assert_eq(errno, EINVAL);
	attr.qp_type = IBV_QPT_RC;
	errno = 0;
	cr_assert_null(ibv_open_qp(pair.verbs.context, &attr));
	cr_assert_eq(errno, EINVAL);
	close_all();
}

static void refused(struct ibv_qp_init_attr_ex init)
{
	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EINVAL);
}

Test(verbs_xrc, refused)
{
	static const uint32_t parts[] = { IBV_SRQ_INIT_ATTR_XRCD, IBV_SRQ_INIT_ATTR_CQ, IBV_SRQ_INIT_ATTR_PD };
	struct ibv_xrcd_init_attr nothing = { .fd = -1, .oflags = O_CREAT };

	open_all();
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		errno = 0;
		cr_assert_null(open_srq(SRQ & ~parts[i]));
		cr_assert_eq(errno, EINVAL);
	}
	refused((struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD });
	refused((struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_XRC_RECV, .xrcd = xrcd });
	refused((struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_XRC_SEND, .send_cq = pair.cq[0] });
	refused((struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_XRC_SEND, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pair.verbs.pd, .recv_cq = pair.cq[0] });
	errno = 0;
	cr_assert_null(ibv_open_xrcd(pair.verbs.context, &nothing));
	cr_assert_eq(errno, EINVAL);
	message(1);
	close_all();
}

/* It has no receives for queue pairs that name it when they are made. */
Test(verbs_xrc, a_queue_of_a_domain_is_no_other_type_s)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };

	open_all();
	init.send_cq = init.recv_cq = pair.cq[0];
	init.srq = srq;
	errno = 0;
	cr_assert_null(ibv_create_qp(pair.verbs.pd, &init));
	cr_assert_eq(errno, EINVAL);
	close_all();
}

/* The queue goes while receives are posted there, and one has completed that nobody has polled. */
Test(verbs_xrc, the_queue_goes_first)
{
	struct ibv_sge to, from;
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr, *bad;

	open_all();
	to = (struct ibv_sge){ (uintptr_t)pair.memory[1], 8, pair.mr[1]->lkey };
	for (int i = 0; i < 3; i++)
		cr_assert_eq(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	wr = qp_request(&pair, 0, IBV_WR_SEND, 0, 8, &from);
	wr.qp_type.xrc.remote_srqn = number;
	cr_assert_eq(ibv_post_send(pair.qp[0], &wr, &bad), 0);
	qp_done(&pair, 0, 0, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	cr_assert_eq(ibv_poll_cq(pair.cq[1], 1, &(struct ibv_wc){ 0 }), 0);
	srq = open_srq(SRQ);
	cr_assert_not_null(srq);
	cr_assert_eq(ibv_get_srq_num(srq, &number), 0);
	message(1);
	close_all();
}

/* Completions of receives outlive the SRQ's queue pair in no queue. */
Test(verbs_xrc, the_queue_pair_goes_first)
{
	struct ibv_sge to, from;
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr, *bad;

	open_all();
	to = (struct ibv_sge){ (uintptr_t)pair.memory[1], 8, pair.mr[1]->lkey };
	cr_assert_eq(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	wr = qp_request(&pair, 0, IBV_WR_SEND, 0, 8, &from);
	wr.qp_type.xrc.remote_srqn = number;
	cr_assert_eq(ibv_post_send(pair.qp[0], &wr, &bad), 0);
	qp_done(&pair, 0, 0, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_destroy_qp(pair.qp[1]), 0);
	cr_assert_eq(ibv_poll_cq(pair.cq[1], 1, &(struct ibv_wc){ 0 }), 0);
	pair.qp[1] = open_receiver();
	qp_to(&pair, 0, IBV_QPS_RESET);
	qp_pair_meet(&pair);
	message(1);
	close_all();
}

/* A queue that has lost a completion ends all queue pairs of the domain whose receives complete there. */
Test(verbs_xrc, a_queue_that_is_full)
{
	struct ibv_cq *wide;
	struct ibv_sge to, from;
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct qp_pair other;
	struct ibv_send_wr wr, *bad;

	open_all();
	wide = pair.cq[1];
	other = pair;
	pair.cq[1] = ibv_create_cq(pair.verbs.context, 1, NULL, NULL, 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	srq = open_srq(SRQ);
	cr_assert_eq(ibv_get_srq_num(srq, &number), 0);
	other.qp[1] = open_receiver();
	qp_to(&other, 1, IBV_QPS_INIT);
	qp_to(&other, 1, IBV_QPS_RTR);
	to = (struct ibv_sge){ (uintptr_t)pair.memory[1], 8, pair.mr[1]->lkey };
	wr = qp_request(&pair, 0, IBV_WR_SEND, 0, 8, &from);
	wr.qp_type.xrc.remote_srqn = number;
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
		cr_assert_eq(ibv_post_send(pair.qp[0], &wr, &bad), 0);
	}
	for (int side = 0; side < 2; side++) {
		struct ibv_qp *qp = side ? other.qp[1] : pair.qp[1];

		while (__atomic_load_n(&qp->state, __ATOMIC_ACQUIRE) != IBV_QPS_ERR)
			cr_assert_geq(ibv_poll_cq(pair.cq[0], 1, &(struct ibv_wc){ 0 }), 0);
	}
	cr_assert_eq(ibv_destroy_qp(other.qp[1]), 0);
	cr_assert_eq(ibv_destroy_cq(wide), 0);
	close_all();
}

Test(verbs_xrc, the_log_tells_that_types_differ)
{
	struct ibv_sge from;
	struct ibv_send_wr wr, *bad;

	open_all();
	said_begin();
	qp_to(&pair, 0, IBV_QPS_RESET);
	qp_replace(&pair, 0, (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 }, .sq_sig_all = 1 });
	qp_to(&pair, 1, IBV_QPS_RESET);
	pair.timeout = 1;
	qp_pair_meet(&pair);
	wr = qp_request(&pair, 0, IBV_WR_SEND, 0, 8, &from);
	cr_assert_eq(ibv_post_send(pair.qp[0], &wr, &bad), 0);
	qp_done(&pair, 0, 0, IBV_WC_RETRY_EXC_ERR);
	cr_assert(said_has("is of type XRC_RECV, and its peer of type RC: hardware drops such packets"));
	close_all();
}

/* A queue pair of XRC_SEND with these calls, in the place of side 0's. */
static struct ibv_qp_ex *replace_extended(uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_SEND,
					    .cap = { 8, 0, 1, 0, 0 },
					    .sq_sig_all = 1,
					    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = ops,
					    .pd = pair.verbs.pd,
					    .send_cq = pair.cq[0] };

	cr_assert_eq(ibv_destroy_qp(pair.qp[0]), 0);
	pair.qp[0] = ibv_create_qp_ex(pair.verbs.context, &init);
	cr_assert_not_null(pair.qp[0]);
	qp_to(&pair, 1, IBV_QPS_RESET);
	qp_pair_meet(&pair);
	return ibv_qp_to_qp_ex(pair.qp[0]);
}

static void receive(uint64_t wr_id)
{
	struct ibv_sge to = { (uintptr_t)pair.memory[1], 8, pair.mr[1]->lkey };
	struct ibv_recv_wr recv = { .wr_id = wr_id, .sg_list = &to, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_srq_recv(srq, &recv, &bad), 0);
}

Test(verbs_xrc, built_by_calls)
{
	struct ibv_qp_ex *ex;

	open_all();
	ex = replace_extended(IBV_QP_EX_WITH_SEND);
	receive(5);
	ibv_wr_start(ex);
	ibv_wr_set_xrc_srqn(ex, number);
	cr_assert_eq(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ex->wr_id = 4;
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, number);
	ibv_wr_set_sge(ex, pair.mr[0]->lkey, (uintptr_t)pair.memory[0], 8);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	qp_done(&pair, 0, 4, IBV_WC_SUCCESS);
	qp_done(&pair, 1, 5, IBV_WC_SUCCESS);
	close_all();
}

/* Binds take no number of a shared queue; a message that invalidates does. */
Test(verbs_xrc, windows_by_calls)
{
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;
	uint32_t rkey;

	open_all();
	ex = replace_extended(IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV);
	mr = ibv_reg_mr(pair.verbs.pd, pair.memory[1], 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(pair.verbs.pd, IBV_MW_TYPE_2);
	cr_assert(mr && mw);
	rkey = ibv_inc_rkey(mw->rkey);
	info = (struct ibv_mw_bind_info){ mr, (uintptr_t)pair.memory[1], 64, IBV_ACCESS_REMOTE_READ };
	receive(5);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ibv_wr_bind_mw(ex, mw, rkey, &info);
	ex->wr_id = 2;
	ibv_wr_local_inv(ex, rkey);
	ex->wr_id = 3;
	ibv_wr_send_inv(ex, mr->rkey);
	ibv_wr_set_xrc_srqn(ex, number);
	ibv_wr_set_sge(ex, pair.mr[0]->lkey, (uintptr_t)pair.memory[0], 8);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert_eq(qp_done(&pair, 0, 1, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
	cr_assert_eq(qp_done(&pair, 0, 2, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	cr_assert_eq(qp_done(&pair, 0, 3, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
	wc = qp_done(&pair, 1, 5, IBV_WC_SUCCESS);
	cr_assert(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == mr->rkey);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	close_all();
}
