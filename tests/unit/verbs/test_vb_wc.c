/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vb_wc.c - causes as statuses, statuses in words. */
#include <criterion/criterion.h>
#include <endian.h>
#include <pthread.h>

#include "emu/nic/regions/refusal_name.h"
#include "emu/verbs/queues/vb_wc.h"
#include "emu/verbs/start/vb_front_end.h"
#include "tests/unit/verbs/pushed.h"

static const struct row {
	enum refusal_cause cause;
	enum ibv_wc_status request, receive, local;
} rows[] = {
	{ REFUSAL_UNKNOWN_KEY, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_CLOSED, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_RIGHT, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_RANGE, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_WRAP, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_CAPABILITY, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_ATOMIC, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_TRUNCATED, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR },
	{ REFUSAL_RECEIVE_BUFFER, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_RESOURCE, IBV_WC_REM_OP_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_SOURCE_FAULT, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_LOCAL_CLOSED, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	{ REFUSAL_PEER_GONE, IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_UNREACHABLE, IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_MESSAGE_LONG, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR },
	{ REFUSAL_MISALIGNED, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_NO_READS, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_NO_SRX, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_PSN, IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_NOT_READY, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_QP_OP_ERR },
	{ REFUSAL_CANCELLED, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR },
	{ 50 /* of a newer peer */, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR },
	{ REFUSAL_WIRE_MAX /* as well */, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR },
	{ REFUSAL_CAUSES, IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR },
	{ REFUSAL_NONE, IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR },
};

Test(vb_wc, statuses)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cr_assert_eq(vb_wc_status(rows[i].cause, false, false), rows[i].request, "cause %d", (int)rows[i].cause);
		cr_assert_eq(vb_wc_status(rows[i].cause, true, false), rows[i].receive, "cause %d", (int)rows[i].cause);
		cr_assert_eq(vb_wc_status(rows[i].cause, false, true), rows[i].local, "cause %d", (int)rows[i].cause);
	}
}

static bool is_other(int cause)
{
	return cause == REFUSAL_NO_SESSION || cause == REFUSAL_NO_MESSAGE || cause == REFUSAL_STRANGER || cause == REFUSAL_GROUP ||
	       cause == REFUSAL_DISAGREE || cause == REFUSAL_NO_RECEIVE || cause == REFUSAL_LOST || cause == REFUSAL_TOO_LONG;
}

/* No cause that the device has is without a status of its own, but for those that a queue pair does not meet, or that no completion
 * tells, as what they are of is lost. */
Test(vb_wc, every_cause_has_a_status)
{
	for (int cause = 1; cause < REFUSAL_CAUSES; cause++)
		if (refusal_name((enum refusal_cause)cause) && !is_other(cause))
			cr_assert_neq(vb_wc_status((enum refusal_cause)cause, false, false), IBV_WC_GENERAL_ERR, "cause %d", cause);
}

Test(vb_wc, every_cause_fails)
{
	for (int cause = 0; cause <= REFUSAL_CAUSES; cause++)
		for (int side = 0; side < 4; side++)
			cr_assert_neq(vb_wc_status((enum refusal_cause)cause, side & 1, side & 2), IBV_WC_SUCCESS, "cause %d",
				      cause);
}

Test(vb_wc, words)
{
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR), "Work Request Flushed Error");
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded");
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE), "TM software rendezvous");
	cr_assert_str_eq(ibv_wc_status_str((enum ibv_wc_status)24), "unknown");
	cr_assert_str_eq(ibv_wc_status_str((enum ibv_wc_status) - 1), "unknown");
}

static void *words_elsewhere(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR);
}

/* The sentence is the polling thread's, stays while it polls what is good or flushed, and goes with its next error. */
Test(vb_wc, sentences)
{
	pthread_t thread;
	void *words;

	open_all(8);
	push_failed(posted(&sends, 1, IBV_WC_RDMA_WRITE), REFUSAL_RANGE, "1 B past the end (S65)");
	push_failed(posted(&sends, 2, IBV_WC_SEND), REFUSAL_CANCELLED, "flushed");
	polled();
	polled();
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR), "remote access error: 1 B past the end (S65)");
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR), "Work Request Flushed Error: flushed");
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_LOC_LEN_ERR), "local length error");
	cr_assert_eq(pthread_create(&thread, NULL, words_elsewhere, NULL), 0);
	cr_assert_eq(pthread_join(thread, &words), 0);
	cr_assert_str_eq(words, "remote access error");
	push_failed(posted(&receives, 3, IBV_WC_RECV), REFUSAL_TRUNCATED, "too long");
	polled();
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR), "remote access error");
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_LOC_LEN_ERR), "local length error: too long");
	close_all();
}

static void check_send(void)
{
	struct ibv_wc wc;

	push_good(posted(&sends, 7, IBV_WC_RDMA_READ), VB_CQ_IMM, 1);
	wc = polled();
	cr_assert(wc.wr_id == 7 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RDMA_READ && wc.byte_len == 100);
	cr_assert(wc.qp_num == 17 && !wc.wc_flags && !wc.vendor_err && !wc.imm_data);
}

static void check_receive(uint64_t flags, enum ibv_wc_opcode opcode, unsigned int wc_flags, uint32_t data)
{
	struct ibv_wc wc;

	push_good(posted(&receives, 8, IBV_WC_RECV), flags, 0x01020304);
	wc = polled();
	cr_assert(wc.wr_id == 8 && wc.opcode == opcode && wc.wc_flags == wc_flags && wc.byte_len == 64 && wc.qp_num == 17);
	cr_assert_eq(wc.imm_data, data);
}

Test(vb_wc, fields)
{
	struct ibv_wc wc;

	open_all(8);
	check_send();
	check_receive(0, IBV_WC_RECV, 0, 0);
	check_receive(VB_CQ_IMM, IBV_WC_RECV, IBV_WC_WITH_IMM, htobe32(0x01020304));
	check_receive(VB_CQ_WRITTEN, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, htobe32(0x01020304));
	check_receive(VB_CQ_INVALIDATED, IBV_WC_RECV, IBV_WC_WITH_INV, 0x01020304);
	push_failed(posted(&sends, 9, IBV_WC_FETCH_ADD), REFUSAL_ATOMIC, "no");
	wc = polled();
	cr_assert(wc.wr_id == 9 && wc.status == IBV_WC_REM_INV_REQ_ERR && wc.vendor_err == REFUSAL_ATOMIC && wc.qp_num == 17);
	cr_assert_eq(vb_queue_out(&sends), 0);
	cr_assert_eq(vb_queue_out(&receives), 0);
	close_all();
}

/* A receive of a shared queue tells at which QP it ended, good or not. */
Test(vb_wc, qp_of_a_shared_receive)
{
	struct vb_queue shared;

	open_all(8);
	cr_assert_eq(vb_queue_open(&shared, 2, 0, true), 0);
	push_good(posted(&shared, 1, IBV_WC_RECV), 0, 0);
	push_failed(posted(&shared, 2, IBV_WC_RECV), REFUSAL_TRUNCATED, "too long");
	cr_assert_eq(polled().qp_num, 17);
	cr_assert_eq(polled().qp_num, 17);
	cr_assert_eq(vb_queue_out(&shared), 0);
	vb_queue_close(&shared);
	close_all();
}
