/* SPDX-License-Identifier: BSD-2-Clause */
/* qp.c - RC queue pairs: what each request does, how requests fail, and what that makes of the queue pairs. */
#include <criterion/criterion.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B };

static struct qp_pair pair;

static void meet(void)
{
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
}

static void leave(void)
{
	qp_pair_close(&pair);
}

TestSuite(qp, .init = meet, .fini = leave);
TestSuite(qp_alone, .init = NULL, .fini = NULL);

static int post(int side, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(pair.qp[side], wr, &bad);
}

/* --- what requests do --- */

Test(qp, message)
{
	struct ibv_wc wc;

	memset(pair.memory[A], 1, 100);
	qp_receive(&pair, B, 200, 70);
	qp_post(&pair, A, IBV_WR_SEND, 0, 100, 7);
	wc = qp_done(&pair, A, 7, IBV_WC_SUCCESS);
	cr_assert_eq(wc.opcode, IBV_WC_SEND);
	wc = qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	cr_assert(wc.opcode == IBV_WC_RECV && wc.byte_len == 100 && !(wc.wc_flags & IBV_WC_WITH_IMM));
	cr_assert(pair.memory[B][99] == 1 && pair.memory[B][100] == 0);
}

Test(qp, write_read_and_lists)
{
	struct ibv_sge sge[2] = { { (uintptr_t)pair.memory[A], 10, pair.mr[A]->lkey },
				  { (uintptr_t)pair.memory[A] + 500, 20, pair.mr[A]->lkey } };
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 64, 0, &(struct ibv_sge){ 0 });
	struct ibv_wc wc;

	memset(pair.memory[A], 1, 10);
	memset(pair.memory[A] + 500, 2, 20);
	wr.sg_list = sge;
	wr.num_sge = 2;
	cr_assert_eq(post(A, &wr), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert(pair.memory[B][64] == 1 && pair.memory[B][74] == 2 && pair.memory[B][94] == 0);
	memset(pair.memory[B], 3, 40000);
	qp_post(&pair, A, IBV_WR_RDMA_READ, 0, 40000, 2);
	wc = qp_done(&pair, A, 2, IBV_WC_SUCCESS);
	cr_assert(wc.opcode == IBV_WC_RDMA_READ && wc.byte_len == 40000);
	cr_assert_eq(pair.memory[A][39999], 3);
}

Test(qp, immediate_data)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_SEND_WITH_IMM, 0, 8, &sge);
	struct ibv_wc wc;

	wr.imm_data = htobe32(0xdecade);
	qp_receive(&pair, B, 8, 70);
	qp_receive(&pair, B, 8, 71);
	cr_assert_eq(post(A, &wr), 0);
	wc = qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	cr_assert(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htobe32(0xdecade));
	memset(pair.memory[A], 9, 8);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.wr.rdma.remote_addr += 256;
	cr_assert_eq(post(A, &wr), 0);
	wc = qp_done(&pair, B, 71, IBV_WC_SUCCESS);
	cr_assert(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.byte_len == 8 && wc.imm_data == htobe32(0xdecade));
	cr_assert(pair.memory[B][256] == 9 && pair.memory[B][0] == 0);
}

Test(qp, atomics)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, &sge);
	uint64_t *here = (uint64_t *)pair.memory[A], *there = (uint64_t *)pair.memory[B];

	there[1] = 40;
	wr.wr.atomic.remote_addr = (uintptr_t)&there[1];
	wr.wr.atomic.rkey = pair.mr[B]->rkey;
	wr.wr.atomic.compare_add = 2;
	cr_assert_eq(post(A, &wr), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert(here[0] == 40 && there[1] == 42);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = 7;
	cr_assert_eq(post(A, &wr), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert(here[0] == 42 && there[1] == 7);
	cr_assert_eq(post(A, &wr), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert(here[0] == 7 && there[1] == 7);
}

Test(qp, inline_data_is_copied)
{
	struct ibv_sge sge = { 0 };
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 0, &sge);
	unsigned char bytes[QP_INLINE];

	memset(bytes, 5, sizeof(bytes));
	sge = (struct ibv_sge){ (uintptr_t)bytes, sizeof(bytes), 0xdead }; /* the lkey does not count */
	wr.send_flags = IBV_SEND_INLINE;
	cr_assert_eq(post(A, &wr), 0);
	memset(bytes, 6, sizeof(bytes));
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[B][QP_INLINE - 1], 5);
	sge.length = QP_INLINE + 1;
	cr_assert_eq(post(A, &wr), EINVAL);
}

