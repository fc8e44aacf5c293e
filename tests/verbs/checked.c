/* SPDX-License-Identifier: BSD-2-Clause */
/* checked.c - checked mode (FI_EMU_CHECK): what it tells of wrong programs, and that it is silent on right ones that look like
 * them. Where a case has both, what is wrong is tried last, as all that is told stays. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, AREA = 1 << 16, BYTES = 64 };

static struct qp_pair pair;
static char *area;          /* AREA bytes of both sides, */
static struct ibv_mr *mine; /* which no peer may write to */

static void meet(void)
{
	setenv("FI_EMU_CHECK", "1", 1);
	said_begin();
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mine = ibv_reg_mr(pair.verbs.pd, area, AREA, IBV_ACCESS_LOCAL_WRITE);
	cr_assert_not_null(mine);
}

static void leave(void)
{
	cr_assert_eq(ibv_dereg_mr(mine), 0);
	qp_pair_close(&pair);
}

TestSuite(checked, .init = meet, .fini = leave);
TestSuite(checked_alone, .init = NULL, .fini = NULL);

static void silent(void)
{
	cr_assert(!said_has(" ["));
}

static int post_from(char *at, enum ibv_wr_opcode opcode, unsigned int flags, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)at, BYTES, mine->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = opcode, .send_flags = flags, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)pair.memory[B];
	wr.wr.rdma.rkey = pair.mr[B]->rkey;
	return ibv_post_send(pair.qp[A], &wr, &bad);
}

static void receive_at(char *at, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)at, BYTES, mine->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_recv(pair.qp[B], &wr, &bad), 0);
}

static void arrives(uint64_t wr_id)
{
	qp_done(&pair, A, wr_id, IBV_WC_SUCCESS);
	qp_done(&pair, B, wr_id, IBV_WC_SUCCESS);
}

/* A message that is under way until a receive is posted. */
Test(checked, source_changed)
{
	cr_assert_eq(post_from(area, IBV_WR_SEND, 0, 1), 0);
	receive_at(area + BYTES, 1);
	arrives(1);
	area[0]++;
	cr_assert_eq(post_from(area, IBV_WR_SEND, IBV_SEND_INLINE, 2), 0);
	area[0]++;
	receive_at(area + BYTES, 2);
	arrives(2);
	silent();
	cr_assert_eq(post_from(area, IBV_WR_SEND, 0, 3), 0);
	area[0]++;
	receive_at(area + BYTES, 3);
	arrives(3);
	cr_assert(said_has("ibv_post_send: the buffer, 64 B at "));
	cr_assert(said_has("[send-buffer-changed]"));
}

/* Several requests, of which the last one tells of all; by an extended queue's calls, too. */
Test(checked, source_changed_when_the_last_has_told)
{
	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(post_from(area + i * BYTES, IBV_WR_RDMA_WRITE, 0, i), 0);
	for (uint64_t i = 0; i < 3; i++)
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
	memset(area, 1, 3 * BYTES);
	cr_assert_eq(post_from(area, IBV_WR_RDMA_WRITE, 0, 9), 0);
	qp_done(&pair, A, 9, IBV_WC_SUCCESS);
	silent();
}

/* A peer may write to these bytes at any time. */
Test(checked, source_changed_by_the_peer)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_SEND, 0, BYTES, &sge), *bad;

	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	pair.memory[B][0] = 7;
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 0, BYTES, 5);
	qp_done(&pair, B, 5, IBV_WC_SUCCESS);
	qp_receive(&pair, B, BYTES, 0);
	arrives(0);
	silent();
}

Test(checked, source_that_a_read_brings)
{
	memset(pair.memory[B], 3, BYTES);
	cr_assert_eq(post_from(area, IBV_WR_RDMA_READ, 0, 1), 0);
	cr_assert_eq(post_from(area, IBV_WR_SEND, IBV_SEND_FENCE, 2), 0);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	receive_at(area + BYTES, 2);
	arrives(2);
	cr_assert_eq(area[BYTES], 3);
	silent();
}

Test(checked, receive_changed)
{
	area[0] = 1;
	receive_at(area, 1);
	cr_assert_eq(post_from(area + BYTES, IBV_WR_SEND, 0, 1), 0);
	arrives(1);
	area[0] = 1;
	silent();
	receive_at(area, 2);
	area[0]++;
	cr_assert_eq(post_from(area + BYTES, IBV_WR_SEND, 0, 2), 0);
	arrives(2);
	cr_assert(said_has("[receive-buffer-changed]"));
}

/* At one place all the same: what comes there is not wanted. */
Test(checked, receive_used)
{
	for (uint64_t i = 1; i <= 3; i++)
		receive_at(area, i);
	for (uint64_t i = 1; i <= 3; i++) {
		area[BYTES] = (char)i;
		cr_assert_eq(post_from(area + BYTES, IBV_WR_SEND, 0, i), 0);
		arrives(i);
	}
	silent();
	receive_at(area, 4);
	receive_at(area + BYTES / 2, 5);
	cr_assert(said_has("is that of ibv_post_recv, which has not completed"));
	cr_assert(said_has("[receive-buffer-used]"));
}

