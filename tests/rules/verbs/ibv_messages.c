/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_messages.c - immediate data, lengths, and the buffers of both sides: V96 to V106. */
#include "tests/rules/verbs/vworld.h"

#include <arpa/inet.h>

#define WRITE IBV_WR_RDMA_WRITE

static void with_immediate(struct vworld *w, enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, length, &sge);

	wr.imm_data = htonl(0x01020304);
	if (!length)
		wr.num_sge = 0;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
}

VPAIR(V96_immediate_data_arrives_as_it_was)
{
	struct ibv_wc wc;

	v_receive(w, 1, 0, 64, 1);
	v_receive(w, 1, 0, 64, 2);
	with_immediate(w, IBV_WR_SEND_WITH_IMM, 8);
	with_immediate(w, IBV_WR_SEND, 8);
	wc = v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	CHECK(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htonl(0x01020304), "flags 0x%x, imm_data 0x%x", wc.wc_flags,
	      wc.imm_data);
	wc = v_done(w->side[1].recv_cq, 2, IBV_WC_SUCCESS);
	CHECK(!(wc.wc_flags & IBV_WC_WITH_IMM), "flags 0x%x without immediate data", wc.wc_flags);
}

VPAIR(V97_a_write_with_immediate_data_takes_a_receive)
{
	struct ibv_wc wc;

	v_receive(w, 1, 4096, 64, 1);
	with_immediate(w, IBV_WR_RDMA_WRITE_WITH_IMM, 128);
	wc = v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wc_flags & IBV_WC_WITH_IMM, "opcode %d, flags 0x%x", (int)wc.opcode,
	      wc.wc_flags);
	CHECK(wc.imm_data == htonl(0x01020304) && wc.byte_len == 128, "imm_data 0x%x, byte_len %u", wc.imm_data, wc.byte_len);
	CHECK(v_is(w->side[1].bytes, 0x10, 128), "the bytes have not arrived");
	CHECK(v_is(w->side[1].bytes + 4096, 0x11, 64), "the buffer of the receive has changed");
}

VPAIR(V97_and_waits_for_one)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 64, &sge);

	v_send(w->side[0].qp, &wr);
	v_does(w, 1, WRITE, 4096, 64, IBV_WC_SUCCESS);
	v_none(w->side[0].send_cq, "without a receive");
	v_receive(w, 1, 4096, 0, 1);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
}

VPAIR(V98_other_remote_operations_take_none)
{
	v_receive(w, 1, 4096, 64, 1);
	v_does(w, 0, WRITE, 0, 64, IBV_WC_SUCCESS);
	v_does(w, 0, IBV_WR_RDMA_READ, 0, 64, IBV_WC_SUCCESS);
	v_does(w, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, IBV_WC_SUCCESS);
	v_none(w->side[1].recv_cq, "without a message");
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
}

VPAIR(V99_messages_may_have_no_bytes)
{
	struct ibv_wc wc;

	v_receive(w, 1, 0, 64, 1);
	with_immediate(w, IBV_WR_SEND_WITH_IMM, 0);
	wc = v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	CHECK(!wc.byte_len && wc.wc_flags & IBV_WC_WITH_IMM, "byte_len %u, flags 0x%x", wc.byte_len, wc.wc_flags);
	v_receive(w, 1, 0, 64, 2);
	with_immediate(w, IBV_WR_RDMA_WRITE_WITH_IMM, 0);
	wc = v_done(w->side[1].recv_cq, 2, IBV_WC_SUCCESS);
	CHECK(!wc.byte_len && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM, "byte_len %u, opcode %d", wc.byte_len, (int)wc.opcode);
	with_immediate(w, WRITE, 0);
	with_immediate(w, IBV_WR_RDMA_READ, 0);
	CHECK(v_is(w->side[1].bytes, 0x11, 4096) && v_is(w->side[0].bytes, 0x10, 4096), "bytes have changed");
}

