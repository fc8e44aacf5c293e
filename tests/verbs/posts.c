/* SPDX-License-Identifier: BSD-2-Clause */
/* posts.c - ibv_post_send(), ibv_post_recv(), ibv_wr_complete(): what they refuse at once, and what fails in its turn. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, WORD = 8 };

static struct qp_pair pair;

static void begin(void)
{
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
}

static void end(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_posts, .init = begin, .fini = end, .timeout = 120);

static int post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int err = ibv_post_send(pair.qp[A], wr, &bad);

	cr_assert_eq(bad, err ? wr : NULL);
	return err;
}

/* After what was refused: nothing completes, and the queue pair goes on. */
static void goes_on(void)
{
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, WORD, 99);
	qp_done(&pair, A, 99, IBV_WC_SUCCESS);
}

static void both_again(void)
{
	qp_to(&pair, A, IBV_QPS_RESET);
	qp_to(&pair, B, IBV_QPS_RESET);
	qp_pair_meet(&pair);
}

/* Of one word; an atomic adds 1, or swaps 1 for 0. */
static struct ibv_send_wr word(enum ibv_wr_opcode opcode, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = qp_request(&pair, A, opcode, 0, WORD, sge);

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)pair.memory[B];
		wr.wr.atomic.rkey = pair.mr[B]->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	return wr;
}

/* --- refused at once --- */

/* The table of ibv_post_send(3), and what is of no queue pair here: memory windows, TSO, drivers' own, no number at all. */
Test(verbs_posts, opcodes)
{
	static const int none[] = { -1, IBV_WR_BIND_MW, IBV_WR_TSO, IBV_WR_DRIVER1, IBV_WR_DRIVER1 + 1, 1000 };

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct ibv_send_wr wr = { .opcode = (enum ibv_wr_opcode)none[i] };

		cr_assert_eq(post(&wr), EINVAL, "%d", none[i]);
	}
	goes_on();
}

Test(verbs_posts, number_of_elements)
{
	static const int wrong[] = { -1, QP_SGE + 1, INT32_MAX, INT32_MIN };
	struct ibv_sge list[QP_SGE] = { { 0 } };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = list, .num_sge = wrong[i] };
		struct ibv_recv_wr receive = { .sg_list = list, .num_sge = wrong[i] }, *bad = NULL;

		cr_assert_eq(post(&wr), EINVAL);
		cr_assert_eq(ibv_post_recv(pair.qp[B], &receive, &bad), EINVAL);
		cr_assert_eq(bad, &receive);
	}
	goes_on();
}

/* IBV_WR_LOCAL_INV moves nothing, READ and atomics send nothing that could stand in the request. */
Test(verbs_posts, what_does_not_go_together)
{
	static const enum ibv_wr_opcode fetch[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_LOCAL_INV, 0, WORD, &sge);

	wr.invalidate_rkey = pair.mr[A]->rkey;
	cr_assert_eq(post(&wr), EINVAL);
	for (size_t i = 0; i < sizeof(fetch) / sizeof(*fetch); i++) {
		wr = word(fetch[i], &sge);
		wr.send_flags = IBV_SEND_INLINE;
		cr_assert_eq(post(&wr), EINVAL);
	}
	goes_on();
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 0, WORD, 1); /* the region is still valid */
	qp_done(&pair, B, 1, IBV_WC_SUCCESS);
}

/* No bit of device_cap_flags says that the device computes any. */
Test(verbs_posts, checksums)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = word(IBV_WR_SEND, &sge);

	wr.send_flags = IBV_SEND_IP_CSUM;
	cr_assert_eq(post(&wr), EINVAL);
	wr.send_flags |= IBV_SEND_INLINE;
	cr_assert_eq(post(&wr), EINVAL);
	goes_on();
}

