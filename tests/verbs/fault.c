/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - FI_EMU_FAULT: what each fault of a plan is to queue pairs. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, OPS = 30, SCRATCH = 4096 };

static struct qp_pair pair;

static void begin(const char *text)
{
	fault_plan(text);
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
}

/* 8 bytes between `SCRATCH` of its own memory and the begin of the other's, which atomics alone change. */
static void post_kind(int side, enum ibv_wr_opcode opcode, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, side, opcode, 0, 8, &sge), *bad;

	sge.addr += SCRATCH;
	wr.wr_id = wr_id;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)pair.memory[!side];
		wr.wr.atomic.rkey = pair.mr[!side]->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	cr_assert_eq(ibv_post_send(pair.qp[side], &wr, &bad), 0);
}

static void receive(int side, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)pair.memory[side] + SCRATCH, 8, pair.mr[side]->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_recv(pair.qp[side], &wr, &bad), 0);
}

/* --- refuse --- */

struct refused {
	char cause[20];
	enum ibv_wr_opcode opcode;
	enum ibv_wc_status status;
};

ParameterizedTestParameters(verbs_fault, refuses)
{
	static struct refused all[] = {
		{ "unknown-key", IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR },
		{ "closed", IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR },
		{ "right", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_REM_ACCESS_ERR },
		{ "range", IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR },
		{ "invalidated", IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR },
		{ "misaligned", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_REM_INV_REQ_ERR },
		{ "no-reads", IBV_WR_RDMA_READ, IBV_WC_REM_INV_REQ_ERR },
		{ "no-srq", IBV_WR_SEND, IBV_WC_REM_INV_REQ_ERR },
		{ "message-long", IBV_WR_SEND, IBV_WC_REM_INV_REQ_ERR },
		{ "resource", IBV_WR_SEND, IBV_WC_REM_OP_ERR },
	};

	return cr_make_param_array(struct refused, all, sizeof(all) / sizeof(all[0]));
}

/* The second fails, what is behind it is flushed, and both queue pairs are in ERR. */
ParameterizedTest(struct refused *refused, verbs_fault, refuses)
{
	char text[200];

	snprintf(text, sizeof(text), "[second]\nfault = refuse\ncause = %s\nfirst = 2\nmost = 1\n", refused->cause);
	begin(text);
	for (uint64_t i = 1; i <= 3; i++)
		qp_receive(&pair, B, 8, 70 + i);
	for (uint64_t i = 1; i <= 3; i++)
		post_kind(A, refused->opcode, i);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_done(&pair, A, 2, refused->status);
	cr_expect(strstr(ibv_wc_status_str(refused->status), "injected by the target's fault plan"));
	qp_done(&pair, A, 3, IBV_WC_WR_FLUSH_ERR);
	while (qp_next(&pair, B).status == IBV_WC_SUCCESS)
		;
	cr_assert(pair.qp[A]->state == IBV_QPS_ERR && pair.qp[B]->state == IBV_QPS_ERR);
	qp_pair_close(&pair);
}

/* --- rnr --- */

/* Of a message that finds a receive, so many times; rnr_retry is 3. */
static void not_ready(unsigned int times, enum ibv_wc_status status)
{
	char text[100];

	snprintf(text, sizeof(text), "[first]\nfault = rnr\ntimes = %u\nmost = 1\n", times);
	fault_plan(text);
	qp_pair_open(&pair);
	pair.rnr_retry = 3;
	qp_pair_meet(&pair);
	qp_receive(&pair, B, 8, 70);
	qp_post(&pair, A, IBV_WR_SEND, 0, 8, 1);
	qp_done(&pair, A, 1, status);
	if (!status)
		qp_done(&pair, B, 70, IBV_WC_SUCCESS);
	qp_pair_close(&pair);
}

/* It counts against rnr_retry, as a queue that is empty. */
Test(verbs_fault, is_not_ready_more_often_than_rnr_retry)
{
	not_ready(4, IBV_WC_RNR_RETRY_EXC_ERR);
}

Test(verbs_fault, is_not_ready_as_often_as_rnr_retry)
{
	not_ready(3, IBV_WC_SUCCESS);
}

/* --- what breaks or is late keeps its order, and is executed once --- */