static void no_event(struct vworld *w)
{
	v_no_event(w, IBV_EVENT_QP_FATAL);
	v_no_event(w, IBV_EVENT_QP_REQ_ERR);
	v_no_event(w, IBV_EVENT_QP_ACCESS_ERR);
}

VPAIR(V100_a_message_longer_than_its_receive_fails_at_both_ends)
{
	v_receive(w, 1, 0, 64, 1);
	v_receive(w, 1, 0, 64, 2);
	v_does(w, 0, IBV_WR_SEND, 0, 65, IBV_WC_REM_INV_REQ_ERR);
	v_done(w->side[1].recv_cq, 1, IBV_WC_LOC_LEN_ERR);
	v_done(w->side[1].recv_cq, 2, IBV_WC_WR_FLUSH_ERR);
	CHECK(v_is(w->side[1].bytes + 64, 0x11, 4096), "bytes behind the receive were written");
	CHECK(v_state(w->side[0].qp) == IBV_QPS_ERR && v_state(w->side[1].qp) == IBV_QPS_ERR, "a queue pair goes on");
}

VPAIR(V101_a_message_may_be_shorter)
{
	v_receive(w, 1, 0, 4096, 1);
	v_does(w, 0, IBV_WR_SEND, 0, 5, IBV_WC_SUCCESS);
	CHECK(v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS).byte_len == 5, "byte_len is not 5");
	CHECK(v_is(w->side[1].bytes, 0x10, 5) && v_is(w->side[1].bytes + 5, 0x11, 4091), "not 5 bytes were written");
}

static void pattern(unsigned char *bytes)
{
	for (size_t i = 0; i < V_SPAN; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
}

VPAIR(V102_a_message_of_many_packets_arrives_whole)
{
	static const uint32_t lengths[] = { 1, 1023, 1024, 1025, 4096, 65537, V_SPAN };

	pattern(w->side[0].bytes);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		check_label("%u bytes", lengths[i]);
		memset(w->side[1].bytes, 0, V_SPAN);
		v_receive(w, 1, 0, V_SPAN, 1);
		v_does(w, 0, IBV_WR_SEND, 0, lengths[i], IBV_WC_SUCCESS);
		CHECK(v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS).byte_len == lengths[i], "another length has arrived");
		CHECK(!memcmp(w->side[0].bytes, w->side[1].bytes, lengths[i]), "other bytes have arrived");
		memset(w->side[1].bytes, 0, V_SPAN);
		v_does(w, 0, WRITE, 0, lengths[i], IBV_WC_SUCCESS);
		CHECK(!memcmp(w->side[0].bytes, w->side[1].bytes, lengths[i]), "other bytes were written");
	}
}

VPAIR(V136_a_receive_that_is_too_short_is_no_event)
{
	v_receive(w, 1, 0, 64, 1);
	v_does(w, 0, IBV_WR_SEND, 0, 65, IBV_WC_REM_INV_REQ_ERR);
	v_done(w->side[1].recv_cq, 1, IBV_WC_LOC_LEN_ERR);
	CHECK(v_state(w->side[1].qp) == IBV_QPS_ERR, "the queue pair goes on");
	no_event(w);
}

VPAIR(V136_a_receive_without_a_region_is_no_event)
{
	struct ibv_sge sge = { (uintptr_t)w->side[1].bytes, 64, w->side[1].mr->lkey ^ 0x5a5a5a00 };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	V_RC(0, ibv_post_recv(w->side[1].qp, &wr, &bad));
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_REM_OP_ERR);
	v_done(w->side[1].recv_cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK(v_state(w->side[1].qp) == IBV_QPS_ERR, "the queue pair goes on");
	no_event(w);
}

VPAIR(V103_a_receive_whose_region_has_ended_fails_at_both_ends)
{
	v_receive(w, 1, 0, 64, 1);
	V_RC(0, ibv_dereg_mr(w->side[1].mr));
	w->side[1].mr = NULL;
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_REM_OP_ERR);
	v_done(w->side[1].recv_cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes have arrived");
}