/* The others at the place stay when the oldest one has its message, and when a younger one is in the middle. */
static void sent_from_place(uint64_t arrived, uint64_t left)
{
	for (uint64_t i = 1; i <= arrived; i++) {
		cr_assert_eq(post_from(area + BYTES, IBV_WR_SEND, 0, i), 0);
		arrives(i);
	}
	silent();
	cr_assert_eq(post_from(area + 1, IBV_WR_RDMA_WRITE, 0, 9), 0);
	qp_done(&pair, A, 9, IBV_WC_SUCCESS);
	cr_assert_eq(said_has("[receive-buffer-used]"), left > 0);
}

Test(checked, receives_at_one_place)
{
	for (uint64_t i = 1; i <= 3; i++)
		receive_at(area, i);
	sent_from_place(2, 1);
}

Test(checked, receives_at_one_place_gone)
{
	for (uint64_t i = 1; i <= 3; i++)
		receive_at(area, i);
	sent_from_place(3, 0);
}

Test(checked, receive_sent)
{
	receive_at(area + 1, 1);
	cr_assert_eq(post_from(area, IBV_WR_RDMA_WRITE, 0, 1), 0);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	cr_assert(said_has("ibv_post_send: the buffer, 64 B at "));
	cr_assert(said_has("[receive-buffer-used]"));
}

/* Nothing is told of what the program has thrown away. */
static void fetch_into(char *at)
{
	struct ibv_sge sge = { (uintptr_t)at, 8, mine->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)pair.memory[B];
	wr.wr.atomic.rkey = pair.mr[B]->rkey;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
}

Test(checked, receive_fetched_into)
{
	receive_at(area, 1);
	fetch_into(area + BYTES);
	silent();
	fetch_into(area + BYTES - 8);
	cr_assert(said_has("ibv_post_send: the buffer, 8 B at "));
	cr_assert(said_has("[receive-buffer-used]"));
}

Test(checked, reset)
{
	cr_assert_eq(post_from(area, IBV_WR_SEND, 0, 1), 0);
	receive_at(area + AREA / 2, 1);
	receive_at(area + BYTES, 2);
	for (int side = 0; side < 2; side++)
		qp_to(&pair, side, IBV_QPS_RESET);
	memset(area, 1, AREA);
	qp_pair_meet(&pair);
	receive_at(area + BYTES + 1, 3);
	cr_assert_eq(post_from(area, IBV_WR_SEND, 0, 3), 0);
	arrives(3);
	silent();
}

Test(checked, flushed)
{
	receive_at(area + BYTES, 1);
	cr_assert_eq(post_from(area, IBV_WR_SEND, 0, 1), 0);
	arrives(1);
	receive_at(area + BYTES, 2);
	for (int side = 0; side < 2; side++)
		qp_to(&pair, side, IBV_QPS_ERR);
	cr_assert_eq(post_from(area, IBV_WR_SEND, 0, 3), 0);
	qp_done(&pair, A, 3, IBV_WC_WR_FLUSH_ERR);
	qp_done(&pair, B, 2, IBV_WC_WR_FLUSH_ERR);
	memset(area, 1, AREA);
	for (int side = 0; side < 2; side++)
		cr_assert_eq(ibv_poll_cq(pair.cq[side], 1, &(struct ibv_wc){ 0 }), 0);
	silent();
}

Test(checked, vector)
{
	struct ibv_sge sge[] = { { (uintptr_t)area, BYTES, mine->lkey }, { (uintptr_t)area + 1, BYTES, mine->lkey } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 }, *bad;

	cr_assert_eq(ibv_post_recv(pair.qp[B], &wr, &bad), 0);
	cr_assert(said_has("[vector-overlap]"));
}

Test(checked, shared_vector)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 2 } };
	struct ibv_srq *srq = ibv_create_srq(pair.verbs.pd, &attr);
	struct ibv_sge sge[] = { { (uintptr_t)area, BYTES, mine->lkey }, { (uintptr_t)area + 1, BYTES, mine->lkey } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 }, *bad;

	cr_assert_not_null(srq);
	cr_assert_eq(ibv_post_srq_recv(srq, &wr, &bad), 0);
	cr_assert(said_has("ibv_post_srq_recv: two buffers of one vector overlap"));
	cr_assert_eq(ibv_destroy_srq(srq), 0);
}

Test(checked, unmapped)
{
	cr_assert_eq(post_from(area, IBV_WR_SEND, 0, 1), 0);
	munmap(area, AREA);
	qp_receive(&pair, B, BYTES, 1);
	(void)qp_next(&pair, A);
	cr_assert(said_has("[memory-unmapped]"));
}

Test(checked_alone, overrun)
{
	enum { ROOM = 2 };
	struct ibv_cq *small;

	meet();
	small = pair.cq[A];
	cr_assert_eq(ibv_resize_cq(small, ROOM), 0);
	for (uint64_t i = 0; i < 2 * ROOM; i++)
		cr_assert_eq(post_from(area, IBV_WR_RDMA_WRITE, 0, i), 0);
	while (!said_has("[cq-overrun]")) /* the device goes on by itself */
		cr_assert_eq(ibv_poll_cq(pair.cq[B], 1, &(struct ibv_wc){ 0 }), 0);
	cr_assert(said_has("a completion queue of 2 entries is full"));
}
