/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_states_more.c - what a queue pair does in each state: V54 to V64. */
#include "tests/rules/verbs/vworld.h"

static int post_receive(struct vworld *w, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)w->side[1].bytes, 64, w->side[1].mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int err = ibv_post_recv(w->side[1].qp, &wr, &bad);

	CHECK(!err || bad == &wr, "bad_wr is not the receive");
	return err;
}

VRESET(V54_receives_are_taken_from_init_on)
{
	CHECK(post_receive(w, 1) == EINVAL, "RESET takes receives");
	v_to(w, 1, IBV_QPS_INIT);
	CHECK(!post_receive(w, 2), "INIT takes no receives");
	v_to(w, 0, IBV_QPS_INIT);
	v_to(w, 0, IBV_QPS_RTR);
	v_to(w, 1, IBV_QPS_RTR);
	v_to(w, 0, IBV_QPS_RTS);
	CHECK(!post_receive(w, 3), "RTR takes no receives");
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 2, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 3, IBV_WC_SUCCESS);
}

VRESET(V55_requests_are_taken_from_rts_on)
{
	static const enum ibv_qp_state before[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR };
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 8, &sge), *bad;

	for (int i = 0; i < 3; i++) {
		check_label("in state %d", (int)before[i]);
		if (i)
			v_to(w, 0, before[i]);
		bad = NULL;
		V_RC(EINVAL, ibv_post_send(w->side[0].qp, &wr, &bad));
		CHECK(bad == &wr, "bad_wr is not the request");
	}
	v_none(w->side[0].send_cq, "what was refused");
}

VPAIR(V56_in_error_all_is_taken_and_flushed)
{
	v_to(w, 1, IBV_QPS_ERR);
	v_receive(w, 1, 0, 64, 1);
	v_post(w, 1, IBV_WR_SEND, 0, 64, 2);
	v_done(w->side[1].recv_cq, 1, IBV_WC_WR_FLUSH_ERR);
	v_done(w->side[1].send_cq, 2, IBV_WC_WR_FLUSH_ERR);
}

VRESET(V57_rtr_answers)
{
	for (int side = 0; side < 2; side++) {
		v_to(w, side, IBV_QPS_INIT);
		v_to(w, side, IBV_QPS_RTR);
	}
	v_to(w, 0, IBV_QPS_RTS);
	v_works(w);
	v_does(w, 0, IBV_WR_RDMA_READ, 4096, 64, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[0].bytes, 0x11, 64), "the bytes of a read have not arrived");
}

VRESET(V58_init_answers_nothing, .retry_few = true)
{
	v_to(w, 1, IBV_QPS_INIT);
	v_receive(w, 1, 0, 64, 1);
	v_to(w, 0, IBV_QPS_INIT);
	v_to(w, 0, IBV_QPS_RTR);
	v_to(w, 0, IBV_QPS_RTS);
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_RETRY_EXC_ERR);
	v_none(w->side[1].recv_cq, "a receive in INIT");
	CHECK(v_state(w->side[1].qp) == IBV_QPS_INIT, "the state of the other side has changed");
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes have arrived in INIT");
}

VPAIR(V59_error_flushes_all_in_order)
{
	for (uint64_t i = 0; i < 6; i++) {
		v_post(w, 0, IBV_WR_SEND, 0, 64, i); /* no receive: they wait */
		v_receive(w, 0, 0, 64, 10 + i);
	}
	v_to(w, 0, IBV_QPS_ERR);
	for (uint64_t i = 0; i < 6; i++) {
		v_done(w->side[0].send_cq, i, IBV_WC_WR_FLUSH_ERR);
		v_done(w->side[0].recv_cq, 10 + i, IBV_WC_WR_FLUSH_ERR);
	}
	v_none(w->side[0].send_cq, "in addition");
	v_none(w->side[0].recv_cq, "in addition");
}

