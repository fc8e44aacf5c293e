/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_mw.c - memory windows: V160 to V174. Side 1 binds them to a region of its own, and side 0 uses them. */
#include "tests/rules/verbs/vworld.h"

enum {
	BYTES = 64,
	LENGTH = 4096,
	MARK = 0x10,
	OLD = 0x11,
	BINDABLE = V_ALL | IBV_ACCESS_MW_BIND,
	READS = IBV_ACCESS_REMOTE_READ,
	WRITES = IBV_ACCESS_REMOTE_WRITE,
	BOTH = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};

static struct ibv_mw *window(struct vworld *w, struct ibv_pd *pd, enum ibv_mw_type type)
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

static struct ibv_mr *bindable(struct vworld *w, unsigned access)
{
	return v_region(w->side[1].pd, w->side[1].bytes, LENGTH, access);
}

/* Posts a bind to BYTES of side 1's memory from `at`; of type 2 with the next key. */
static int bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mr *mr, const void *at, uint64_t length, unsigned access)
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

static void binds(struct vworld *w, struct ibv_mw *mw, struct ibv_mr *mr, uint64_t length, unsigned access,
		  enum ibv_wc_status status)
{
	struct ibv_wc wc;

	V_RC(0, bind(w->side[1].qp, mw, mr, w->side[1].bytes, length, access));
	wc = v_done(w->side[1].send_cq, 5, status);
	CHECK(status || wc.opcode == IBV_WC_BIND_MW, "the completion's opcode is %d", (int)wc.opcode);
}

static void invalidates(struct ibv_qp *qp, struct ibv_cq *cq, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey, .send_flags = IBV_SEND_SIGNALED };

	v_send(qp, &wr);
	v_done(cq, 0, status);
}

/* BYTES of side 0's memory are written there, or read from there, by the queue pair. */
static void access_by(struct vworld *w, struct ibv_qp *qp, struct ibv_cq *cq, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t at,
		      enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, BYTES, &sge);

	wr.wr.rdma.rkey = rkey;
	wr.wr.rdma.remote_addr = at;
	v_send(qp, &wr);
	v_done(cq, 0, status);
}

static void writes(struct vworld *w, uint32_t rkey, const void *at, enum ibv_wc_status status)
{
	access_by(w, w->side[0].qp, w->side[0].send_cq, IBV_WR_RDMA_WRITE, rkey, (uintptr_t)at, status);
}

VPAIR(V160_a_window_belongs_to_a_pd)
{
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct ibv_mw *one = window(w, pd, IBV_MW_TYPE_1), *two = ibv_alloc_mw(pd, IBV_MW_TYPE_1);

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
	struct ibv_mw *mw = window(w, w->side[1].pd, type);
	struct ibv_mr *mr = bindable(w, BINDABLE);
	uint32_t rkey;

	V_RC(0, ibv_dealloc_mw(window(w, w->side[1].pd, type)));
	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	rkey = mw->rkey;
	writes(w, rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
	writes(w, rkey, w->side[1].bytes + BYTES, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[BYTES] == OLD, "bytes were written");
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
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = bindable(w, BINDABLE);
	uint32_t first;

	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	first = mw->rkey;
	writes(w, first, w->side[1].bytes, IBV_WC_SUCCESS);
	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	CHECK(mw->rkey != first, "both binds have the key 0x%x", first);
	writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	writes(w, first, w->side[1].bytes + BYTES, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[BYTES] == OLD, "bytes were written");
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V162_a_bind_of_no_bytes_ends_the_one_before)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = bindable(w, BINDABLE);
	uint32_t first;

	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	first = mw->rkey;
	binds(w, mw, mr, 0, 0, IBV_WC_SUCCESS);
	V_RC(0, ibv_dereg_mr(mr));
	writes(w, first, w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[0] == OLD, "bytes were written");
	V_RC(0, ibv_dealloc_mw(mw));
}

