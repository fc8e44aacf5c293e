/* SPDX-License-Identifier: BSD-2-Clause */
/* drained.c - a send queue that is drained (SQD) meets all else: receivers that are not ready, cuts, late completions, failures,
 * invalidation, checked mode. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, BYTES = 64 };

static struct qp_pair pair;

static void begin(const char *plan)
{
	if (plan)
		fault_plan(plan);
	said_begin();
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	cr_assert_eq(fcntl(pair.verbs.context->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static void end(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_drained, .timeout = 120);

static void drain(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
}

static void go_on(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE), 0);
}

/* Has the event come that all is drained? A peer's first message may have made one, too. */
static bool is_told(void)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(pair.verbs.context, &event)) {
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_SQ_DRAINED)
			return event.element.qp == pair.qp[A];
		cr_assert_eq(event.event_type, IBV_EVENT_COMM_EST, "%s", ibv_event_type_str(event.event_type));
	}
	return false;
}

static bool is_draining(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cr_assert_eq(ibv_query_qp(pair.qp[A], &attr, IBV_QP_STATE, &init), 0);
	cr_assert_eq(attr.qp_state, IBV_QPS_SQD);
	return attr.sq_draining;
}

static void post_add(uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, &sge), *bad;

	wr.wr_id = wr_id;
	wr.wr.atomic.remote_addr = (uintptr_t)pair.memory[B];
	wr.wr.atomic.rkey = pair.mr[B]->rkey;
	wr.wr.atomic.compare_add = 1;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
}

static void nothing(int side)
{
	struct ibv_wc wc;

	cr_assert_eq(ibv_poll_cq(pair.cq[side], 1, &wc), 0);
}

/* A request that begins in SQD would have ended when one that was posted behind it by the peer has. */
static void peer_writes(void)
{
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, BYTES, 8, 90);
	qp_done(&pair, B, 90, IBV_WC_SUCCESS);
}

/* From here on a request has begun when its post returns: the peer is connected. */
static void connect_to_peer(void)
{
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, BYTES, 8, 80);
	qp_done(&pair, A, 80, IBV_WC_SUCCESS);
}

/* --- a receiver that is not ready --- */

/* The message has begun: it is tried again in SQD, too, and nothing behind it. */
Test(verbs_drained, a_message_that_is_not_received_yet)
{
	begin(NULL);
	connect_to_peer();
	qp_post(&pair, A, IBV_WR_SEND, 0, BYTES, 2);
	drain();
	qp_post(&pair, A, IBV_WR_SEND, 0, BYTES, 3);
	peer_writes();
	cr_assert(!is_told() && is_draining());
	nothing(A);
	qp_receive(&pair, B, BYTES, 71);
	qp_receive(&pair, B, BYTES, 72);
	qp_done(&pair, A, 2, IBV_WC_SUCCESS);
	qp_done(&pair, B, 71, IBV_WC_SUCCESS);
	cr_assert(is_told() && !is_draining());
	peer_writes();
	nothing(A);
	go_on();
	qp_done(&pair, A, 3, IBV_WC_SUCCESS);
	qp_done(&pair, B, 72, IBV_WC_SUCCESS);
	end();
}

/* --- by plan --- */

static char plans[][80] = {
	"[a]\nfault = cut\nevery = 2\nwhen = before\n",
	"[a]\nfault = cut\nevery = 2\nwhen = after\n",
	"[a]\nfault = completion\nwait = 20ms\njitter = 20ms\n",
	"[a]\nfault = latency\nwait = 20ms\njitter = 20ms\n",
	"[a]\nfault = thread\nwait = 5ms\n",
};
struct planned {
	char text[sizeof(plans[0])];
};

ParameterizedTestParameters(verbs_drained, all_once)
{
	return cr_make_param_array(struct planned, (struct planned *)plans, sizeof(plans) / sizeof(plans[0]));
}

