/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_order.c - order within a queue pair, and what an error ends: V83 to V95. */
#include "tests/rules/verbs/vworld.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ

VPAIR(V83_requests_complete_in_the_order_of_their_posts)
{
	static const enum ibv_wr_opcode kinds[] = { READ, WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD, WRITE };

	for (uint64_t i = 0; i < V_WR; i++) {
		enum ibv_wr_opcode kind = kinds[i % 4];

		v_post(w, 0, kind, V_SPAN / 2, kind == READ ? V_SPAN / 2 : 8, i);
	}
	for (uint64_t i = 0; i < V_WR; i++)
		v_done(w->side[0].send_cq, i, IBV_WC_SUCCESS);
}

VPAIR(V84_messages_take_receives_in_their_order)
{
	for (uint64_t i = 0; i < V_WR; i++)
		v_receive(w, 1, 4096 * i, 4096, i);
	for (uint64_t i = 0; i < V_WR; i++) {
		memset(w->side[0].bytes, (int)i, 4096);
		v_does(w, 0, IBV_WR_SEND, 0, 64 + (uint32_t)i, IBV_WC_SUCCESS);
	}
	for (uint64_t i = 0; i < V_WR; i++) {
		CHECK(v_done(w->side[1].recv_cq, i, IBV_WC_SUCCESS).byte_len == 64 + i, "a message of another length");
		CHECK(v_is(w->side[1].bytes + 4096 * i, (unsigned char)i, 64), "another message is in receive %llu",
		      (unsigned long long)i);
	}
}

VPAIR(V85_a_message_arrives_after_the_writes_before_it)
{
	struct ibv_sge sges[2];
	struct ibv_send_wr large = v_request(w, 0, WRITE, 0, V_SPAN / 2, &sges[0]);
	struct ibv_send_wr small = v_request(w, 0, IBV_WR_SEND, 0, 8, &sges[1]);

	for (int round = 1; round <= 8; round++) {
		memset(w->side[0].bytes, 0x80 + round, V_SPAN / 2);
		v_receive(w, 1, V_SPAN - 64, 64, 1);
		large.next = &small;
		v_send(w->side[0].qp, &large);
		v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
		CHECK(v_is(w->side[1].bytes, (unsigned char)(0x80 + round), V_SPAN / 2), "bytes of the write are missing");
		v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
		v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	}
}

VPAIR(V86_a_read_sees_the_writes_before_it)
{
	struct ibv_sge sges[2];
	struct ibv_send_wr first = v_request(w, 0, WRITE, 0, V_SPAN / 4, &sges[0]);
	struct ibv_send_wr second = v_request(w, 0, READ, 0, V_SPAN / 4, &sges[1]);

	for (int round = 1; round <= 8; round++) {
		memset(w->side[0].bytes, 0x80 + round, V_SPAN / 4);
		sges[1].addr = (uintptr_t)w->side[0].bytes + V_SPAN / 2;
		first.next = &second;
		v_send(w->side[0].qp, &first);
		v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
		v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
		CHECK(v_is(w->side[0].bytes + V_SPAN / 2, (unsigned char)(0x80 + round), V_SPAN / 4), "old bytes were read");
	}
}

/* Writes 0, 1, bad, 3, 4, 5 of a list. */
static void post_bad_third(struct vworld *w)
{
	struct ibv_sge sges[6];
	struct ibv_send_wr wr[6];

	for (unsigned i = 0; i < 6; i++) {
		wr[i] = v_request(w, 0, WRITE, 64u * i, 8, &sges[i]);
		wr[i].wr_id = i;
		wr[i].next = i < 5 ? &wr[i + 1] : NULL;
	}
	wr[2].wr.rdma.rkey ^= 0x5a5a5a00;
	v_send(w->side[0].qp, wr);
}

VPAIR(V87_an_error_flushes_all_behind_it)
{
	post_bad_third(w);
	for (uint64_t i = 0; i < 6; i++)
		v_done(w->side[0].send_cq, i, i < 2 ? IBV_WC_SUCCESS : i == 2 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
	CHECK(v_is(w->side[1].bytes, 0x10, 8) && v_is(w->side[1].bytes + 64, 0x10, 8), "a request before it was not carried out");
	CHECK(v_is(w->side[1].bytes + 128, 0x11, 4096), "the request or one behind it was carried out");
}

VPAIR(V88_an_error_of_a_request_ends_its_queue_pair)
{
	for (uint64_t i = 0; i < 4; i++)
		v_receive(w, 0, 0, 64, i);
	post_bad_third(w);
	for (uint64_t i = 0; i < 4; i++)
		v_done(w->side[0].recv_cq, i, IBV_WC_WR_FLUSH_ERR);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_ERR, "it is in state %d", (int)v_state(w->side[0].qp));
}

VPAIR(V89_a_request_that_is_refused_ends_its_target)
{
	for (uint64_t i = 0; i < 4; i++)
		v_receive(w, 1, 0, 64, i);
	post_bad_third(w);
	for (uint64_t i = 0; i < 4; i++)
		v_done(w->side[1].recv_cq, i, IBV_WC_WR_FLUSH_ERR);
	CHECK(v_state(w->side[1].qp) == IBV_QPS_ERR, "it is in state %d", (int)v_state(w->side[1].qp));
}

VPAIR(V90_a_message_waits_for_its_receive)
{
	v_post(w, 0, IBV_WR_SEND, 0, 64, 1);
	v_post(w, 0, WRITE, 4096, 64, 2);
	v_does(w, 1, WRITE, 4096, 64, IBV_WC_SUCCESS); /* meanwhile the other way goes on */
	v_none(w->side[0].send_cq, "without a receive");
	CHECK(v_is(w->side[1].bytes + 4096, 0x11, 64), "the write behind it has passed it");
	v_receive(w, 1, 0, 64, 3);
	v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
	v_done(w->side[0].send_cq, 2, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 3, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, 0x10, 64), "the bytes have not arrived");
}