/* IBV_SEND_SOLICITED is of messages and of WRITE_WITH_IMM; beside others it means nothing, and hurts nothing. */
Test(verbs_posts, flags_without_a_meaning)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = word(opcodes[i], &sge);

		wr.send_flags = IBV_SEND_SOLICITED | IBV_SEND_SIGNALED;
		cr_assert_eq(post(&wr), 0);
		qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	}
}

/* Those before the wrong one are posted, it and those behind it are not. */
Test(verbs_posts, a_list_up_to_the_wrong_one)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_recv_wr receive[3] = { { 0 } }, *bad_receive = NULL;
	struct ibv_wc wc;

	for (int i = 0; i < 3; i++) {
		wr[i] = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, WORD, &sge[i]);
		wr[i].wr_id = receive[i].wr_id = (uint64_t)i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		receive[i].next = i < 2 ? &receive[i + 1] : NULL;
	}
	wr[1].num_sge = receive[1].num_sge = -1;
	cr_assert_eq(ibv_post_send(pair.qp[A], wr, &bad), EINVAL);
	cr_assert_eq(bad, &wr[1]);
	cr_assert_eq(ibv_post_recv(pair.qp[B], receive, &bad_receive), EINVAL);
	cr_assert_eq(bad_receive, &receive[1]);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	goes_on();
	qp_to(&pair, B, IBV_QPS_ERR);
	qp_done(&pair, B, 0, IBV_WC_WR_FLUSH_ERR);
	cr_assert_eq(ibv_poll_cq(pair.cq[B], 1, &wc), 0);
}

/* man ibv_post_recv: a queue pair with a shared queue has no receives of its own. */
Test(verbs_posts, receives_beside_a_shared_queue)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pair.verbs.pd, &init);
	struct ibv_recv_wr wr = { .wr_id = 5 }, *bad = NULL;
	struct ibv_qp_init_attr with = { .srq = srq, .cap = { QP_WR, QP_WR, 1, 1, 0 } }, now;
	struct ibv_qp_attr attr;

	qp_replace(&pair, B, with);
	qp_to(&pair, B, IBV_QPS_INIT);
	cr_assert_eq(ibv_post_recv(pair.qp[B], &wr, &bad), EINVAL);
	cr_assert_eq(bad, &wr);
	cr_assert_eq(ibv_query_qp(pair.qp[B], &attr, IBV_QP_CAP, &now), 0);
	cr_assert(now.srq == srq && !attr.cap.max_recv_wr && !attr.cap.max_recv_sge);
	qp_replace(&pair, B, (struct ibv_qp_init_attr){ .cap = { 1, 1, 1, 1, 0 } });
	cr_assert_eq(ibv_destroy_srq(srq), 0);
}

/* --- what fails in its turn, since hardware looks at local memory when it comes to the request --- */

static void fails(struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	wr->wr_id = 5;
	cr_assert_eq(post(wr), 0);
	qp_done(&pair, A, 5, status);
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_ERR);
	both_again();
}

/* The result of an atomic has eight bytes, in one element or in several. */
Test(verbs_posts, length_of_an_atomics_result)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD };
	static const uint32_t wrong[] = { 0, WORD - 1, WORD + 1 };
	uint64_t *there = (uint64_t *)pair.memory[B];

	for (size_t i = 0; i < 2; i++) {
		struct ibv_sge sge[2];
		struct ibv_send_wr wr = word(opcodes[i], sge);

		for (size_t j = 0; j < sizeof(wrong) / sizeof(*wrong); j++) {
			sge->length = wrong[j];
			fails(&wr, IBV_WC_LOC_LEN_ERR);
		}
		wr.num_sge = 0;
		fails(&wr, IBV_WC_LOC_LEN_ERR);
		cr_assert(strstr(ibv_wc_status_str(IBV_WC_LOC_LEN_ERR), "atomic"), "%s", ibv_wc_status_str(IBV_WC_LOC_LEN_ERR));
		cr_assert_eq(*there, 0);
		sge[0].length = WORD / 2;
		sge[1] = sge[0];
		sge[1].addr += 100;
		*there = 0x0102030405060708;
		wr.num_sge = 2;
		wr.wr.atomic.compare_add = 0;
		cr_assert_eq(post(&wr), 0);
		qp_done(&pair, A, 5, IBV_WC_SUCCESS);
		cr_assert(!memcmp(pair.memory[A], there, 4) && !memcmp(pair.memory[A] + 100, (char *)there + 4, 4));
		*there = 0;
	}
}

