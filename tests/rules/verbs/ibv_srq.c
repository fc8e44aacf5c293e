/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_srq.c - shared receive queues: V125 to V132. */
#include "tests/rules/verbs/vworld.h"

VPAIR(V125_queue_pairs_take_shared_receives_in_their_order, .srq = true)
{
	struct ibv_qp *own = v_qp(w, 0, NULL), *other = v_qp(w, 1, NULL);
	struct ibv_qp *from[2] = { w->side[0].qp, own };
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND, 0, 8, &sge);

	v_connect(w, own, other);
	for (uint64_t i = 0; i < 8; i++)
		v_receive(w, 1, 64 * i, 64, i);
	for (uint64_t i = 0; i < 8; i++) {
		struct ibv_wc wc;

		v_send(from[i % 2], &wr);
		v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
		wc = v_done(w->side[1].recv_cq, i, IBV_WC_SUCCESS);
		CHECK(wc.qp_num == (i % 2 ? other : w->side[1].qp)->qp_num, "qp_num 0x%x is not of the one that received",
		      wc.qp_num);
		CHECK(v_is(w->side[1].bytes + 64 * i, 0x10, 8), "the bytes have not arrived");
	}
	V_RC(0, ibv_destroy_qp(own));
	V_RC(0, ibv_destroy_qp(other));
}

VPAIR(V126_such_a_queue_pair_takes_no_receives_itself, .srq = true)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;

	V_RC(EINVAL, ibv_post_recv(w->side[1].qp, &wr, &bad));
	CHECK(bad == &wr, "bad_wr is not the receive");
	v_works(w);
}

VPAIR(V127_a_shared_queue_has_bounds, .srq = true)
{
	unsigned most = (unsigned)w->device.max_srq_sge;
	struct ibv_sge sges[V_SGE_MOST + 1];
	struct ibv_recv_wr wr = { .sg_list = sges, .num_sge = (int)most + 1 }, *bad = NULL;
	struct ibv_srq_attr attr;
	unsigned taken = 0;

	CHECK(most <= V_SGE_MOST, "%u buffers are possible", most);
	for (unsigned i = 0; i <= most; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)w->side[1].bytes, 8, w->side[1].mr->lkey };
	V_RC(EINVAL, ibv_post_srq_recv(w->srq, &wr, &bad));
	CHECK(bad == &wr, "bad_wr is not the receive");
	V_RC(0, ibv_query_srq(w->srq, &attr));
	CHECK(attr.max_wr >= V_WR && attr.max_sge >= V_SGE, "max_wr %u, max_sge %u", attr.max_wr, attr.max_sge);
	wr.num_sge = 1;
	bad = NULL;
	while (taken <= attr.max_wr && !ibv_post_srq_recv(w->srq, &wr, &bad))
		taken++;
	CHECK(taken >= V_WR && taken <= attr.max_wr, "%u receives in a queue of %u", taken, attr.max_wr);
	V_RC(ENOMEM, ibv_post_srq_recv(w->srq, &wr, &bad));
	CHECK(bad == &wr, "bad_wr is not the receive");
}

VPAIR(V128_the_limit_is_told_once, .srq = true)
{
	struct ibv_srq_attr attr = { .srq_limit = 4 };

	for (uint64_t i = 0; i < 8; i++)
		v_receive(w, 1, 0, 64, i);
	V_RC(0, ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT));
	V_RC(0, ibv_query_srq(w->srq, &attr));
	CHECK(attr.srq_limit == 4, "srq_limit %u", attr.srq_limit);
	for (uint64_t i = 0; i < 4; i++)
		v_does(w, 0, IBV_WR_SEND, 0, 8, IBV_WC_SUCCESS);
	v_no_event(w, IBV_EVENT_SRQ_LIMIT_REACHED); /* 4 are left */
	v_does(w, 0, IBV_WR_SEND, 0, 8, IBV_WC_SUCCESS);
	CHECK(v_event(w, IBV_EVENT_SRQ_LIMIT_REACHED).element.srq == w->srq, "the event is of another queue");
	v_does(w, 0, IBV_WR_SEND, 0, 8, IBV_WC_SUCCESS);
	v_no_event(w, IBV_EVENT_SRQ_LIMIT_REACHED);
	V_RC(0, ibv_query_srq(w->srq, &attr));
	CHECK(!attr.srq_limit, "srq_limit is %u after its event", attr.srq_limit);
}

VPAIR(V129_the_limit_is_below_the_size, .srq = true)
{
	struct ibv_srq_attr attr;

	V_RC(0, ibv_query_srq(w->srq, &attr));
	attr.srq_limit = attr.max_wr + 1;
	V_RC(EINVAL, ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT));
	V_RC(0, ibv_query_srq(w->srq, &attr));
	CHECK(!attr.srq_limit, "srq_limit %u was set", attr.srq_limit);
	v_works(w);
}

VPAIR(V130_the_last_receive_of_a_queue_pair_is_told, .srq = true)
{
	v_to(w, 1, IBV_QPS_ERR);
	CHECK(v_event(w, IBV_EVENT_QP_LAST_WQE_REACHED).element.qp == w->side[1].qp, "the event is of another queue pair");
}

VPAIR(V131_shared_receives_outlive_a_queue_pair, .srq = true)
{
	struct ibv_qp *own = v_qp(w, 0, NULL), *other = v_qp(w, 1, NULL);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND, 0, 8, &sge);

	v_connect(w, own, other);
	v_receive(w, 1, 0, 64, 1);
	v_to(w, 1, IBV_QPS_ERR);
	v_event(w, IBV_EVENT_QP_LAST_WQE_REACHED);
	v_none(w->side[1].recv_cq, "a shared receive was flushed");
	v_send(own, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	V_RC(0, ibv_destroy_qp(own));
	V_RC(0, ibv_destroy_qp(other));
}

VPAIR(V132_an_empty_shared_queue_lets_messages_wait, .srq = true)
{
	v_post(w, 0, IBV_WR_SEND, 0, 8, 1);
	v_does(w, 1, IBV_WR_RDMA_WRITE, 4096, 8, IBV_WC_SUCCESS);
	v_none(w->side[0].send_cq, "without a receive");
	v_receive(w, 1, 0, 64, 2);
	v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 2, IBV_WC_SUCCESS);
}
