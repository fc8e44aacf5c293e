/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_mw.c - memory windows: V160 to V174. */
#include "tests/rules/verbs/vwindow.h"

VPAIR(V160_a_window_belongs_to_a_pd)
{
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct ibv_mw *one = vw_open(w, pd, IBV_MW_TYPE_1), *two = ibv_alloc_mw(pd, IBV_MW_TYPE_1);

	CHECK(two && one->rkey != two->rkey, "two windows have one key, 0x%x", one->rkey);
	CHECK(w->device.max_mw > 0, "max_mw is %d", w->device.max_mw);
	V_RC(EBUSY, ibv_dealloc_pd(pd));
	V_RC(0, ibv_dealloc_mw(one));
	V_RC(EBUSY, ibv_dealloc_pd(pd));
	V_RC(0, ibv_dealloc_mw(two));
	V_RC(0, ibv_dealloc_pd(pd));
}

static void ends_in_any_state(struct vworld *w, enum ibv_mw_type type)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, type);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	uint32_t rkey;

	V_RC(0, ibv_dealloc_mw(vw_open(w, w->side[1].pd, type)));
	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	rkey = mw->rkey;
	vw_writes(w, rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
	vw_writes(w, rkey, w->side[1].bytes + VW_BYTES, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[VW_BYTES] == VW_OLD, "bytes were written");
}

VPAIR(V161_a_bound_window_may_be_deallocated)
{
	ends_in_any_state(w, IBV_MW_TYPE_1);
}

VPAIR(V161_a_bound_window_of_type_2_may_be_deallocated)
{
	ends_in_any_state(w, IBV_MW_TYPE_2);
}

VPAIR(V162_each_bind_has_a_key_of_its_own)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	uint32_t first;

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	first = mw->rkey;
	vw_writes(w, first, w->side[1].bytes, IBV_WC_SUCCESS);
	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	CHECK(mw->rkey != first, "both binds have the key 0x%x", first);
	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	vw_writes(w, first, w->side[1].bytes + VW_BYTES, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[VW_BYTES] == VW_OLD, "bytes were written");
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V162_a_bind_of_no_bytes_ends_the_one_before)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	uint32_t first;

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	first = mw->rkey;
	vw_binds(w, mw, mr, 0, 0, IBV_WC_SUCCESS);
	V_RC(0, ibv_dereg_mr(mr));
	vw_writes(w, first, w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[0] == VW_OLD, "bytes were written");
	V_RC(0, ibv_dealloc_mw(mw));
}

/* Both types obey the same rules on regions. */
static void needs(struct vworld *w, unsigned mr_access, unsigned mw_access, enum ibv_wc_status status)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = vw_region(w, mr_access);

	vw_binds(w, mw, mr, VW_LENGTH, mw_access, status);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V163_a_region_without_mw_bind_has_no_windows)
{
	needs(w, V_ALL, VW_READS, IBV_WC_MW_BIND_ERR);
	CHECK(v_state(w->side[1].qp) == IBV_QPS_ERR, "the queue pair goes on");
}

VPAIR(V163_mw_bind_is_enough)
{
	needs(w, IBV_ACCESS_MW_BIND, VW_READS, IBV_WC_SUCCESS);
	needs(w, IBV_ACCESS_MW_BIND, 0, IBV_WC_SUCCESS);
}

VPAIR(V163_the_range_is_in_the_region)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, mr, VW_LENGTH + 1, VW_READS, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V164_peers_write_where_the_owner_may)
{
	needs(w, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, VW_WRITES | IBV_ACCESS_REMOTE_ATOMIC, IBV_WC_SUCCESS);
	needs(w, IBV_ACCESS_MW_BIND, VW_WRITES, IBV_WC_MW_BIND_ERR);
}

VPAIR(V164_so_do_atomics)
{
	needs(w, IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_ATOMIC, IBV_WC_MW_BIND_ERR);
}

