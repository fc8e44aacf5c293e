/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_pd.c - what a protection domain keeps apart: V9 to V12. */
#include "tests/rules/verbs/vworld.h"

VPAIR(V9_a_local_key_of_another_pd_is_none, .two_pds = true)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	sge.addr = (uintptr_t)w->side[1].bytes;
	sge.lkey = w->side[1].mr->lkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_LOC_PROT_ERR);
}

VPAIR(V10_a_remote_key_of_another_pd_is_none, .two_pds = true)
{
	struct ibv_mr *mr = v_region(w->side[0].pd, w->side[1].bytes, 4096, V_ALL);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	v_works(w);
	wr.wr.rdma.rkey = mr->rkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes were written");
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V11_a_receive_into_another_pd_fails, .two_pds = true)
{
	struct ibv_sge sge = { (uintptr_t)w->side[0].bytes, 64, w->side[0].mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;

	V_RC(0, ibv_post_recv(w->side[1].qp, &wr, &bad));
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_REM_OP_ERR);
	v_done(w->side[1].recv_cq, 5, IBV_WC_LOC_PROT_ERR);
}

VPAIR(V12_receives_of_a_shared_queue_have_its_pd, .two_pds = true, .srq = true)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { V_WR, V_WR, 1, 1, 0 },
		.send_cq = w->side[1].send_cq,
		.recv_cq = w->side[1].recv_cq,
		.srq = w->srq,
		.sq_sig_all = 1,
	};
	struct ibv_qp *own = v_qp(w, 0, NULL), *other = ibv_create_qp(w->side[0].pd, &init);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND, 0, 64, &sge);

	CHECK(other, "no queue pair of another PD than its shared queue's: %s", strerror(errno));
	v_connect(w, own, other);
	v_receive(w, 1, 0, 64, 9); /* in the region of the queue's PD */
	v_send(own, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 9, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, 0x10, 64), "the bytes have not arrived");
	V_RC(0, ibv_destroy_qp(own));
	V_RC(0, ibv_destroy_qp(other));
}