VPAIR(V91_retries_of_a_message_without_receive_run_out, .rnr_few = true)
{
	v_post(w, 0, IBV_WR_SEND, 0, 64, 1);
	v_post(w, 0, WRITE, 0, 64, 2);
	v_done(w->side[0].send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	v_done(w->side[0].send_cq, 2, IBV_WC_WR_FLUSH_ERR);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_ERR, "the sender is in state %d", (int)v_state(w->side[0].qp));
	CHECK(v_state(w->side[1].qp) == IBV_QPS_RTS, "the receiver is in state %d", (int)v_state(w->side[1].qp));
}

VRESET(V92_retries_to_nobody_run_out, .retry_few = true)
{
	struct ibv_qp_attr attr;
	int mask;

	v_to(w, 0, IBV_QPS_INIT);
	mask = v_attr(w, 0, IBV_QPS_RTR, &attr);
	V_RC(0, ibv_destroy_qp(w->side[1].qp));
	w->side[1].qp = NULL;
	V_RC(0, ibv_modify_qp(w->side[0].qp, &attr, mask));
	v_to(w, 0, IBV_QPS_RTS);
	v_post(w, 0, WRITE, 0, 64, 1);
	v_post(w, 0, WRITE, 0, 64, 2);
	v_done(w->side[0].send_cq, 1, IBV_WC_RETRY_EXC_ERR);
	v_done(w->side[0].send_cq, 2, IBV_WC_WR_FLUSH_ERR);
}

VPAIR(V93_a_local_error_sends_nothing)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND, 0, 64, &sge);

	v_receive(w, 1, 0, 64, 1);
	sge.lkey ^= 0x5a5a5a00;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_LOC_PROT_ERR);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_ERR, "the sender is in state %d", (int)v_state(w->side[0].qp));
	CHECK(v_state(w->side[1].qp) == IBV_QPS_RTS, "the receiver is in state %d", (int)v_state(w->side[1].qp));
	v_none(w->side[1].recv_cq, "the receiver");
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes have arrived");
}

VPAIR(V94_more_reads_than_fit_wait_their_turn)
{
	for (uint64_t i = 0; i < V_WR; i++)
		v_post(w, 0, READ, 0, 4096, i);
	for (uint64_t i = 0; i < V_WR; i++)
		v_done(w->side[0].send_cq, i, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[0].bytes, 0x11, 4096), "the bytes of a read have not arrived");
}

VPAIR(V95_a_target_of_no_reads_answers_none, .reads_none = true)
{
	struct ibv_wc wc;

	v_does(w, 0, WRITE, 4096, 64, IBV_WC_SUCCESS);
	v_post(w, 0, READ, 0, 64, 1);
	wc = v_next(w->side[0].send_cq);
	CHECK(wc.status == IBV_WC_REM_INV_REQ_ERR, "status %d (%s)", (int)wc.status, ibv_wc_status_str(wc.status));
	CHECK(v_is(w->side[0].bytes, 0x10, 64), "bytes have arrived");
}

VPAIR(V95_a_target_of_no_reads_answers_no_atomic, .reads_none = true)
{
	struct ibv_wc wc;

	v_post(w, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 1);
	wc = v_next(w->side[0].send_cq);
	CHECK(wc.status == IBV_WC_REM_INV_REQ_ERR, "status %d (%s)", (int)wc.status, ibv_wc_status_str(wc.status));
	CHECK(v_is(w->side[1].bytes, 0x11, 8), "the atomic was executed");
}

/* Both queue pairs in RTS; side 0 is to begin no READ. */
static void meet_without_reads(struct vworld *w)
{
	struct ibv_qp_attr attr;
	int mask;

	for (int side = 0; side < 2; side++) {
		v_to(w, side, IBV_QPS_INIT);
		v_to(w, side, IBV_QPS_RTR);
	}
	v_to(w, 1, IBV_QPS_RTS);
	mask = v_attr(w, 0, IBV_QPS_RTS, &attr);
	attr.max_rd_atomic = 0;
	V_RC(0, ibv_modify_qp(w->side[0].qp, &attr, mask));
}

static void begins_none(struct vworld *w, enum ibv_wr_opcode opcode)
{
	meet_without_reads(w);
	v_does(w, 0, WRITE, 4096, 8, IBV_WC_SUCCESS);
	v_does(w, 1, IBV_WR_RDMA_READ, 4096, 8, IBV_WC_SUCCESS); /* it answers them */
	v_does(w, 0, opcode, 0, 8, IBV_WC_LOC_QP_OP_ERR);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_ERR, "it is in state %d", (int)v_state(w->side[0].qp));
	CHECK(v_state(w->side[1].qp) == IBV_QPS_RTS, "its peer is in state %d", (int)v_state(w->side[1].qp));
	v_post(w, 0, opcode, 0, 8, 1);
	v_done(w->side[0].send_cq, 1, IBV_WC_WR_FLUSH_ERR);
}

VRESET(V220_a_queue_pair_of_no_reads_sends_none)
{
	begins_none(w, IBV_WR_RDMA_READ);
}
VRESET(V220_nor_an_addition)
{
	begins_none(w, IBV_WR_ATOMIC_FETCH_AND_ADD);
}
VRESET(V220_nor_a_swap)
{
	begins_none(w, IBV_WR_ATOMIC_CMP_AND_SWP);
}