VPAIR(V164_the_rights_are_those_of_the_window)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);

	vw_binds(w, mw, mr, VW_LENGTH, VW_WRITES, IBV_WC_SUCCESS);
	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, VW_MARK, VW_BYTES), "the bytes have not arrived");
	vw_access(w, w->side[0].qp, w->side[0].send_cq, IBV_WR_RDMA_READ, mw->rkey, (uintptr_t)w->side[1].bytes,
		  IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V165_a_window_of_another_pd_is_not_bound, .two_pds = true)
{
	struct ibv_mw *mw = vw_open(w, w->side[0].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, mr, VW_LENGTH, VW_READS, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V165_nor_one_to_a_region_of_another_pd, .two_pds = true)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = v_region(w->side[0].pd, w->side[1].bytes, VW_LENGTH, VW_BINDABLE);

	V_RC(EPERM, vw_bind(w->side[1].qp, mw, mr, w->side[1].bytes, VW_LENGTH, VW_READS));
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

/* A third queue pair, connected to a fourth, in the same PDs. */
static void by_others(struct vworld *w, enum ibv_mw_type type, enum ibv_wc_status status)
{
	struct ibv_qp *mine = v_qp(w, 0, NULL), *theirs = v_qp(w, 1, NULL);
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, type);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	v_connect(w, mine, theirs);
	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	vw_access(w, mine, w->side[0].send_cq, IBV_WR_RDMA_WRITE, mw->rkey, (uintptr_t)w->side[1].bytes + VW_BYTES, status);
	CHECK(status == IBV_WC_SUCCESS || w->side[1].bytes[VW_BYTES] == VW_OLD, "bytes were written");
	V_RC(0, ibv_destroy_qp(mine));
	V_RC(0, ibv_destroy_qp(theirs));
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V166_a_window_of_type_1_is_for_all_queue_pairs)
{
	by_others(w, IBV_MW_TYPE_1, IBV_WC_SUCCESS);
}

VPAIR(V166_a_window_of_type_2_is_for_one_queue_pair)
{
	by_others(w, IBV_MW_TYPE_2, IBV_WC_REM_ACCESS_ERR);
}

VPAIR(V167_a_window_of_type_2_is_invalidated_before_it_is_bound_anew)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	uint32_t first;

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	first = mw->rkey;
	vw_invalidates(w->side[1].qp, w->side[1].send_cq, first, IBV_WC_SUCCESS);
	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V168_a_window_of_type_2_may_begin_at_0)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	V_RC(0, vw_bind(w->side[1].qp, mw, mr, w->side[1].bytes + VW_BYTES, 2 * VW_BYTES, VW_BOTH | IBV_ACCESS_ZERO_BASED));
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	vw_writes(w, mw->rkey, (void *)(uintptr_t)VW_BYTES, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes + 2 * VW_BYTES, VW_MARK, VW_BYTES), "the bytes are not there");
	CHECK(w->side[1].bytes[VW_BYTES] == VW_OLD && w->side[1].bytes[3 * VW_BYTES] == VW_OLD, "others were written");
	vw_writes(w, mw->rkey, (void *)(uintptr_t)(VW_BYTES + 1), IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V168_a_window_of_type_1_may_not)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	V_RC(EINVAL, vw_bind(w->side[1].qp, mw, mr, w->side[1].bytes, VW_LENGTH, VW_BOTH | IBV_ACCESS_ZERO_BASED));
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V169_a_message_invalidates_a_window)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND_WITH_INV, 0, VW_BYTES, &sge);
	struct ibv_wc wc;

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	wr.invalidate_rkey = mw->rkey;
	v_receive(w, 1, VW_LENGTH, VW_BYTES, 3);
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	wc = v_done(w->side[1].recv_cq, 3, IBV_WC_SUCCESS);
	CHECK(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == mw->rkey, "flags 0x%x, key 0x%x", wc.wc_flags,
	      wc.invalidated_rkey);
	V_RC(0, ibv_dereg_mr(mr));
	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
}

