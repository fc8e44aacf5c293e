/* SPDX-License-Identifier: BSD-2-Clause */
/* pages.c - what the man pages say of single calls: values and errnos, fields of completions, orders, masks. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

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
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = pair.cq[A], .recv_cq = pair.cq[A], .cap = { 1, 1 } },
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