/* Atomics, messages and reads by turns, from both sides: their completions, in the order of the posts. */
static void all_once(void)
{
	static const enum ibv_wr_opcode kinds[] = { IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND, IBV_WR_RDMA_READ };
	uint64_t sum[2];

	for (int side = A; side <= B; side++)
		for (uint64_t i = 0; i < OPS; i++)
			post_kind(side, kinds[i % 3], i);
	for (int side = A; side <= B; side++) {
		uint64_t sent = 0, received = 0;

		while (sent < OPS || received < OPS / 3) {
			struct ibv_wc wc = qp_next(&pair, side);

			cr_assert_eq(wc.status, IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
			cr_assert_eq(wc.wr_id, wc.opcode & IBV_WC_RECV ? 1000 + received : sent);
			wc.opcode &IBV_WC_RECV ? received++ : sent++;
		}
		memcpy(&sum[side], pair.memory[side], sizeof(sum[side]));
	}
	cr_assert(sum[A] == OPS / 3 && sum[B] == OPS / 3, "%llu and %llu atomics", (unsigned long long)sum[A],
		  (unsigned long long)sum[B]);
}

static char plans[][100] = {
	"[a]\nfault = cut\nevery = 5\nwhen = before\n",
	"[a]\nfault = cut\nevery = 5\nwhen = after\n",
	"[a]\nfault = rnr\nevery = 3\ntimes = 2\n",
	"[a]\nfault = latency\nwait = 1ms\njitter = 3ms\n",
	"[a]\nfault = reorder\nwait = 1ms\njitter = 3ms\n",
	"[a]\nfault = completion\nwait = 1ms\njitter = 3ms\n",
	"[a]\nfault = bandwidth\nrate = 100000\n",
	"[a]\nfault = thread\nwait = 1ms\n",
	"[a]\nfault = rnr\nevery = 3\n[b]\nfault = cut\nevery = 4\n[c]\nfault = completion\nwait = 1ms\njitter = 1ms\n",
};
struct planned {
	char text[sizeof(plans[0])];
};

ParameterizedTestParameters(verbs_fault, keeps_order)
{
	return cr_make_param_array(struct planned, (struct planned *)plans, sizeof(plans) / sizeof(plans[0]));
}

ParameterizedTest(struct planned *planned, verbs_fault, keeps_order)
{
	begin(planned->text);
	for (int side = A; side <= B; side++)
		for (uint64_t i = 0; i < OPS / 3; i++)
			receive(side, 1000 + i);
	all_once();
	qp_pair_close(&pair);
}

Test(verbs_fault, is_cut_for_longer_than_the_retries)
{
	begin("[a]\nfault = cut\nfirst = 2\nmost = 1\ndown = 1000s\n"); /* timeout 14, retry_cnt 7: the least */
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS); /* else its answer may be cut off, too */
	for (uint64_t i = 2; i <= 3; i++)
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, i);
	qp_done(&pair, A, 2, IBV_WC_RETRY_EXC_ERR);
	qp_done(&pair, A, 3, IBV_WC_WR_FLUSH_ERR);
	qp_pair_close(&pair);
}

/* Longer than timeout 14 and retry_cnt 7 say, and far shorter than timeout 20, which leaves a busy machine half a minute. */
Test(verbs_fault, is_cut_for_a_second)
{
	fault_plan("[a]\nfault = cut\nfirst = 2\nmost = 1\ndown = 1s\n");
	qp_pair_open(&pair);
	pair.timeout = 20;
	qp_pair_meet(&pair);
	for (uint64_t i = 1; i <= 3; i++) {
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, i);
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
	}
	qp_pair_close(&pair);
}

/* --- calls and queues --- */

Test(verbs_fault, fails_a_registration)
{
	struct verbs verbs;
	static char bytes[64];
	struct ibv_mr *mr;

	fault_plan("[second]\nfault = register\nerror = EFAULT\nfirst = 2\nmost = 1\n");
	verbs_open(&verbs);
	for (int i = 1; i <= 3; i++) {
		mr = ibv_reg_mr(verbs.pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);
		cr_assert_eq(!mr, i == 2);
		if (mr)
			cr_assert_eq(ibv_dereg_mr(mr), 0);
		else
			cr_assert_eq(errno, EFAULT);
	}
	verbs_close(&verbs);
}

Test(verbs_fault, has_a_queue_overrun)
{
	struct ibv_async_event event;

	said_begin();
	begin("[small]\nfault = queue\nentries = 4\n");
	for (uint64_t i = 0; i < 5; i++)
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, i);
	cr_assert_eq(ibv_get_async_event(pair.verbs.context, &event), 0);
	cr_assert(event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == pair.cq[A]);
	ibv_ack_async_event(&event);
	cr_assert(said_has("of 4 entries, which the fault plan (FI_EMU_FAULT) has made smaller, is full"));
	qp_pair_close(&pair);
}
