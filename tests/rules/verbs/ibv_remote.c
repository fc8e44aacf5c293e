/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_remote.c - what a peer may reach: V32 to V42. */
#include "tests/rules/verbs/vworld.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ
#define ADD IBV_WR_ATOMIC_FETCH_AND_ADD

/* Both ends fail, and not a byte of either has changed. */
static void refused(struct vworld *w, enum ibv_wr_opcode opcode)
{
	v_does(w, 0, opcode, 0, 8, IBV_WC_REM_ACCESS_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 4096), "bytes of the target have changed");
	CHECK(v_is(w->side[0].bytes, 0x10, 4096), "bytes of the initiator have changed");
}

static void unknown_key(struct vworld *w, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, 8, &sge);

	if (opcode == ADD)
		wr.wr.atomic.rkey ^= 0x5a5a5a00;
	else
		wr.wr.rdma.rkey ^= 0x5a5a5a00;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 4096), "bytes of the target have changed");
}

VPAIR(V32_an_unknown_key_writes_nothing)
{
	unknown_key(w, WRITE);
}
VPAIR(V32_an_unknown_key_reads_nothing)
{
	unknown_key(w, READ);
}
VPAIR(V32_an_unknown_key_adds_nothing)
{
	unknown_key(w, ADD);
}

VPAIR(V33_a_write_needs_the_right, .mr_without = IBV_ACCESS_REMOTE_WRITE)
{
	refused(w, WRITE);
}
VPAIR(V34_a_read_needs_the_right, .mr_without = IBV_ACCESS_REMOTE_READ)
{
	refused(w, READ);
}
VPAIR(V35_an_atomic_needs_the_right, .mr_without = IBV_ACCESS_REMOTE_ATOMIC)
{
	refused(w, ADD);
}

/* InfiniBand names two statuses that fit. */
static void disabled(struct vworld *w, enum ibv_wr_opcode opcode, enum ibv_wr_opcode other)
{
	struct ibv_wc wc;

	v_does(w, 0, other, 4096, 8, IBV_WC_SUCCESS);
	v_post(w, 0, opcode, 0, 8, 1);
	wc = v_next(w->side[0].send_cq);
	CHECK(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_INV_REQ_ERR, "status %d (%s)", (int)wc.status,
	      ibv_wc_status_str(wc.status));
	CHECK(v_is(w->side[1].bytes, 0x11, 4096), "bytes of the target have changed");
}

VPAIR(V36_a_queue_pair_may_take_no_writes, .qp_without = IBV_ACCESS_REMOTE_WRITE)
{
	disabled(w, WRITE, READ);
}
VPAIR(V36_a_queue_pair_may_take_no_reads, .qp_without = IBV_ACCESS_REMOTE_READ)
{
	disabled(w, READ, WRITE);
}
VPAIR(V36_a_queue_pair_may_take_no_atomics, .qp_without = IBV_ACCESS_REMOTE_ATOMIC)
{
	disabled(w, ADD, WRITE);
}

/* Side 0 reaches for bytes that are in the memory, and not all in a region of its middle. */
static void outside(struct vworld *w, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length)
{
	struct ibv_mr *mr = v_region(w->side[1].pd, w->side[1].bytes + 4096, 4096, V_ALL);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, at, length, &sge);

	wr.wr.rdma.rkey = mr->rkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 16384), "bytes of the target have changed");
	CHECK(v_is(w->side[0].bytes, 0x10, 16384), "bytes of the initiator have changed");
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V37_one_byte_past_the_end_is_too_many)
{
	outside(w, WRITE, 4096, 4097);
}
VPAIR(V37_one_byte_before_the_beginning_is_too_many)
{
	outside(w, WRITE, 4095, 64);
}
VPAIR(V37_reads_have_the_same_bounds)
{
	outside(w, READ, 8192 - 63, 64);
}

VPAIR(V38_an_address_does_not_wrap)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 4096, &sge);

	wr.wr.rdma.remote_addr = UINT64_MAX - 63;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
}

VPAIR(V39_rights_of_a_queue_pair_change_while_it_runs)
{
	struct ibv_qp_attr attr = { .qp_access_flags = V_ALL & ~IBV_ACCESS_REMOTE_WRITE };
	struct ibv_wc wc;

	v_does(w, 0, WRITE, 4096, 8, IBV_WC_SUCCESS);
	V_RC(0, ibv_modify_qp(w->side[1].qp, &attr, IBV_QP_ACCESS_FLAGS));
	v_post(w, 0, WRITE, 0, 8, 1);
	wc = v_next(w->side[0].send_cq);
	CHECK(wc.status != IBV_WC_SUCCESS, "a write succeeds that the queue pair takes no more");
	CHECK(v_is(w->side[1].bytes, 0x11, 4096), "bytes of the target have changed");
}

static void nothing(struct vworld *w, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, 8, &sge);

	wr.num_sge = 0;
	wr.wr.rdma.rkey ^= 0x5a5a5a00;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
}

VPAIR(V40_a_write_of_nothing_needs_no_key)
{
	nothing(w, WRITE);
}
VPAIR(V40_a_read_of_nothing_needs_no_key)
{
	nothing(w, READ);
}

VPAIR(V41_the_target_is_told_by_an_event, .mr_without = IBV_ACCESS_REMOTE_WRITE)
{
	struct ibv_async_event event;

	refused(w, WRITE);
	event = v_event(w, IBV_EVENT_QP_ACCESS_ERR);
	CHECK(event.element.qp == w->side[1].qp, "the event is of another queue pair");
}
/* Its program, which has heard from the peer of the refusal, ends it at the same time. */
VPAIR(V41_and_once_if_it_goes_to_error_meanwhile, .srq = true)
{
	for (int round = 0; round < 16; round++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 8, &sge);

		wr.wr.rdma.rkey ^= 0x5a5a5a00;
		v_send(w->side[0].qp, &wr);
		v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
		v_to(w, 1, IBV_QPS_ERR);
		v_event(w, IBV_EVENT_QP_ACCESS_ERR);
		v_event(w, IBV_EVENT_QP_LAST_WQE_REACHED);
		v_no_event(w, IBV_EVENT_QP_LAST_WQE_REACHED);
		for (int side = 0; side < 2; side++)
			v_to(w, side, IBV_QPS_RESET);
		v_meet(w);
	}
}

VPAIR(V42_other_queue_pairs_go_on)
{
	struct ibv_qp *own = v_qp(w, 0, NULL), *other = v_qp(w, 1, NULL);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 8, &sge);

	v_connect(w, own, other);
	wr.wr.rdma.rkey ^= 0x5a5a5a00;
	v_send(own, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	v_works(w);
	V_RC(0, ibv_destroy_qp(own));
	V_RC(0, ibv_destroy_qp(other));
}
