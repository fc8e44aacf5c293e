/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_mw_more.c - memory windows of UC and XRC_SEND queue pairs: V175 to V179. */
#include "tests/rules/verbs/vwindow.h"

#define UC .type = { IBV_QPT_UC, IBV_QPT_UC }
#define XRC .type = { IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV }

/* What a UC queue pair of side 0 wrote before has arrived by then, or is lost. */
static void unreliable_writes_end(struct vworld *w)
{
	struct deadline guard = deadline_start();

	v_does(w, 0, IBV_WR_RDMA_WRITE, V_SPAN - VW_BYTES, VW_BYTES, IBV_WC_SUCCESS);
	while (!v_is(w->side[1].bytes + V_SPAN - VW_BYTES, VW_MARK, VW_BYTES))
		deadline_check(&guard, "the bytes of a write");
	memset(w->side[1].bytes + V_SPAN - VW_BYTES, VW_OLD, VW_BYTES);
}

static void unreliable_writes(struct vworld *w, uint32_t rkey, uint64_t at, bool arrives)
{
	vw_writes(w, rkey, w->side[1].bytes + at, IBV_WC_SUCCESS);
	unreliable_writes_end(w);
	CHECK(v_is(w->side[1].bytes + at, arrives ? VW_MARK : VW_OLD, VW_BYTES),
	      arrives ? "the bytes have not arrived" : "bytes were written");
	memset(w->side[1].bytes + at, VW_OLD, VW_BYTES);
}

static void by_unreliable(struct vworld *w, enum ibv_mw_type type)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, type);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	unreliable_writes(w, mw->rkey, VW_BYTES, true);
	unreliable_writes(w, mw->rkey, VW_LENGTH, false);
	if (type == IBV_MW_TYPE_1)
		vw_binds(w, mw, mr, 0, 0, IBV_WC_SUCCESS);
	else
		vw_invalidates(w->side[1].qp, w->side[1].send_cq, mw->rkey, IBV_WC_SUCCESS);
	V_RC(0, ibv_dereg_mr(mr));
	unreliable_writes(w, mw->rkey, VW_BYTES, false);
	V_RC(0, ibv_dealloc_mw(mw));
}

VPAIR(V175_UC_queue_pairs_bind_windows, UC)
{
	by_unreliable(w, IBV_MW_TYPE_1);
	by_unreliable(w, IBV_MW_TYPE_2);
}

/* Its peer answers nobody; the message waits for that, and the bind behind it. */
VRESET(V175_a_UC_queue_pair_needs_no_peer_for_it, UC)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	for (int state = 0; state < 3; state++)
		v_to(w, 1, ((const enum ibv_qp_state[]){ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS })[state]);
	v_post(w, 1, IBV_WR_SEND, 0, VW_BYTES, 4);
	V_RC(0, vw_bind(w->side[1].qp, mw, mr, w->side[1].bytes, VW_LENGTH, VW_BOTH));
	v_done(w->side[1].send_cq, 4, IBV_WC_SUCCESS);
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	V_RC(EBUSY, ibv_dereg_mr(mr));
	v_post(w, 1, IBV_WR_SEND, 0, VW_BYTES, 4);
	V_RC(0, vw_bind(w->side[1].qp, mw, mr, w->side[1].bytes, VW_LENGTH, VW_BOTH));
	v_done(w->side[1].send_cq, 4, IBV_WC_SUCCESS);
	v_done(w->side[1].send_cq, 5, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

/* Side 0, whose queue pair has requests, binds it to side 1's memory. */
static struct ibv_mw *bound_by_xrc(struct vworld *w, enum ibv_mw_type type, struct ibv_mr *mr)
{
	struct ibv_mw *mw = vw_open(w, w->side[0].pd, type);

	V_RC(0, vw_bind(w->side[0].qp, mw, mr, w->side[1].bytes, VW_LENGTH, VW_BOTH));
	v_done(w->side[0].send_cq, 5, IBV_WC_SUCCESS);
	return mw;
}

VPAIR(V175_XRC_SEND_queue_pairs_bind_windows, XRC)
{
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	struct ibv_mw *mw = bound_by_xrc(w, IBV_MW_TYPE_1, mr);

	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, VW_MARK, VW_BYTES), "the bytes have not arrived");
	V_RC(0, ibv_dealloc_mw(mw));
	mw = bound_by_xrc(w, IBV_MW_TYPE_2, mr);
	V_RC(EBUSY, ibv_dereg_mr(mr));
	vw_invalidates(w->side[0].qp, w->side[0].send_cq, mw->rkey, IBV_WC_SUCCESS);
	V_RC(0, ibv_dereg_mr(mr));
	V_RC(0, ibv_dealloc_mw(mw));
}

static void goes_on(struct vworld *w)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	CHECK(v_state(w->side[1].qp) == IBV_QPS_SQE, "the queue pair is in state %d", (int)v_state(w->side[1].qp));
	V_RC(0, ibv_modify_qp(w->side[1].qp, &attr, IBV_QP_STATE));
}

/* A UC queue pair goes on after SQE, so that the window can be seen to be there. */
VPAIR(V176_a_bind_of_no_bytes_ends_no_window_of_type_2, UC)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	uint32_t rkey;

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	rkey = mw->rkey;
	vw_binds(w, mw, mr, 0, VW_BOTH, IBV_WC_MW_BIND_ERR);
	goes_on(w);
	unreliable_writes(w, rkey, VW_BYTES, true);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V176_nor_does_it_bind_one)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, mr, 0, VW_BOTH, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dereg_mr(mr));
	V_RC(0, ibv_dealloc_mw(mw));
}

VPAIR(V177_a_UC_queue_pair_outlives_a_bind_that_fails, UC)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, w->side[1].mr, VW_LENGTH, VW_READS, IBV_WC_MW_BIND_ERR);
	goes_on(w);
	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	vw_invalidates(w->side[1].qp, w->side[1].send_cq, ibv_inc_rkey(mw->rkey), IBV_WC_MW_BIND_ERR);
	goes_on(w);
	unreliable_writes(w, mw->rkey, VW_BYTES, true);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

/* Its XRC_RECV queue pair, which is another one, has no requests and so no windows of type 2. */
VPAIR(V179_a_window_of_type_2_of_XRC_SEND_is_reached_by_none, XRC)
{
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	struct ibv_mw *mw = bound_by_xrc(w, IBV_MW_TYPE_2, mr);

	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	CHECK(v_is(w->side[1].bytes, VW_OLD, VW_BYTES), "bytes were written");
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V179_nor_ended_by_a_message, XRC)
{
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	struct ibv_mw *mw = bound_by_xrc(w, IBV_MW_TYPE_2, mr);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND_WITH_INV, 0, VW_BYTES, &sge);

	wr.invalidate_rkey = mw->rkey;
	v_receive(w, 1, VW_LENGTH, VW_BYTES, 3);
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	V_RC(EBUSY, ibv_dereg_mr(mr));
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}
