/* SPDX-License-Identifier: BSD-2-Clause */
/* pages.c - what the man pages say of single calls: values and errnos, fields of completions, orders, masks. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/verbs/qp_pair.h"

enum { A, B };

static struct qp_pair pair;

static void meet(void)
{
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	cr_assert_eq(fcntl(pair.verbs.context->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static void leave(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_pages, .init = meet, .fini = leave, .timeout = 120);

/* --- posts --- */

Test(verbs_pages, inline_data_that_cannot_be_read)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, &sge), *bad = NULL;
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	said_begin();
	wr.send_flags = IBV_SEND_INLINE;
	sge.addr = (uintptr_t)gone;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), EFAULT);
	cr_assert_eq(bad, &wr);
	cr_assert(said_has("ibv_post_send: the memory of inline data"));
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
}

/* --- ibv_create_qp(3) --- */

/* "The values will be greater than or equal to the values requested"; a queue takes requests of one buffer. */
Test(verbs_pages, least_sizes_of_a_queue_pair)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .send_cq = pair.cq[A],
					 .recv_cq = pair.cq[A],
					 .cap = { .max_send_wr = 1, .max_recv_wr = 1 } },
				told;
	struct ibv_qp *qp = ibv_create_qp(pair.verbs.pd, &init);
	struct ibv_qp_attr attr;

	cr_assert_not_null(qp);
	cr_assert(init.cap.max_send_sge >= 1 && init.cap.max_recv_sge >= 1);
	cr_assert_eq(ibv_query_qp(qp, &attr, IBV_QP_CAP, &told), 0);
	cr_assert_eq(memcmp(&told.cap, &init.cap, sizeof(told.cap)), 0);
	cr_assert_eq(memcmp(&attr.cap, &init.cap, sizeof(attr.cap)), 0);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
}

/* "max_recv_wr and max_recv_sge are ignored if the QP is to be associated with an SRQ." */
Test(verbs_pages, receives_of_an_srq_are_none_of_the_queue_pair)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pair.verbs.pd, &srq_init);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .send_cq = pair.cq[A],
					 .recv_cq = pair.cq[A],
					 .srq = srq,
					 .cap = { 1, UINT32_MAX, 1, UINT32_MAX, 0 } };
	struct ibv_qp *qp = ibv_create_qp(pair.verbs.pd, &init);
	struct ibv_recv_wr receive = { .num_sge = 0 }, *bad = NULL;

	cr_assert_not_null(qp);
	cr_assert_eq(ibv_post_recv(qp, &receive, &bad), EINVAL);
	cr_assert_eq(bad, &receive);
	cr_assert_eq(ibv_destroy_srq(srq), EBUSY);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
}

/* --- objects of two contexts --- */

Test(verbs_pages, objects_of_two_contexts)
{
	struct ibv_context *other = ibv_open_device(pair.verbs.list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(other);
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(other, &attr);
	struct ibv_mr *mr = ibv_reg_mr(pair.verbs.pd, pair.memory[A], 64, IBV_ACCESS_LOCAL_WRITE);

	cr_assert(pd && dm && mr);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(mr->pd, pair.verbs.pd);
	errno = 0;
	cr_assert_null(ibv_reg_dm_mr(pair.verbs.pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED));
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_free_dm(dm), 0);
	cr_assert_eq(ibv_dealloc_pd(pd), 0);
	cr_assert_eq(ibv_close_device(other), 0);
}

/* --- ibv_create_qp_ex(3) --- */

Test(verbs_pages, extensions_that_queue_pairs_have_not)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC,
					    .send_cq = pair.cq[A],
					    .recv_cq = pair.cq[A],
					    .cap = { 1, 1, 1, 1, 0 },
					    .pd = pair.verbs.pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD | 1u << 30 };
	struct ibv_qp *qp;

	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EOPNOTSUPP);
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	init.create_flags = 1u << 30;
	errno = 0;
	cr_assert_null(ibv_create_qp_ex(pair.verbs.context, &init));
	cr_assert_eq(errno, EOPNOTSUPP);
	init.create_flags = 0;
	qp = ibv_create_qp_ex(pair.verbs.context, &init);
	cr_assert_not_null(qp);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
}

/* --- ibv_advise_mr(3) --- */

/* "all the lkeys of all the scatter gather elements (SGEs) must be associated with ODP MRs": as with mlx5, ENOENT. */
Test(verbs_pages, advice_is_for_regions_on_demand)
{
	struct ibv_sge sge = { (uintptr_t)pair.memory[A], 64, pair.mr[A]->lkey };
	struct ibv_mr *mr;

	said_begin();
	cr_assert_eq(ibv_advise_mr(pair.verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	cr_assert_eq(ibv_advise_mr(pair.verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1), ENOENT);
	cr_assert(said_has("without IBV_ACCESS_ON_DEMAND"));
	mr = ibv_reg_mr(pair.verbs.pd, pair.memory[A], 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	cr_assert_not_null(mr);
	sge.lkey = mr->lkey;
	cr_assert_eq(ibv_advise_mr(pair.verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1), 0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

/* --- ibv_get_async_event(3), ibv_query_qp(3) --- */

/* Is the next event this one, of a queue pair of that side? */
static bool event_is(enum ibv_event_type type, int side)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(pair.verbs.context, &event))
		return false;
	ibv_ack_async_event(&event);
	return event.event_type == type && event.element.qp == pair.qp[side];
}

static bool no_event(void)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(pair.verbs.context, &event))
		return errno == EAGAIN;
	ibv_ack_async_event(&event);
	return false;
}

static void write_from_a(void)
{
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
}

/* COMM_EST: the first message has come, and the queue pair is in RTR yet. */
Test(verbs_pages, communication_is_established)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR };

	write_from_a();
	cr_assert(no_event(), "both were in RTS");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (int side = 0; side < 2; side++)
			qp_to(&pair, side, states[i]);
	qp_to(&pair, A, IBV_QPS_RTS);
	cr_assert(no_event(), "nothing has come");
	write_from_a();
	cr_assert(event_is(IBV_EVENT_COMM_EST, B));
	write_from_a();
	qp_to(&pair, B, IBV_QPS_RTS);
	write_from_a();
	cr_assert(no_event(), "it is told once");
}

static struct ibv_qp_attr query_a(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cr_assert_eq(ibv_query_qp(pair.qp[A], &attr, IBV_QP_STATE, &init), 0);
	cr_assert(init.qp_type == IBV_QPT_RC && init.sq_sig_all == 1 && init.send_cq == pair.cq[A] && !init.srq);
	cr_assert_eq(attr.cur_qp_state, attr.qp_state);
	return attr;
}

Test(verbs_pages, a_send_queue_is_drained)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	cr_assert(event_is(IBV_EVENT_SQ_DRAINED, A));
	attr = query_a();
	cr_assert(attr.qp_state == IBV_QPS_SQD && !attr.sq_draining);
	cr_assert(attr.sq_psn == QP_PSN && attr.rq_psn == QP_PSN && attr.timeout == 14 && attr.retry_cnt == 7);
	cr_assert(attr.dest_qp_num == pair.qp[B]->qp_num && attr.path_mtu == IBV_MTU_1024 && attr.port_num == 1);
	attr.qp_state = IBV_QPS_RTS;
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE), 0);
	write_from_a();
	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 1; /* which attr_mask does not name */
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_STATE), 0);
	cr_assert(no_event());
}
