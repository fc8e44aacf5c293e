/* SPDX-License-Identifier: BSD-2-Clause */
/* bounds.c - what the device says that it takes is taken; one more is refused, and changes nothing. Numbers of objects: most.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, MAX_WR = 16384, MAX_SGE = 8, MAX_INLINE = 256, MAX_READS = 128, PIECE = 32 };
#define MAX_MSG (UINT32_C(1) << 31)

static struct qp_pair pair;

static void begin(void)
{
	qp_pair_open(&pair);
}

static void end(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_bounds, .init = begin, .fini = end, .timeout = 120);

Test(verbs_bounds, are_told)
{
	struct ibv_device_attr_ex ex;
	struct ibv_port_attr port;
	struct ibv_device_attr *attr = &ex.orig_attr;

	cr_assert_eq(ibv_query_device_ex(pair.verbs.context, NULL, &ex), 0);
	cr_assert_eq(attr->max_qp, 4096);
	cr_assert_eq(attr->max_qp_wr, MAX_WR);
	cr_assert_eq(attr->max_sge, MAX_SGE);
	cr_assert_eq(attr->max_sge_rd, MAX_SGE);
	cr_assert_eq(attr->max_srq, 4096);
	cr_assert_eq(attr->max_srq_wr, MAX_WR);
	cr_assert_eq(attr->max_srq_sge, MAX_SGE);
	cr_assert_eq(attr->max_cq, 65536);
	cr_assert_eq(attr->max_cqe, 1 << 20);
	cr_assert_eq(attr->max_mr, 1 << 18);
	cr_assert_eq(attr->max_pd, 32768);
	cr_assert_eq(attr->max_qp_rd_atom, MAX_READS);
	cr_assert_eq(attr->max_qp_init_rd_atom, MAX_READS);
	cr_assert_eq(attr->max_res_rd_atom, MAX_READS * 4096);
	cr_assert_eq(attr->max_pkeys, 1);
	cr_assert_eq(ex.max_dm_size, 1 << 20);
	cr_assert_eq(pair.verbs.context->num_comp_vectors, 1);
	cr_assert_eq(ibv_query_port(pair.verbs.context, 1, &port), 0);
	cr_assert_eq(port.max_msg_sz, MAX_MSG);
	cr_assert_eq(port.max_mtu, IBV_MTU_4096);
	cr_assert_eq(port.pkey_tbl_len, 1);
	cr_assert_eq(port.gid_tbl_len, 32);
}

/* --- sizes of queue pairs --- */

static uint32_t *size_of(struct ibv_qp_cap *cap, size_t offset)
{
	return (uint32_t *)((char *)cap + offset);
}

/* ibv_create_qp(3): what is beyond the device's is refused with EINVAL, and what is made has at least what was asked for. */
static void try_size(size_t offset, uint32_t most)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .send_cq = pair.cq[A],
					 .recv_cq = pair.cq[A],
					 .cap = { 1, 1, 1, 1, 0 } },
				before, now;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	*size_of(&init.cap, offset) = most + 1;
	before = init;
	errno = 0;
	cr_assert_null(ibv_create_qp(pair.verbs.pd, &init));
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(memcmp(&init.cap, &before.cap, sizeof(init.cap)), 0);
	*size_of(&init.cap, offset) = most;
	qp = ibv_create_qp(pair.verbs.pd, &init);
	cr_assert_not_null(qp);
	cr_assert_geq(*size_of(&init.cap, offset), most);
	cr_assert_eq(ibv_query_qp(qp, &attr, IBV_QP_CAP, &now), 0);
	cr_assert_eq(memcmp(&attr.cap, &init.cap, sizeof(init.cap)), 0);
	cr_assert_eq(memcmp(&now.cap, &init.cap, sizeof(init.cap)), 0);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
}

Test(verbs_bounds, sizes_of_queue_pairs)
{
	try_size(offsetof(struct ibv_qp_cap, max_send_wr), MAX_WR);
	try_size(offsetof(struct ibv_qp_cap, max_recv_wr), MAX_WR);
	try_size(offsetof(struct ibv_qp_cap, max_send_sge), MAX_SGE);
	try_size(offsetof(struct ibv_qp_cap, max_recv_sge), MAX_SGE);
	try_size(offsetof(struct ibv_qp_cap, max_inline_data), MAX_INLINE);
}

/* ibv_create_qp(3): what was made is told, which may be more than what was asked for. */
Test(verbs_bounds, sizes_of_nothing)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = pair.cq[A], .recv_cq = pair.cq[A] }, now;
	struct ibv_qp *qp = ibv_create_qp(pair.verbs.pd, &init);
	struct ibv_qp_attr attr;

	cr_assert_not_null(qp);
	cr_assert_eq(ibv_query_qp(qp, &attr, IBV_QP_CAP, &now), 0);
	cr_assert_eq(memcmp(&attr.cap, &init.cap, sizeof(init.cap)), 0);
	cr_assert(init.cap.max_send_sge && init.cap.max_recv_sge);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
}