/* A region of 4 KiB of a side's memory that nobody may write to. */
static struct ibv_mr *read_only(struct vworld *w, int side)
{
	return v_region(w->side[side].pd, w->side[side].bytes, 4096, IBV_ACCESS_REMOTE_READ);
}

VPAIR(V104_a_receive_needs_the_local_right)
{
	struct ibv_mr *mr = read_only(w, 1);
	struct ibv_sge sge = { (uintptr_t)w->side[1].bytes, 64, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	V_RC(0, ibv_post_recv(w->side[1].qp, &wr, &bad));
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_REM_OP_ERR);
	v_done(w->side[1].recv_cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes have arrived");
	V_RC(0, ibv_dereg_mr(mr));
}

static void needs_right(struct vworld *w, enum ibv_wr_opcode opcode)
{
	struct ibv_mr *mr = read_only(w, 0);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, 8, &sge);

	sge.lkey = mr->lkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_LOC_PROT_ERR);
	CHECK(v_is(w->side[0].bytes, 0x10, 64), "bytes have arrived");
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V105_the_result_of_a_read_needs_the_local_right)
{
	needs_right(w, IBV_WR_RDMA_READ);
}
VPAIR(V105_so_does_that_of_an_atomic)
{
	needs_right(w, IBV_WR_ATOMIC_FETCH_AND_ADD);
}

static void leaves_region(struct vworld *w, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length)
{
	struct ibv_mr *mr = v_region(w->side[0].pd, w->side[0].bytes + 4096, 4096, V_ALL);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, length, &sge);

	sge.addr += at;
	sge.lkey = mr->lkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_LOC_PROT_ERR);
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V106_a_local_buffer_lies_in_its_region)
{
	leaves_region(w, WRITE, 4096, 4097);
}
VPAIR(V106_and_does_not_begin_before_it)
{
	leaves_region(w, IBV_WR_SEND, 4095, 8);
}
VPAIR(V106_so_for_reads)
{
	leaves_region(w, IBV_WR_RDMA_READ, 8192, 8);
}

/* A buffer of no bytes and a key that names none: alone, then before one of 32 bytes. */
static void with_an_empty_buffer(struct vworld *w, enum ibv_wr_opcode opcode, const unsigned char *to, unsigned char was)
{
	struct ibv_sge list[2] = { { .lkey = 0x5a5a5a } }, usual;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, 32, &usual);

	wr.sg_list = list;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	list[1] = usual;
	wr.num_sge = 2;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	CHECK(v_is(to, was, 32) && v_is(to + 32, (unsigned char)(was ^ 1), 32), "not the 32 bytes of the other buffer");
}

VPAIR(V221_an_empty_buffer_of_a_write_needs_no_key)
{
	with_an_empty_buffer(w, WRITE, w->side[1].bytes, 0x10);
}
VPAIR(V221_nor_one_of_a_read)
{
	with_an_empty_buffer(w, IBV_WR_RDMA_READ, w->side[0].bytes, 0x11);
}
VPAIR(V221_nor_one_of_a_message)
{
	v_receive(w, 1, 0, 0, 0);
	v_receive(w, 1, 0, 64, 0);
	with_an_empty_buffer(w, IBV_WR_SEND, w->side[1].bytes, 0x10);
}
VPAIR(V221_nor_one_of_a_receive)
{
	struct ibv_sge list[2] = { { .lkey = 0x5a5a5a }, { (uintptr_t)w->side[1].bytes, 64, w->side[1].mr->lkey } };
	struct ibv_recv_wr wr = { .sg_list = list, .num_sge = 1 }, *bad;

	V_RC(0, ibv_post_recv(w->side[1].qp, &wr, &bad));
	v_does(w, 0, IBV_WR_SEND, 0, 0, IBV_WC_SUCCESS);
	wr.num_sge = 2;
	V_RC(0, ibv_post_recv(w->side[1].qp, &wr, &bad));
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, 0x10, 64), "the bytes have not arrived");
	for (int i = 0; i < 2; i++)
		v_done(w->side[1].recv_cq, 0, IBV_WC_SUCCESS);
}