/* Each request completes in its turn, and one without IBV_SEND_SIGNALED gives its place back with a later one. */
Test(qp, order_and_room)
{
	for (uint64_t i = 0; i < QP_WR; i++)
		qp_post(&pair, A, i % 3 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, 0, (uint32_t)(i % 5 * 20000), i);
	{
		struct ibv_sge sge;
		struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, &sge);

		cr_assert_eq(post(A, &wr), ENOMEM);
	}
	for (uint64_t i = 0; i < QP_WR; i++)
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 99);
	qp_done(&pair, A, 99, IBV_WC_SUCCESS);
}

/* From then on peers do not reach the region; the keys stay the program's. */
Test(qp, invalidated)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_LOCAL_INV }, send;
	struct ibv_sge sge;

	wr.invalidate_rkey = pair.mr[A]->rkey;
	cr_assert_eq(post(A, &wr), 0);
	cr_assert_eq(qp_done(&pair, A, 1, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 0, 8, 2);
	qp_done(&pair, B, 2, IBV_WC_REM_ACCESS_ERR);
	qp_to(&pair, A, IBV_QPS_RESET);
	qp_to(&pair, B, IBV_QPS_RESET);
	qp_pair_meet(&pair);
	send = qp_request(&pair, A, IBV_WR_SEND_WITH_INV, 0, 8, &sge);
	send.invalidate_rkey = pair.mr[B]->rkey;
	qp_receive(&pair, B, 8, 70);
	cr_assert_eq(post(A, &send), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert_eq(qp_done(&pair, B, 70, IBV_WC_SUCCESS).invalidated_rkey, pair.mr[B]->rkey);
	qp_post(&pair, A, IBV_WR_RDMA_READ, 0, 8, 3);
	qp_done(&pair, A, 3, IBV_WC_REM_ACCESS_ERR);
}

Test(qp, invalidated_under_a_wrong_key)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = 0xdead };

	cr_assert_eq(post(A, &wr), 0);
	qp_done(&pair, A, 1, IBV_WC_MW_BIND_ERR);
}

/* --- how they fail --- */

static void flushed(int side, uint64_t wr_id)
{
	qp_done(&pair, side, wr_id, IBV_WC_WR_FLUSH_ERR);
}

/* One of the send queue and one of the receive queue, between which there is no order. */
static void flushed_both(int side, uint64_t one, uint64_t other)
{
	struct ibv_wc wc = qp_next(&pair, side);

	cr_assert(wc.status == IBV_WC_WR_FLUSH_ERR && (wc.wr_id == one || wc.wr_id == other), "request %llu: %s",
		  (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	flushed(side, wc.wr_id == one ? other : one);
}

/* The request fails with `status`; what is behind it is flushed; both are in ERR, or A alone. */
static void fails(struct ibv_send_wr *wr, enum ibv_wc_status status, bool both)
{
	wr->wr_id = 1;
	qp_receive(&pair, A, 8, 80);
	qp_receive(&pair, B, 8, 81);
	cr_assert_eq(post(A, wr), 0);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 512, 8, 2);
	qp_done(&pair, A, 1, status);
	flushed_both(A, 2, 80);
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_ERR);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 512, 8, 3);
	flushed(A, 3);
	if (!both)
		return;
	flushed(B, 81);
	cr_assert_eq(pair.qp[B]->state, IBV_QPS_ERR);
}

static void event(enum ibv_event_type type)
{
	struct ibv_async_event event;

	cr_assert_eq(ibv_get_async_event(pair.verbs.context, &event), 0);
	cr_assert(event.event_type == type && event.element.qp == pair.qp[B], "event %d", (int)event.event_type);
	ibv_ack_async_event(&event);
}

static void wrong_rkey(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, opcode, 0, 8, &sge);

	wr.wr.rdma.rkey ^= 1;
	fails(&wr, IBV_WC_REM_ACCESS_ERR, true);
	event(IBV_EVENT_QP_ACCESS_ERR);
}

Test(qp, wrong_rkey)
{
	wrong_rkey(IBV_WR_RDMA_WRITE);
}

/* The data takes no receive: that is flushed with the others. */
Test(qp, wrong_rkey_with_data)
{
	wrong_rkey(IBV_WR_RDMA_WRITE_WITH_IMM);
}

Test(qp, past_the_end)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_READ, QP_SPAN - 4, 8, &sge);

	wr.wr_id = 1;
	cr_assert_eq(post(A, &wr), 0);
	qp_done(&pair, A, 1, IBV_WC_REM_ACCESS_ERR);
	cr_assert_not_null(strstr(ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR), "4 B past"), "%s",
			   ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR));
	event(IBV_EVENT_QP_ACCESS_ERR);
}