/* Both types obey the same rules on regions. */
static void needs(struct vworld *w, unsigned mr_access, unsigned mw_access, enum ibv_wc_status status)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = bindable(w, mr_access);

	binds(w, mw, mr, LENGTH, mw_access, status);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V163_a_region_without_mw_bind_has_no_windows)
{
	needs(w, V_ALL, READS, IBV_WC_MW_BIND_ERR);
	CHECK(v_state(w->side[1].qp) == IBV_QPS_ERR, "the queue pair goes on");
}

VPAIR(V163_mw_bind_is_enough)
{
	needs(w, IBV_ACCESS_MW_BIND, READS, IBV_WC_SUCCESS);
	needs(w, IBV_ACCESS_MW_BIND, 0, IBV_WC_SUCCESS);
}

VPAIR(V163_the_range_is_in_the_region)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	binds(w, mw, mr, LENGTH + 1, READS, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V164_peers_write_where_the_owner_may)
{
	needs(w, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, WRITES | IBV_ACCESS_REMOTE_ATOMIC, IBV_WC_SUCCESS);
	needs(w, IBV_ACCESS_MW_BIND, WRITES, IBV_WC_MW_BIND_ERR);
}

VPAIR(V164_so_do_atomics)
{
	needs(w, IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_ATOMIC, IBV_WC_MW_BIND_ERR);
}

VPAIR(V164_the_rights_are_those_of_the_window)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);

	binds(w, mw, mr, LENGTH, WRITES, IBV_WC_SUCCESS);
	writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, MARK, BYTES), "the bytes have not arrived");
	access_by(w, w->side[0].qp, w->side[0].send_cq, IBV_WR_RDMA_READ, mw->rkey, (uintptr_t)w->side[1].bytes,
		  IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V165_a_window_of_another_pd_is_not_bound, .two_pds = true)
{
	struct ibv_mw *mw = window(w, w->side[0].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	binds(w, mw, mr, LENGTH, READS, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V165_nor_one_to_a_region_of_another_pd, .two_pds = true)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = v_region(w->side[0].pd, w->side[1].bytes, LENGTH, BINDABLE);

	V_RC(EPERM, bind(w->side[1].qp, mw, mr, w->side[1].bytes, LENGTH, READS));
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

/* A third queue pair, connected to a fourth, in the same PDs. */
static void by_others(struct vworld *w, enum ibv_mw_type type, enum ibv_wc_status status)
{
	struct ibv_qp *mine = v_qp(w, 0, NULL), *theirs = v_qp(w, 1, NULL);
	struct ibv_mw *mw = window(w, w->side[1].pd, type);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	v_connect(w, mine, theirs);
	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	access_by(w, mine, w->side[0].send_cq, IBV_WR_RDMA_WRITE, mw->rkey, (uintptr_t)w->side[1].bytes + BYTES, status);
	CHECK(status == IBV_WC_SUCCESS || w->side[1].bytes[BYTES] == OLD, "bytes were written");
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
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);
	uint32_t first;

	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	first = mw->rkey;
	invalidates(w->side[1].qp, w->side[1].send_cq, first, IBV_WC_SUCCESS);
	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V168_a_window_of_type_2_may_begin_at_0)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	V_RC(0, bind(w->side[1].qp, mw, mr, w->side[1].bytes + BYTES, 2 * BYTES, BOTH | IBV_ACCESS_ZERO_BASED));
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	writes(w, mw->rkey, (void *)(uintptr_t)BYTES, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes + 2 * BYTES, MARK, BYTES), "the bytes are not there");
	CHECK(w->side[1].bytes[BYTES] == OLD && w->side[1].bytes[3 * BYTES] == OLD, "others were written");
	writes(w, mw->rkey, (void *)(uintptr_t)(BYTES + 1), IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V168_a_window_of_type_1_may_not)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	V_RC(EINVAL, bind(w->side[1].qp, mw, mr, w->side[1].bytes, LENGTH, BOTH | IBV_ACCESS_ZERO_BASED));
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V169_a_message_invalidates_a_window)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND_WITH_INV, 0, BYTES, &sge);
	struct ibv_wc wc;

	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	wr.invalidate_rkey = mw->rkey;
	v_receive(w, 1, LENGTH, BYTES, 3);
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	wc = v_done(w->side[1].recv_cq, 3, IBV_WC_SUCCESS);
	CHECK(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == mw->rkey, "flags 0x%x, key 0x%x", wc.wc_flags,
	      wc.invalidated_rkey);
	V_RC(0, ibv_dereg_mr(mr));
	writes(w, mw->rkey, w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
}