/* --- requests --- */

static struct ibv_sge lists[2][MAX_SGE + 1];

static void largest(void)
{
	static const struct ibv_qp_init_attr init = { .cap = { MAX_WR, MAX_WR, MAX_SGE, MAX_SGE, MAX_INLINE }, .sq_sig_all = 1 };

	for (int side = A; side <= B; side++) {
		cr_assert_eq(ibv_resize_cq(pair.cq[side], 2 * MAX_WR), 0);
		qp_replace(&pair, side, init);
	}
	qp_pair_meet(&pair);
	for (int side = A; side <= B; side++)
		for (uint32_t i = 0; i <= MAX_SGE; i++)
			lists[side][i] = (struct ibv_sge){ (uintptr_t)pair.memory[side] + 2 * i * PIECE, PIECE,
							   pair.mr[side]->lkey };
}

static int post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int err = ibv_post_send(pair.qp[A], wr, &bad);

	cr_assert(!err || bad == wr);
	return err;
}

static int post_receive(int count, uint64_t wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = lists[B], .num_sge = count }, *bad = NULL;
	int err = ibv_post_recv(pair.qp[B], &wr, &bad);

	cr_assert(!err || bad == &wr);
	return err;
}

static void idle(int side)
{
	struct ibv_wc wc;

	cr_assert_eq(ibv_poll_cq(pair.cq[side], 1, &wc), 0);
}

Test(verbs_bounds, elements_of_a_list)
{
	struct ibv_send_wr wr = { .sg_list = lists[A], .num_sge = MAX_SGE + 1 };

	largest();
	for (unsigned int i = 0; i < MAX_SGE; i++)
		memset(pair.memory[A] + (size_t)2 * i * PIECE, (int)i + 1, PIECE);
	cr_assert_eq(post_receive(MAX_SGE + 1, 1), EINVAL);
	cr_assert_eq(post_receive(-1, 1), EINVAL);
	cr_assert_eq(post_receive(MAX_SGE, 1), 0);
	for (int i = 0; i < 3; i++) {
		wr.opcode = (const enum ibv_wr_opcode[]){ IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ }[i];
		cr_assert_eq(post(&wr), EINVAL);
	}
	wr.num_sge = -1;
	cr_assert_eq(post(&wr), EINVAL);
	wr.num_sge = MAX_SGE;
	wr.opcode = IBV_WR_SEND;
	cr_assert_eq(post(&wr), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert_eq(qp_done(&pair, B, 1, IBV_WC_SUCCESS).byte_len, MAX_SGE * PIECE);
	for (size_t i = 0; i < MAX_SGE; i++)
		cr_assert(pair.memory[B][2 * i * PIECE] == i + 1 && pair.memory[B][2 * i * PIECE + PIECE - 1] == i + 1 &&
			  !pair.memory[B][2 * i * PIECE + PIECE]);
	idle(A);
}

/* Of the whole list, in one element or in several; and elements that together are no small number by wrapping. */
Test(verbs_bounds, bytes_inline)
{
	struct ibv_sge whole = { (uintptr_t)pair.memory[A], MAX_INLINE + 1, 0 };
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 0, &(struct ibv_sge){ 0 });

	largest();
	wr.send_flags = IBV_SEND_INLINE;
	wr.sg_list = &whole;
	cr_assert_eq(post(&wr), EINVAL);
	whole.length = MAX_INLINE;
	memset(pair.memory[A], 7, MAX_INLINE);
	cr_assert_eq(post(&wr), 0);
	memset(pair.memory[A], 8, MAX_INLINE);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert(pair.memory[B][0] == 7 && pair.memory[B][MAX_INLINE - 1] == 7 && !pair.memory[B][MAX_INLINE]);
	wr.sg_list = lists[A];
	wr.num_sge = MAX_SGE;
	cr_assert_eq(post(&wr), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	lists[A][MAX_SGE - 1].length++;
	cr_assert_eq(post(&wr), EINVAL);
	lists[A][0].length = lists[A][1].length = MAX_MSG;
	wr.num_sge = 2;
	cr_assert_eq(post(&wr), EINVAL);
	idle(A);
}

Test(verbs_bounds, requests_of_a_queue)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	largest();
	wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, &sge);
	for (wr.wr_id = 0; wr.wr_id < MAX_WR; wr.wr_id++)
		cr_assert_eq(post(&wr), 0);
	cr_assert_eq(post(&wr), ENOMEM);
	for (uint64_t i = 0; i < MAX_WR; i++)
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
	idle(A);
	for (uint64_t i = 0; i < MAX_WR; i++)
		cr_assert_eq(post_receive(1, i), 0);
	cr_assert_eq(post_receive(1, 0), ENOMEM);
	idle(B);
}

static int post_shared(struct ibv_srq *srq, int count)
{
	struct ibv_recv_wr wr = { .sg_list = lists[B], .num_sge = count }, *bad = NULL;
	int err = ibv_post_srq_recv(srq, &wr, &bad);

	cr_assert(!err || bad == &wr);
	return err;
}