/* Bytes that are sent need no right; those that come need IBV_ACCESS_LOCAL_WRITE. */
Test(verbs_posts, rights_of_local_regions)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		enum ibv_wc_status status;
	} requests[] = {
		{ IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS },
		{ IBV_WR_SEND, IBV_WC_SUCCESS },
		{ IBV_WR_RDMA_READ, IBV_WC_LOC_PROT_ERR },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_LOC_PROT_ERR },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_LOC_PROT_ERR },
	};
	struct ibv_mr *mr = ibv_reg_mr(pair.verbs.pd, pair.memory[A], 100, 0);
	struct ibv_recv_wr receive = { .wr_id = 6, .num_sge = 1 }, *bad;
	struct ibv_sge sge;

	qp_receive(&pair, B, 100, 1);
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		struct ibv_send_wr wr = word(requests[i].opcode, &sge);

		sge.lkey = mr->lkey;
		memset(pair.memory[A], 7, WORD);
		if (requests[i].status)
			fails(&wr, requests[i].status);
		cr_assert(requests[i].status || !post(&wr));
		if (!requests[i].status)
			qp_done(&pair, A, 0, IBV_WC_SUCCESS);
		cr_assert_eq(pair.memory[A][0], 7, "no byte came");
	}
	receive.sg_list = &sge;
	cr_assert_eq(ibv_post_recv(pair.qp[A], &receive, &bad), 0);
	qp_post(&pair, B, IBV_WR_SEND, 0, WORD, 8);
	qp_done(&pair, B, 8, IBV_WC_REM_OP_ERR);
	qp_done(&pair, A, 6, IBV_WC_LOC_PROT_ERR);
	cr_assert_eq(pair.memory[A][0], 7);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

/* Ranges of a region: to its last byte, and not one further on either side. */
Test(verbs_posts, ranges_of_local_regions)
{
	struct ibv_mr *mr = ibv_reg_mr(pair.verbs.pd, pair.memory[A] + 100, 100, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 100, &sge);

	sge.addr += 100;
	sge.lkey = mr->lkey;
	cr_assert_eq(post(&wr), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	sge.length++;
	fails(&wr, IBV_WC_LOC_PROT_ERR);
	sge.addr--;
	sge.length = 1;
	fails(&wr, IBV_WC_LOC_PROT_ERR);
	sge.addr += 101;
	fails(&wr, IBV_WC_LOC_PROT_ERR);
	sge.lkey = mr->rkey;
	sge.addr -= 100;
	fails(&wr, IBV_WC_LOC_PROT_ERR);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

static struct ibv_sge wrong_buffer(void)
{
	return (struct ibv_sge){ (uintptr_t)pair.memory[A], WORD, pair.mr[A]->rkey };
}

/* The lkeys of what is sent are looked at before a byte is: nothing of the list comes. */
Test(verbs_posts, a_source_whose_last_element_is_wrong)
{
	struct ibv_sge list[2] = { { (uintptr_t)pair.memory[A], QP_SPAN / 2, pair.mr[A]->lkey }, wrong_buffer() };
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 0, &(struct ibv_sge){ 0 });

	memset(pair.memory[A], 7, QP_SPAN / 2);
	wr.sg_list = list;
	wr.num_sge = 2;
	fails(&wr, IBV_WC_LOC_PROT_ERR);
	cr_assert(!pair.memory[B][0] && !pair.memory[B][QP_SPAN / 2 - 1]);
}

/* Those of a result are looked at when it comes: the peer judges the request first, and has carried it out. */
Test(verbs_posts, a_result_whose_buffer_is_wrong)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = word(IBV_WR_RDMA_READ, &sge);

	sge = wrong_buffer();
	wr.wr.rdma.rkey ^= 1;
	fails(&wr, IBV_WC_REM_ACCESS_ERR);
	wr = word(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	sge = wrong_buffer();
	fails(&wr, IBV_WC_LOC_PROT_ERR);
	cr_assert_eq(*(uint64_t *)pair.memory[B], 1);
}

/* --- lists that are built by calls --- */

static struct ibv_qp_ex *extended(uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = pair.cq[A],
		.recv_cq = pair.cq[A],
		.cap = { 4, 1, 1, 1, WORD },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pair.verbs.pd,
		.send_ops_flags = ops,
	};

	cr_assert_eq(ibv_destroy_qp(pair.qp[A]), 0);
	pair.qp[A] = ibv_create_qp_ex(pair.verbs.context, &init);
	cr_assert_not_null(pair.qp[A]);
	qp_to(&pair, B, IBV_QPS_RESET);
	return ibv_qp_to_qp_ex(pair.qp[A]);
}