VPAIR(V169_a_key_of_another_tag_is_none)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	invalidates(w->side[1].qp, w->side[1].send_cq, ibv_inc_rkey(mw->rkey), IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V169_no_other_queue_pair_invalidates_it)
{
	struct ibv_mw *mw = window(w, w->side[0].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	invalidates(w->side[0].qp, w->side[0].send_cq, mw->rkey, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V169_a_window_of_type_1_is_not_invalidated)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	invalidates(w->side[1].qp, w->side[1].send_cq, mw->rkey, IBV_WC_MW_BIND_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V170_each_type_has_its_call)
{
	struct ibv_mw *one = window(w, w->side[1].pd, IBV_MW_TYPE_1), *two = window(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);
	struct ibv_mw_bind_info info = { mr, (uintptr_t)w->side[1].bytes, LENGTH, BOTH };
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
	struct ibv_mw *mw = window(w, w->side[1].pd, type);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_SUCCESS);
	V_RC(EBUSY, ibv_dereg_mr(mr));
	writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	if (type == IBV_MW_TYPE_1)
		binds(w, mw, mr, 0, 0, IBV_WC_SUCCESS);
	else
		invalidates(w->side[1].qp, w->side[1].send_cq, mw->rkey, IBV_WC_SUCCESS);
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
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	v_connect(w, mine, theirs);
	V_RC(0, bind(theirs, mw, mr, w->side[1].bytes, LENGTH, BOTH));
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	V_RC(0, ibv_destroy_qp(theirs));
	writes(w, mw->rkey, w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_destroy_qp(mine));
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V173_no_byte_outside_of_the_window_is_reached)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	V_RC(0, bind(w->side[1].qp, mw, mr, w->side[1].bytes + BYTES, BYTES, BOTH));
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	writes(w, mw->rkey, w->side[1].bytes + BYTES, IBV_WC_SUCCESS);
	writes(w, mw->rkey, w->side[1].bytes + BYTES + 1, IBV_WC_REM_ACCESS_ERR);
	CHECK(w->side[1].bytes[2 * BYTES] == OLD && w->side[1].bytes[BYTES - 1] == OLD, "bytes outside were written");
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

/* The message that tells the key is posted before the bind has completed. */
VPAIR(V174_a_request_behind_a_bind_waits_for_it)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	v_receive(w, 0, LENGTH, BYTES, 3);
	V_RC(0, bind(w->side[1].qp, mw, mr, w->side[1].bytes, LENGTH, BOTH));
	v_post(w, 1, IBV_WR_SEND, 0, BYTES, 6);
	v_done(w->side[0].recv_cq, 3, IBV_WC_SUCCESS);
	writes(w, mw->rkey, w->side[1].bytes, IBV_WC_SUCCESS);
	v_done(w->side[1].send_cq, 5, IBV_WC_SUCCESS);
	v_done(w->side[1].send_cq, 6, IBV_WC_SUCCESS);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V174_in_err_a_bind_is_flushed)
{
	struct ibv_mw *mw = window(w, w->side[1].pd, IBV_MW_TYPE_1);
	struct ibv_mr *mr = bindable(w, BINDABLE);

	v_to(w, 1, IBV_QPS_ERR);
	binds(w, mw, mr, LENGTH, BOTH, IBV_WC_WR_FLUSH_ERR);
	V_RC(0, ibv_dealloc_mw(mw));
	V_RC(0, ibv_dereg_mr(mr));
}