VPAIR(V60_reset_forgets_what_was_posted)
{
	for (uint64_t i = 0; i < 4; i++) {
		v_receive(w, 1, 0, 64, i);
		v_post(w, 1, IBV_WR_SEND, 0, 64, i);
	}
	v_to(w, 1, IBV_QPS_RESET);
	v_none(w->side[1].send_cq, "after RESET");
	v_none(w->side[1].recv_cq, "after RESET");
}

VPAIR(V61_a_queue_pair_serves_again_after_reset)
{
	uint32_t number = w->side[0].qp->qp_num;

	v_does(w, 0, IBV_WR_RDMA_WRITE, 0, 8, IBV_WC_SUCCESS);
	for (int side = 0; side < 2; side++)
		v_to(w, side, side ? IBV_QPS_ERR : IBV_QPS_RESET);
	v_to(w, 1, IBV_QPS_RESET);
	v_meet(w);
	v_works(w);
	CHECK(w->side[0].qp->qp_num == number, "its number has changed");
}

VPAIR(V62_a_query_tells_what_was_set)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_CAP |
		   IBV_QP_DEST_QPN | IBV_QP_PORT | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	V_RC(0, ibv_query_qp(w->side[1].qp, &attr, mask, &init));
	CHECK(attr.qp_state == IBV_QPS_RTS, "state %d", (int)attr.qp_state);
	CHECK(attr.dest_qp_num == w->side[0].qp->qp_num, "dest_qp_num 0x%x", attr.dest_qp_num);
	CHECK(attr.path_mtu == IBV_MTU_1024 && attr.port_num == 1, "path_mtu %d, port_num %u", (int)attr.path_mtu, attr.port_num);
	CHECK(attr.timeout == 14 && attr.retry_cnt == 7 && attr.rnr_retry == 7, "timeout %u, retry_cnt %u, rnr_retry %u",
	      attr.timeout, attr.retry_cnt, attr.rnr_retry);
	CHECK(attr.max_rd_atomic == V_READS && attr.max_dest_rd_atomic == V_READS, "max_rd_atomic %u, max_dest_rd_atomic %u",
	      attr.max_rd_atomic, attr.max_dest_rd_atomic);
	CHECK(attr.cap.max_send_wr >= V_WR && attr.cap.max_recv_sge >= V_SGE, "less room than was made");
	CHECK(init.send_cq == w->side[1].send_cq && init.recv_cq == w->side[1].recv_cq && init.qp_type == IBV_QPT_RC &&
		      init.sq_sig_all,
	      "not the attributes that it was made with");
}

VPAIR(V63_a_query_tells_of_the_error)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 8, &sge);

	wr.wr.rdma.rkey ^= 0x5a5a5a00;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_ERR, "it is in state %d", (int)v_state(w->side[0].qp));
}

/* Drains the send queue of side 0, and waits for the event of it. */
static void drain(struct vworld *w)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	int err = ibv_modify_qp(w->side[0].qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);

	if (err == EOPNOTSUPP || err == ENOSYS)
		NOT_APPLICABLE("the device has no SQD");
	V_RC(0, err);
	CHECK(v_event(w, IBV_EVENT_SQ_DRAINED).element.qp == w->side[0].qp, "the event is of another queue pair");
}

VPAIR(V64_a_drained_queue_begins_no_request)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	v_does(w, 0, IBV_WR_RDMA_WRITE, 4096, 8, IBV_WC_SUCCESS);
	drain(w);
	v_post(w, 0, IBV_WR_RDMA_WRITE, 8192, 8, 1);
	v_does(w, 1, IBV_WR_RDMA_READ, 0, 8, IBV_WC_SUCCESS); /* it answers all the while */
	v_none(w->side[0].send_cq, "in SQD");
	CHECK(v_is(w->side[1].bytes + 8192, 0x11, 8), "a request has begun in SQD");
	V_RC(0, ibv_modify_qp(w->side[0].qp, &attr, IBV_QP_STATE));
	v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
}