static void build_writes(struct ibv_qp_ex *ex, int count)
{
	ibv_wr_start(ex);
	for (int i = 0; i < count; i++) {
		ex->wr_id = (uint64_t)i;
		ibv_wr_rdma_write(ex, pair.mr[B]->rkey, (uintptr_t)pair.memory[B]);
		ibv_wr_set_sge(ex, pair.mr[A]->lkey, (uintptr_t)pair.memory[A], WORD);
	}
}

static void no_completion(void)
{
	struct ibv_wc wc;

	cr_assert_eq(ibv_poll_cq(pair.cq[A], 1, &wc), 0);
}

/* man ibv_wr_post: the whole list, or with an errno nothing of it. */
Test(verbs_posts, batches)
{
	struct ibv_qp_ex *ex = extended(IBV_QP_EX_WITH_RDMA_WRITE);

	build_writes(ex, 1);
	cr_assert_eq(ibv_wr_complete(ex), EINVAL, "it is in RESET");
	qp_pair_meet(&pair);
	build_writes(ex, 5);
	cr_assert_eq(ibv_wr_complete(ex), ENOMEM, "one more than there is room for");
	no_completion();
	build_writes(ex, 4);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	build_writes(ex, 1);
	cr_assert_eq(ibv_wr_complete(ex), ENOMEM, "no room, as none is polled");
	for (uint64_t i = 0; i < 4; i++)
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
	build_writes(ex, 2);
	ibv_wr_send(ex);
	cr_assert_eq(ibv_wr_complete(ex), EINVAL, "not of send_ops_flags");
	build_writes(ex, 1);
	ibv_wr_abort(ex);
	build_writes(ex, 0);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	no_completion();
	build_writes(ex, 4);
	cr_assert_eq(ibv_wr_complete(ex), 0, "what was refused has taken no room");
	for (uint64_t i = 0; i < 4; i++)
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
}

/* The last of the list is wrong, so the first ones are not posted either. */
Test(verbs_posts, a_batch_whose_last_request_is_wrong)
{
	struct ibv_qp_ex *ex = extended(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_LOCAL_INV);
	char bytes[WORD] = "";

	qp_pair_meet(&pair);
	build_writes(ex, 2);
	ibv_wr_rdma_read(ex, pair.mr[B]->rkey, (uintptr_t)pair.memory[B]);
	ibv_wr_set_inline_data(ex, bytes, WORD);
	cr_assert_eq(ibv_wr_complete(ex), EINVAL);
	build_writes(ex, 2);
	ibv_wr_local_inv(ex, pair.mr[B]->rkey);
	ibv_wr_set_sge(ex, pair.mr[A]->lkey, (uintptr_t)pair.memory[A], WORD);
	cr_assert_eq(ibv_wr_complete(ex), EINVAL);
	no_completion();
}