Test(qp, misaligned_atomic)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, &sge);

	wr.wr.atomic.remote_addr = (uintptr_t)pair.memory[B] + 4;
	wr.wr.atomic.rkey = pair.mr[B]->rkey;
	fails(&wr, IBV_WC_REM_INV_REQ_ERR, true);
	event(IBV_EVENT_QP_ACCESS_ERR);
}

/* B in RTS, and so that it answers no READ. */
static void meet_without_reads(void)
{
	struct ibv_qp_attr attr;

	for (int side = 0; side < 2; side++)
		qp_to(&pair, side, IBV_QPS_RESET);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		int mask = qp_attr_for(&pair, B, (enum ibv_qp_state)state, &attr);

		qp_to(&pair, A, (enum ibv_qp_state)state);
		attr.max_dest_rd_atomic = 0;
		cr_assert_eq(ibv_modify_qp(pair.qp[B], &attr, mask), 0);
	}
}

static void answered_by_none(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, opcode, 0, 8, &sge);

	meet_without_reads();
	fails(&wr, IBV_WC_REM_INV_REQ_ERR, true);
	cr_assert_not_null(strstr(ibv_wc_status_str(IBV_WC_REM_INV_REQ_ERR), "max_dest_rd_atomic"), "%s",
			   ibv_wc_status_str(IBV_WC_REM_INV_REQ_ERR));
	event(IBV_EVENT_QP_ACCESS_ERR);
}

Test(qp, read_that_is_answered_by_none)
{
	answered_by_none(IBV_WR_RDMA_READ);
}

Test(qp, atomic_that_is_answered_by_none)
{
	answered_by_none(IBV_WR_ATOMIC_CMP_AND_SWP);
}

Test(qp, wrong_lkey)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, &sge);

	sge.lkey ^= 1;
	fails(&wr, IBV_WC_LOC_PROT_ERR, false);
}

Test(qp, receive_too_short)
{
	qp_receive(&pair, B, 8, 70);
	qp_receive(&pair, B, 8, 71);
	qp_post(&pair, A, IBV_WR_SEND, 0, 9, 1);
	qp_done(&pair, A, 1, IBV_WC_REM_INV_REQ_ERR);
	qp_done(&pair, B, 70, IBV_WC_LOC_LEN_ERR);
	cr_assert_eq(pair.qp[B]->state, IBV_QPS_ERR, "before the program sees it");
	flushed(B, 71);
}

Test(qp, receive_with_a_wrong_lkey)
{
	struct ibv_sge sge = { (uintptr_t)pair.memory[B], 64, pair.mr[B]->lkey ^ 1 };
	struct ibv_recv_wr wr = { .wr_id = 70, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_recv(pair.qp[B], &wr, &bad), 0);
	qp_post(&pair, A, IBV_WR_SEND, 0, 64, 1);
	qp_done(&pair, A, 1, IBV_WC_REM_OP_ERR);
	qp_done(&pair, B, 70, IBV_WC_LOC_PROT_ERR);
}

/* A message that ends before is received. */
Test(qp, receive_past_the_end)
{
	struct ibv_sge sge = { (uintptr_t)pair.memory[B] + QP_SPAN - 64, 128, pair.mr[B]->lkey };
	struct ibv_recv_wr wr = { .wr_id = 70, .sg_list = &sge, .num_sge = 1 }, *bad;

	for (; wr.wr_id < 73; wr.wr_id++)
		cr_assert_eq(ibv_post_recv(pair.qp[B], &wr, &bad), 0);
	pair.memory[A][63] = 7;
	qp_post(&pair, A, IBV_WR_SEND, 0, 64, 1);
	qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[B][QP_SPAN - 1], 7);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_post(&pair, A, IBV_WR_SEND, 0, 65, 2);
	qp_done(&pair, A, 2, IBV_WC_REM_OP_ERR);
	qp_done(&pair, B, 71, IBV_WC_LOC_PROT_ERR);
	flushed(B, 72);
}

/* A posted receive stays where it is: the message that takes it finds no buffer. */
Test(qp, receive_of_a_changed_region)
{
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION;

	qp_receive(&pair, B, 64, 70);
	cr_assert_eq(ibv_rereg_mr(pair.mr[B], translation, NULL, pair.memory[B] + 4096, QP_SPAN - 4096, 0), 0);
	qp_post(&pair, A, IBV_WR_SEND, 0, 64, 1);
	qp_done(&pair, A, 1, IBV_WC_REM_OP_ERR);
	qp_done(&pair, B, 70, IBV_WC_LOC_PROT_ERR);
}