Test(verbs_bounds, receives_of_a_shared_queue)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = MAX_WR, .max_sge = MAX_SGE } };
	struct ibv_srq *srq = ibv_create_srq(pair.verbs.pd, &init);

	cr_assert_not_null(srq);
	cr_assert_eq(post_shared(srq, MAX_SGE + 1), EINVAL);
	for (int i = 0; i < MAX_WR; i++)
		cr_assert_eq(post_shared(srq, MAX_SGE), 0);
	cr_assert_eq(post_shared(srq, 1), ENOMEM);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
}

/* --- of a connection --- */

static int modify(int side, enum ibv_qp_state state, int (*set)(struct ibv_qp_attr *attr, int value), int value)
{
	struct ibv_qp_attr attr;
	int mask = qp_attr_for(&pair, side, state, &attr);

	return ibv_modify_qp(pair.qp[side], &attr, mask | set(&attr, value));
}

static int set_mtu(struct ibv_qp_attr *attr, int value)
{
	attr->path_mtu = (enum ibv_mtu)value;
	return IBV_QP_PATH_MTU;
}

static int set_reads(struct ibv_qp_attr *attr, int value)
{
	attr->max_rd_atomic = (uint8_t)value;
	return IBV_QP_MAX_QP_RD_ATOMIC;
}

static int set_answers(struct ibv_qp_attr *attr, int value)
{
	attr->max_dest_rd_atomic = (uint8_t)value;
	return IBV_QP_MAX_DEST_RD_ATOMIC;
}

Test(verbs_bounds, each_mtu)
{
	for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++) {
		for (int side = A; side <= B; side++) {
			qp_to(&pair, side, IBV_QPS_INIT);
			cr_assert_eq(modify(side, IBV_QPS_RTR, set_mtu, IBV_MTU_256 - 1), EINVAL);
			cr_assert_eq(modify(side, IBV_QPS_RTR, set_mtu, IBV_MTU_4096 + 1), EINVAL);
			cr_assert_eq(pair.qp[side]->state, IBV_QPS_INIT);
			cr_assert_eq(modify(side, IBV_QPS_RTR, set_mtu, mtu), 0);
			qp_to(&pair, side, IBV_QPS_RTS);
		}
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 10000, 1);
		qp_done(&pair, A, 1, IBV_WC_SUCCESS);
		for (int side = A; side <= B; side++)
			qp_to(&pair, side, IBV_QPS_RESET);
	}
}

Test(verbs_bounds, reads_and_atomics_at_a_time)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	for (int side = A; side <= B; side++) {
		qp_replace(&pair, side, (struct ibv_qp_init_attr){ .cap = { 2 * MAX_READS, 1, 1, 1, 0 }, .sq_sig_all = 1 });
		qp_to(&pair, side, IBV_QPS_INIT);
	}
	for (int side = A; side <= B; side++) {
		cr_assert_eq(modify(side, IBV_QPS_RTR, set_answers, MAX_READS + 1), EINVAL);
		cr_assert_eq(modify(side, IBV_QPS_RTR, set_answers, MAX_READS), 0);
		cr_assert_eq(modify(side, IBV_QPS_RTS, set_reads, MAX_READS + 1), EINVAL);
		cr_assert_eq(pair.qp[side]->state, IBV_QPS_RTR);
		cr_assert_eq(modify(side, IBV_QPS_RTS, set_reads, MAX_READS), 0);
	}
	cr_assert_eq(ibv_resize_cq(pair.cq[A], 2 * MAX_READS), 0);
	wr = qp_request(&pair, A, IBV_WR_RDMA_READ, 0, 4096, &sge);
	for (wr.wr_id = 0; wr.wr_id < 2 * MAX_READS; wr.wr_id++)
		cr_assert_eq(post(&wr), 0);
	for (uint64_t i = 0; i < 2 * MAX_READS; i++)
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
}

/* --- a message --- */

/* The null region has as many bytes as are asked for: what is too long fails here, and the rest goes to the peer, which refuses it
 * for its key. Each failure ends the queue pair. */
Test(verbs_bounds, bytes_of_a_message)
{
	struct ibv_mr *null = ibv_alloc_null_mr(pair.verbs.pd);
	struct ibv_sge list[2] = { { 0, MAX_MSG, null->lkey }, { 0, 1, null->lkey } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = list };

	wr.wr.rdma.rkey = 0xdead;
	for (int count = 2; count; count--) {
		qp_pair_meet(&pair);
		wr.num_sge = count;
		cr_assert_eq(post(&wr), 0);
		qp_done(&pair, A, 0, count == 2 ? IBV_WC_LOC_LEN_ERR : IBV_WC_REM_ACCESS_ERR);
		for (int side = A; side <= B; side++)
			qp_to(&pair, side, IBV_QPS_RESET);
	}
	cr_assert_eq(ibv_dereg_mr(null), 0);
}