VPAIR(V169_a_key_of_another_tag_is_none)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	vw_invalidates(w->side[1].qp, w->side[1].send_cq, ibv_inc_rkey(mw->rkey), IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V169_no_other_queue_pair_invalidates_it)
{
	struct ibv_mw *mw = vw_open(w, w->side[0].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	vw_invalidates(w->side[0].qp, w->side[0].send_cq, mw->rkey, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V169_a_window_of_type_1_is_not_invalidated)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	vw_invalidates(w->side[1].qp, w->side[1].send_cq, mw->rkey, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V170_each_type_has_its_call)
{
	struct ibv_mw *one = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1), *two = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);
	struct ibv_mw_bind_info info = { mr, (uintptr_t)w->side[1].bytes, VW_LENGTH, VW_BOTH };
	struct ibv_mw_bind call = { .bind_info = info };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .bind_mw = { one, one->rkey, info } }, *bad;

	V_RC(EINVAL, ibv_bind_mw(w->side[1].qp, two, &call));
	V_RC(EINVAL, ibv_post_send(w->side[1].qp, &wr, &bad));
	CHECK(bad == &wr, "bad_wr is another");
	call.bind_info.mr = NULL;
	V_RC(EINVAL, ibv_bind_mw(w->side[1].qp, one, &call));
	V_RC(0, ibv_dealloc_mw(one));
	V_RC(0, ibv_dealloc_mw(two));
	V_RC(0, ibv_dereg_mr(mr));
}

static void holds_its_region(struct vworld *w, enum ibv_mw_type type)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, type);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_SUCCESS);
	V_RC(EBUSY, ibv_dereg_mr(mr));
	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	if (type == IBV_MW_TYPE_1)
		vw_binds(w, mw, mr, 0, 0, IBV_WC_SUCCESS);
	else
		vw_invalidates(w->side[1].qp, w->side[1].send_cq, mw->rkey, IBV_WC_SUCCESS);
	V_RC(0, ibv_dereg_mr(mr));
	V_RC(0, ibv_dealloc_mw(mw));
}

VPAIR(V171_a_region_stays_while_windows_are_bound_to_it)
{
	holds_its_region(w, IBV_MW_TYPE_1);
	holds_its_region(w, IBV_MW_TYPE_2);
}

VPAIR(V172_a_queue_pair_may_be_destroyed_while_its_windows_are_bound)
{
	struct ibv_qp *mine = v_qp(w, 0, NULL), *theirs = v_qp(w, 1, NULL);
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	v_connect(w, mine, theirs);
	V_RC(0, vw_bind(theirs, mw, mr, w->side[1].bytes, VW_LENGTH, VW_BOTH));
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	V_RC(0, ibv_destroy_qp(theirs));
	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_destroy_qp(mine));
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V173_no_byte_outside_of_the_window_is_reached)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	V_RC(0, vw_bind(w->side[1].qp, mw, mr, w->side[1].bytes + VW_BYTES, VW_BYTES, VW_BOTH));
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	vw_writes(w, mw->rkey, w->side[1].bytes + VW_BYTES, IBV_WC_SUCCESS);
	vw_writes(w, mw->rkey, w->side[1].bytes + VW_BYTES + 1, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[2 * VW_BYTES] == VW_OLD && w->side[1].bytes[VW_BYTES - 1] == VW_OLD, "bytes outside were written");
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

/* The message that tells the key is posted before the bind has completed. */
VPAIR(V174_a_request_behind_a_bind_waits_for_it)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	v_receive(w, 0, VW_LENGTH, VW_BYTES, 3);
	V_RC(0, vw_bind(w->side[1].qp, mw, mr, w->side[1].bytes, VW_LENGTH, VW_BOTH));
	v_post(w, 1, IBV_WR_SEND, 0, VW_BYTES, 6);
	v_done(w->side[0].recv_cq, 3, IBV_WC_SUCCESS);
	vw_writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	v_done(w->side[1].send_cq, 6, IBV_WC_SUCCESS);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V174_in_err_a_bind_is_flushed)
{
	struct ibv_mw *mw = vw_open(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = vw_region(w, VW_BINDABLE);

	v_to(w, 1, IBV_QPS_ERR);
	vw_binds(w, mw, mr, VW_LENGTH, VW_BOTH, IBV_WC_WR_FLUSH_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}