Test(qp, receive_of_a_closed_region)
{
	struct ibv_mr *other = ibv_reg_mr(pair.verbs.pd, pair.memory[B], 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)pair.memory[B], 64, other->lkey };
	struct ibv_recv_wr wr = { .wr_id = 70, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_recv(pair.qp[B], &wr, &bad), 0);
	wr.wr_id = 71;
	cr_assert_eq(ibv_post_recv(pair.qp[B], &wr, &bad), 0);
	cr_assert_eq(ibv_dereg_mr(other), 0);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 2);
	qp_done(&pair, A, 2, IBV_WC_REM_OP_ERR);
	qp_done(&pair, B, 71, IBV_WC_LOC_PROT_ERR);
}

Test(qp_alone, no_receive)
{
	qp_pair_open(&pair);
	pair.rnr_retry = 2;
	qp_pair_meet(&pair);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	cr_assert_eq(pair.qp[B]->state, IBV_QPS_RTS); /* it has refused nothing */
	qp_pair_close(&pair);
}

Test(qp, right_of_the_queue_pair)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };

	cr_assert_eq(ibv_modify_qp(pair.qp[B], &attr, IBV_QP_ACCESS_FLAGS), 0);
	qp_post(&pair, A, IBV_WR_RDMA_READ, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 2);
	qp_done(&pair, A, 2, IBV_WC_REM_ACCESS_ERR);
}

/* WIRE-144: a request of no bytes names no memory, so neither key is looked at. */
Test(qp, no_bytes_and_wrong_keys)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM };

	for (uint64_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		struct ibv_send_wr wr = { .wr_id = i, .opcode = opcodes[i] };

		wr.wr.rdma.rkey = 0xdead;
		qp_receive(&pair, B, 8, 70);
		cr_assert_eq(post(A, &wr), 0);
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
	}
	cr_assert_eq(qp_done(&pair, B, 70, IBV_WC_SUCCESS).byte_len, 0);
}

/* --- states --- */

Test(qp, to_err_by_the_program)
{
	qp_receive(&pair, A, 8, 80);
	qp_to(&pair, A, IBV_QPS_ERR);
	flushed(A, 80);
	qp_receive(&pair, A, 8, 81);
	flushed(A, 81);
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 0, 8, 1); /* nobody answers */
	qp_done(&pair, B, 1, IBV_WC_RETRY_EXC_ERR);
}

/* What was posted, and what completed, is gone; both connect again. */
Test(qp, reset)
{
	for (int round = 0; round < 3; round++) {
		qp_receive(&pair, B, 8, 80);
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1);
		qp_to(&pair, A, IBV_QPS_RESET);
		qp_to(&pair, B, IBV_QPS_RESET);
		qp_pair_meet(&pair);
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 2);
		qp_done(&pair, A, 2, IBV_WC_SUCCESS);
	}
}

Test(qp_alone, posts_in_each_state)
{
	struct ibv_sge sge;
	struct ibv_recv_wr receive = { .wr_id = 1 }, *bad;
	struct ibv_send_wr wr;

	qp_pair_open(&pair);
	wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, &sge);
	cr_assert_eq(post(A, &wr), EINVAL);
	cr_assert_eq(ibv_post_recv(pair.qp[A], &receive, &bad), EINVAL);
	cr_assert_eq(bad, &receive);
	qp_to(&pair, A, IBV_QPS_INIT);
	cr_assert_eq(post(A, &wr), EINVAL);
	cr_assert_eq(ibv_post_recv(pair.qp[A], &receive, &bad), 0);
	qp_to(&pair, B, IBV_QPS_INIT);
	qp_to(&pair, A, IBV_QPS_RTR);
	cr_assert_eq(post(A, &wr), EINVAL);
	qp_pair_close(&pair);
}

Test(qp, queried)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cr_assert_eq(ibv_query_qp(pair.qp[A], &attr, IBV_QP_STATE, &init), 0);
	cr_assert(attr.qp_state == IBV_QPS_RTS && attr.dest_qp_num == pair.qp[B]->qp_num && attr.sq_psn == QP_PSN);
	cr_assert(attr.timeout == 14 && attr.path_mtu == IBV_MTU_1024 && attr.cap.max_send_wr == QP_WR);
	cr_assert(init.send_cq == pair.cq[A] && init.sq_sig_all && init.qp_type == IBV_QPT_RC);
}