/* What had begun has been polled, or can be, when the event comes. What had not, and what is posted later, waits. */
ParameterizedTest(struct planned *planned, verbs_drained, all_once)
{
	enum { BEFORE = 8, LATER = 4 };
	uint64_t done = 0, sum;

	begin(planned->text);
	connect_to_peer();
	for (uint64_t i = 0; i < BEFORE; i++)
		post_add(i);
	drain();
	for (uint64_t i = 0; i < LATER; i++)
		post_add(BEFORE + i);
	while (!is_told()) {
		struct ibv_wc wc;
		int got = ibv_poll_cq(pair.cq[A], 1, &wc);

		cr_assert(got == 0 || (got == 1 && wc.status == IBV_WC_SUCCESS && wc.wr_id == done));
		done += (uint64_t)got;
	}
	cr_assert_not(is_draining());
	for (struct ibv_wc wc; ibv_poll_cq(pair.cq[A], 1, &wc) == 1; done++)
		cr_assert(wc.wr_id == done && wc.status == IBV_WC_SUCCESS);
	cr_assert_leq(done, BEFORE);
	peer_writes();
	nothing(A);
	memcpy(&sum, pair.memory[B], sizeof(sum));
	cr_assert_eq(sum, done);
	go_on();
	while (done < BEFORE + LATER)
		qp_done(&pair, A, done++, IBV_WC_SUCCESS);
	memcpy(&sum, pair.memory[B], sizeof(sum));
	cr_assert_eq(sum, BEFORE + LATER);
	end();
}

/* --- invalidation --- */

static int post_local_inv(uint32_t rkey, uint64_t wr_id)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey }, *bad;

	return ibv_post_send(pair.qp[A], &wr, &bad);
}

/* It is carried out in its turn, after RTS: until then the peer may use the key. */
Test(verbs_drained, a_local_invalidation)
{
	begin(NULL);
	drain();
	cr_assert_eq(post_local_inv(pair.mr[A]->rkey, 1), 0);
	peer_writes();
	nothing(A);
	go_on();
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, BYTES, 8, 91);
	qp_done(&pair, B, 91, IBV_WC_REM_ACCESS_ERR);
	end();
}

/* --- it ends --- */

Test(verbs_drained, to_err)
{
	begin(NULL);
	drain();
	cr_assert(is_told());
	for (uint64_t i = 0; i < 3; i++)
		qp_post(&pair, A, i == 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 0, BYTES, i);
	qp_to(&pair, A, IBV_QPS_ERR);
	for (uint64_t i = 0; i < 3; i++)
		qp_done(&pair, A, i, IBV_WC_WR_FLUSH_ERR);
	cr_assert_not(is_told());
	end();
}

Test(verbs_drained, to_reset_and_on)
{
	begin(NULL);
	drain();
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, 1);
	qp_to(&pair, A, IBV_QPS_RESET);
	qp_to(&pair, B, IBV_QPS_RESET);
	nothing(A);
	qp_pair_meet(&pair);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, 2);
	qp_done(&pair, A, 2, IBV_WC_SUCCESS);
	end();
}

/* A request that had begun fails: the queue pair goes to ERR, and what waited is flushed. */
Test(verbs_drained, a_request_that_fails)
{
	begin("[a]\nfault = completion\nwait = 50ms\n");
	connect_to_peer();
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, QP_SPAN, BYTES, 1);
	drain();
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, 2);
	qp_done(&pair, A, 1, IBV_WC_REM_ACCESS_ERR);
	qp_done(&pair, A, 2, IBV_WC_WR_FLUSH_ERR);
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_ERR);
	end();
}

Test(verbs_drained, a_peer_that_goes)
{
	begin(NULL);
	drain();
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, 1);
	qp_to(&pair, B, IBV_QPS_RESET);
	go_on();
	qp_done(&pair, A, 1, IBV_WC_RETRY_EXC_ERR);
	end();
}

/* --- checked mode --- */

/* What waits is under way, and its bytes are to stay until it has completed. */
Test(verbs_drained, checked)
{
	static char area[2 * BYTES];
	struct ibv_sge sge = { (uintptr_t)area, BYTES, 0 };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_mr *mine;

	setenv("FI_EMU_CHECK", "1", 1);
	begin(NULL);
	mine = ibv_reg_mr(pair.verbs.pd, area, sizeof(area), IBV_ACCESS_LOCAL_WRITE);
	sge.lkey = mine->lkey;
	wr.wr.rdma.remote_addr = (uintptr_t)pair.memory[B];
	wr.wr.rdma.rkey = pair.mr[B]->rkey;
	drain();
	cr_assert(is_told());
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	nothing(A);
	cr_assert_not(said_has(" ["));
	area[0]++;
	go_on();
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	cr_assert(said_has("[send-buffer-changed]"));
	cr_assert_eq(ibv_dereg_mr(mine), 0);
	end();
}
