/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_mr_more.c - regions registered again, and keys that are invalidated: V25 to V31. */
#include "tests/rules/verbs/vworld.h"

enum { LENGTH = 4096, MARK = 0x10 };

static void rereg(struct vworld *w, struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, unsigned access)
{
	int got = ibv_rereg_mr(mr, flags, pd, addr, addr ? LENGTH : 0, (int)access);

	(void)w;
	if (got == IBV_REREG_MR_ERR_CMD && (errno == EOPNOTSUPP || errno == ENOSYS))
		NOT_APPLICABLE("the device does not register a region again");
	CHECK(!got, "ibv_rereg_mr returned %d, errno %d (%s)", got, errno, strerror(errno));
}

/* Side 0 writes 64 bytes to `addr` by the region. */
static void writes(struct vworld *w, const struct ibv_mr *mr, const void *addr, enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	wr.wr.rdma.rkey = mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)addr;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, status);
}

VPAIR(V25_rights_that_are_taken_back_are_gone)
{
	struct ibv_mr *mr = v_region(w->side[1].pd, w->side[1].bytes, LENGTH, V_ALL);

	writes(w, mr, w->side[1].bytes, IBV_WC_SUCCESS);
	rereg(w, mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	writes(w, mr, w->side[1].bytes + 64, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[64] == 0x11, "bytes were written");
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V25_rights_that_are_added_hold)
{
	struct ibv_mr *mr = v_region(w->side[1].pd, w->side[1].bytes, LENGTH, IBV_ACCESS_LOCAL_WRITE);

	rereg(w, mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, V_ALL);
	writes(w, mr, w->side[1].bytes, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, MARK, 64), "the bytes have not arrived");
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V26_a_region_moves_to_other_memory)
{
	unsigned char *old = w->side[1].bytes, *new = old + V_SPAN / 2;
	struct ibv_mr *mr = v_region(w->side[1].pd, old, LENGTH, V_ALL);

	rereg(w, mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, new, 0);
	CHECK(mr->addr == new && mr->length == LENGTH, "the region says that it is %zu bytes at %p", mr->length, mr->addr);
	writes(w, mr, new, IBV_WC_SUCCESS);
	CHECK(v_is(new, MARK, 64), "the bytes have not arrived");
	writes(w, mr, old, IBV_WC_REM_ACCESS_ERR);
	CHECK(*old == 0x11, "bytes of the old memory were written");
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V27_a_region_moves_to_another_pd, .two_pds = true)
{
	struct ibv_mr *mr = v_region(w->side[0].pd, w->side[1].bytes, LENGTH, V_ALL);

	rereg(w, mr, IBV_REREG_MR_CHANGE_PD, w->side[1].pd, NULL, 0);
	CHECK(mr->pd == w->side[1].pd, "the region says that it is in the old PD");
	writes(w, mr, w->side[1].bytes, IBV_WC_SUCCESS);
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V28_a_wrong_change_leaves_the_region_as_it_was)
{
	struct ibv_mr *mr = v_region(w->side[1].pd, w->side[1].bytes, LENGTH, V_ALL);
	int unknown = IBV_REREG_MR_FLAGS_SUPPORTED + 1;

	V_RC(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(mr, unknown, NULL, NULL, 0, 0));
	V_RC(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, LENGTH, 0));
	V_RC(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, w->side[1].bytes, 0, 0));
	writes(w, mr, w->side[1].bytes, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, MARK, 64), "the bytes have not arrived");
	V_RC(0, ibv_dereg_mr(mr));
}

static void need_invalidation(struct vworld *w)
{
	if (!(w->device.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS))
		NOT_APPLICABLE("the device does not invalidate keys");
}

static void invalidate(struct vworld *w, int side, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey, .send_flags = IBV_SEND_SIGNALED };

	v_send(w->side[side].qp, &wr);
	v_done(w->side[side].send_cq, 0, status);
}

VPAIR(V29_a_key_that_was_invalidated_opens_nothing)
{
	need_invalidation(w);
	writes(w, w->side[1].mr, w->side[1].bytes, IBV_WC_SUCCESS);
	invalidate(w, 1, w->side[1].mr->rkey, IBV_WC_SUCCESS);
	writes(w, w->side[1].mr, w->side[1].bytes + 64, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[64] == 0x11, "bytes were written");
}

static void message_invalidates(struct vworld *w)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND_WITH_INV, 0, 64, &sge);
	struct ibv_mr *mr = v_region(w->side[1].pd, w->side[1].bytes, LENGTH, V_ALL);
	struct ibv_wc wc;

	need_invalidation(w);
	wr.invalidate_rkey = mr->rkey;
	v_receive(w, 1, LENGTH, 64, 3);
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	wc = v_done(w->side[1].recv_cq, 3, IBV_WC_SUCCESS);
	CHECK(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == mr->rkey, "flags 0x%x, key 0x%x", wc.wc_flags,
	      wc.invalidated_rkey);
	writes(w, mr, w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V30_a_message_invalidates_a_key_of_its_receiver)
{
	message_invalidates(w);
}

VPAIR(V178_a_message_of_XRC_invalidates_a_key_of_its_shared_queue, .type = { IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV }, .two_pds = true)
{
	message_invalidates(w);
}

VPAIR(V31_invalidating_no_key_fails)
{
	need_invalidation(w);
	invalidate(w, 1, w->side[1].mr->rkey ^ 0x5a5a5a00, IBV_WC_MW_BIND_ERR);
	CHECK(v_state(w->side[1].qp) == IBV_QPS_ERR, "the queue pair goes on");
}