/* Of 24 bits, as the packets that carry them. */
Test(qp, packet_sequence_numbers)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int mask;

	qp_to(&pair, A, IBV_QPS_RESET);
	qp_to(&pair, A, IBV_QPS_INIT);
	mask = qp_attr_for(&pair, A, IBV_QPS_RTR, &attr);
	attr.rq_psn |= 0xab000000;
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, mask), 0);
	cr_assert_eq(ibv_query_qp(pair.qp[A], &attr, IBV_QP_RQ_PSN, &init), 0);
	cr_assert_eq(attr.rq_psn, QP_PSN);
}

/* Objects that a queue pair uses are destroyed after it. */
Test(qp, order_of_destroying)
{
	cr_assert_eq(ibv_destroy_cq(pair.cq[A]), EBUSY);
	cr_assert_eq(ibv_dealloc_pd(pair.verbs.pd), EBUSY);
}

/* A queue pair whose memory was overwritten is told from one that is open. */
Test(qp, handle_of_none)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;

	pair.qp[A]->handle ^= 0x5a5a;
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE), ENOENT);
	cr_assert_eq(ibv_query_qp(pair.qp[A], &attr, IBV_QP_STATE, &init), ENOENT);
	cr_assert_eq(ibv_destroy_qp(pair.qp[A]), ENOENT);
	pair.qp[A]->handle ^= 0x5a5a;
}

Test(qp_alone, bad_attributes)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };

	qp_pair_open(&pair);
	cr_assert_null(ibv_create_qp(pair.verbs.pd, &init));
	cr_assert_eq(errno, EINVAL);
	init.send_cq = init.recv_cq = pair.cq[A];
	init.cap.max_send_sge = 100;
	cr_assert_null(ibv_create_qp(pair.verbs.pd, &init));
	cr_assert_eq(errno, EINVAL);
	init.cap.max_send_sge = 1;
	pair.verbs.pd->handle ^= 0x5a5a;
	cr_assert_null(ibv_create_qp(pair.verbs.pd, &init));
	cr_assert_eq(errno, ENOENT);
	pair.verbs.pd->handle ^= 0x5a5a;
	init.qp_type = IBV_QPT_RAW_PACKET;
	cr_assert_null(ibv_create_qp(pair.verbs.pd, &init));
	cr_assert_eq(errno, EOPNOTSUPP);
	qp_pair_close(&pair);
}

/* An address that no host has, from one that reaches none. The program sees it when the retries run out. */
Test(qp_alone, no_route)
{
	struct ibv_qp_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int mask, loopback = -1;

	qp_pair_open(&pair);
	said_begin();
	cr_assert_eq(ibv_query_port(pair.verbs.context, 1, &port), 0);
	for (int i = 0; i < port.gid_tbl_len; i++)
		if (!ibv_query_gid(pair.verbs.context, 1, i, &gid) && gid.raw[10] == 0xff && gid.raw[12] == 127)
			loopback = i;
	if (loopback < 0)
		cr_skip_test("FI_EMU_IFACE leaves no GID of the loopback interface");
	qp_to(&pair, A, IBV_QPS_INIT);
	mask = qp_attr_for(&pair, A, IBV_QPS_RTR, &attr);
	attr.ah_attr.grh.sgid_index = (uint8_t)loopback;
	attr.ah_attr.grh.dgid = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 51, [14] = 100, [15] = 7 } };
	errno = 0;
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, mask), 0);
	cr_assert_eq(errno, 0);
	cr_assert(said_has("ah_attr.grh.dgid has no route from here: 198.51.100.7 is not reached ("));
	cr_assert(said_has(") from 127.0.0.1, the address of sgid_index"));
	mask = qp_attr_for(&pair, A, IBV_QPS_RTS, &attr);
	attr.timeout = 8;
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, mask), 0);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_RETRY_EXC_ERR);
	qp_pair_close(&pair);
}

/* Each waits for the other. */
Test(qp_alone, both_in_rtr)
{
	qp_pair_open(&pair);
	said_begin();
	for (int side = 0; side < 2; side++) {
		qp_to(&pair, side, IBV_QPS_INIT);
		qp_receive(&pair, side, 8, 1);
		qp_to(&pair, side, IBV_QPS_RTR);
	}
	while (!said_has("are both in RTR: they receive, and neither sends. Move the side that sends first to RTS")) {
		cr_assert_eq(ibv_poll_cq(pair.cq[A], 1, &(struct ibv_wc){ 0 }), 0);
		usleep(1000); /* the device waits ten seconds, in which other tests need the processor */
	}
	for (int side = 0; side < 2; side++)
		qp_to(&pair, side, IBV_QPS_RTS);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 2);
	qp_done(&pair, A, 2, IBV_WC_SUCCESS);
	qp_done(&pair, B, 1, IBV_WC_SUCCESS);
	qp_pair_close(&pair);
}
