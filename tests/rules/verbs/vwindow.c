/* SPDX-License-Identifier: BSD-2-Clause */
/* vwindow.c - see vwindow.h. */
#include "tests/rules/verbs/vwindow.h"

struct ibv_mw *vw_open(struct vworld *w, struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	if (!(w->device.device_cap_flags & IBV_DEVICE_MEM_WINDOW))
		NOT_APPLICABLE("the device has no memory windows");
	if (type == IBV_MW_TYPE_2 && !(w->device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B))
		NOT_APPLICABLE("the device has no memory windows of type 2B");
	mw = ibv_alloc_mw(pd, type);
	CHECK(mw, "ibv_alloc_mw: errno %d (%s)", errno, strerror(errno));
	CHECK(mw->pd == pd && mw->type == type, "its PD or type is another");
	return mw;
}

struct ibv_mr *vw_region(struct vworld *w, unsigned access)
{
	return v_region(w->side[1].pd, w->side[1].bytes, VW_LENGTH, access);
}

int vw_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mr *mr, const void *at, uint64_t length, unsigned access)
{
	struct ibv_mw_bind_info info = { mr, (uintptr_t)at, length, access };
	struct ibv_mw_bind call = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED, .bind_info = info };
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;
	int err;

	if (mw->type == IBV_MW_TYPE_1)
		return ibv_bind_mw(qp, mw, &call);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = info;
	err = ibv_post_send(qp, &wr, &bad);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}

void vw_binds(struct vworld *w, struct ibv_mw *mw, struct ibv_mr *mr, uint64_t length, unsigned access, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	V_RC(0, vw_bind(w->side[1].qp, mw, mr, w->side[1].bytes, length, access));
	wc = v_done(w->side[1].send_cq, 5, status);
	CHECK(status || wc.opcode == IBV_WC_BIND_MW, "the completion's opcode is %d", (int)wc.opcode);
}

void vw_invalidates(struct ibv_qp *qp, struct ibv_cq *cq, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey, .send_flags = IBV_SEND_SIGNALED };

	v_send(qp, &wr);
	v_done(cq, 0, status);
}

void vw_access(struct vworld *w, struct ibv_qp *qp, struct ibv_cq *cq, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t at,
	       enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, VW_BYTES, &sge);

	wr.wr.rdma.rkey = rkey;
	wr.wr.rdma.remote_addr = at;
	v_send(qp, &wr);
	v_done(cq, 0, status);
}

void vw_writes(struct vworld *w, uint32_t rkey, const void *at, enum ibv_wc_status status)
{
	vw_access(w, w->side[0].qp, w->side[0].send_cq, IBV_WR_RDMA_WRITE, rkey, (uintptr_t)at, status);
}
