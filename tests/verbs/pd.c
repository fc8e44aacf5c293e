/* SPDX-License-Identifier: BSD-2-Clause */
/* pd.c - protection domains, parent domains, thread domains. */
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/verbs/qp_pair.h"

static struct verbs verbs;
static char bytes[100];

static void setup(void)
{
	verbs_open(&verbs);
}

static void teardown(void)
{
	verbs_close(&verbs);
}

TestSuite(verbs_pd, .init = setup, .fini = teardown, .timeout = 60);

static struct ibv_pd *parent_of(struct ibv_pd *pd, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };

	return ibv_alloc_parent_domain(verbs.context, &attr);
}

Test(verbs_pd, many)
{
	enum { MANY = 300 };
	struct ibv_pd *pd[MANY];

	for (int i = 0; i < MANY; i++) {
		pd[i] = ibv_alloc_pd(verbs.context);
		cr_assert_not_null(pd[i]);
		cr_assert_eq(pd[i]->context, verbs.context);
	}
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(ibv_dealloc_pd(pd[i]), 0);
}

Test(verbs_pd, no_more_than_the_device_says)
{
	enum { MOST = 32768 };
	static struct ibv_pd *pd[MOST];
	struct ibv_device_attr attr;
	int count = 0;

	cr_assert_eq(ibv_query_device(verbs.context, &attr), 0);
	cr_assert_leq(attr.max_pd, MOST);
	while (count < attr.max_pd - 1 && (pd[count] = ibv_alloc_pd(verbs.context)))
		count++;
	cr_assert_eq(count, attr.max_pd - 1, "one is open already");
	said_begin();
	errno = 0;
	cr_assert_null(ibv_alloc_pd(verbs.context));
	cr_assert_eq(errno, ENOMEM);
	cr_assert(said_has("max_pd"));
	while (count)
		cr_assert_eq(ibv_dealloc_pd(pd[--count]), 0);
}

Test(verbs_pd, a_parent_domain_is_used_as_its_pd)
{
	struct ibv_td_init_attr none = { .comp_mask = 0 };
	struct ibv_td *td = ibv_alloc_td(verbs.context, &none);
	struct ibv_pd *parent = parent_of(verbs.pd, td);
	struct ibv_mr *mr;

	cr_assert_not_null(td);
	cr_assert_not_null(parent);
	mr = ibv_reg_mr(parent, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);
	cr_assert_not_null(mr);
	cr_assert_eq(mr->pd, parent);
	said_begin();
	cr_assert_eq(ibv_dealloc_pd(parent), EBUSY);
	cr_assert_eq(ibv_dealloc_pd(verbs.pd), EBUSY);
	cr_assert_eq(ibv_dealloc_td(td), EBUSY);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_dealloc_pd(parent), 0);
	cr_assert_eq(ibv_dealloc_td(td), 0);
}

Test(verbs_pd, a_parent_domain_of_a_parent_domain)
{
	struct ibv_pd *parent = parent_of(verbs.pd, NULL), *above = parent_of(parent, NULL);
	struct ibv_mr *mr = ibv_reg_mr(above, bytes, sizeof(bytes), IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = 1, .lkey = mr->lkey };

	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0, "they are one domain");
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_dealloc_pd(above), 0);
	cr_assert_eq(ibv_dealloc_pd(parent), 0);
}

/* Objects of a parent domain, and of its PD, are of one domain: requests of the one's queue pair go by keys of the other. */
Test(verbs_pd, a_parent_domain_and_its_pd_work_together)
{
	struct ibv_td_init_attr none = { .comp_mask = 0 };
	struct qp_pair pair;
	struct ibv_parent_domain_init_attr attr = { .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT, .pd_context = &pair };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 }, .sq_sig_all = 1 };
	struct ibv_pd *parent;
	struct ibv_td *td;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	qp_pair_open(&pair);
	td = attr.td = ibv_alloc_td(pair.verbs.context, &none);
	attr.pd = pair.verbs.pd;
	parent = ibv_alloc_parent_domain(pair.verbs.context, &attr);
	cr_assert(td && parent);
	cr_assert_eq(ibv_destroy_qp(pair.qp[0]), 0);
	init.send_cq = init.recv_cq = pair.cq[0];
	pair.qp[0] = ibv_create_qp(parent, &init);
	cr_assert_not_null(pair.qp[0]);
	cr_assert_eq(pair.qp[0]->pd, parent);
	qp_pair_meet(&pair);
	wr = qp_request(&pair, 0, IBV_WR_RDMA_WRITE, 0, 8, &sge);
	pair.memory[0][0] = 9;
	cr_assert_eq(ibv_post_send(pair.qp[0], &wr, &bad), 0);
	qp_done(&pair, 0, wr.wr_id, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[1][0], 9);
	cr_assert_eq(ibv_dealloc_pd(parent), EBUSY);
	cr_assert_eq(ibv_dealloc_td(td), EBUSY);
	qp_pair_close_queues(&pair);
	cr_assert_eq(ibv_dealloc_pd(parent), 0);
	cr_assert_eq(ibv_dealloc_td(td), 0);
	verbs_close(&pair.verbs);
}

/* Each domain of it keeps it. */
Test(verbs_pd, a_thread_domain_of_two_parent_domains)
{
	struct ibv_td_init_attr none = { .comp_mask = 0 };
	struct ibv_td *td = ibv_alloc_td(verbs.context, &none);
	struct ibv_pd *one = parent_of(verbs.pd, td), *two = parent_of(verbs.pd, td);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = one };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(verbs.context, &attr);

	cr_assert(td && one && two && cq);
	cr_assert_eq(ibv_dealloc_td(td), EBUSY);
	cr_assert_eq(ibv_dealloc_pd(two), 0);
	cr_assert_eq(ibv_dealloc_td(td), EBUSY);
	cr_assert_eq(ibv_dealloc_pd(one), EBUSY);
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	cr_assert_eq(ibv_dealloc_pd(one), 0);
	cr_assert_eq(ibv_dealloc_td(td), 0);
	attr.parent_domain = verbs.pd;
	cr_assert_null(ibv_create_cq_ex(verbs.context, &attr));
	cr_assert_eq(errno, EINVAL);
}

Test(verbs_pd, wrong_parent_domains)
{
	struct ibv_parent_domain_init_attr attr = { .pd = verbs.pd, .comp_mask = 1u << 20 };
	struct ibv_td_init_attr wrong = { .comp_mask = 1 };
	struct verbs other;

	said_begin();
	cr_assert_null(ibv_alloc_parent_domain(verbs.context, &attr));
	cr_assert_eq(errno, EOPNOTSUPP);
	cr_assert_null(parent_of(NULL, NULL));
	cr_assert_eq(errno, EINVAL);
	verbs.pd->handle ^= 0x5a5a;
	cr_assert_null(parent_of(verbs.pd, NULL));
	cr_assert_eq(errno, ENOENT);
	verbs.pd->handle ^= 0x5a5a;
	cr_assert_null(ibv_alloc_td(verbs.context, &wrong));
	cr_assert_eq(errno, EINVAL);
	verbs_open(&other);
	cr_assert_null(parent_of(other.pd, NULL));
	cr_assert_eq(errno, EINVAL);
	verbs_close(&other);
}

/* As on hardware, where the kernel ends all that is left. */
Test(verbs_pd, objects_that_outlive_their_context)
{
	struct verbs own;
	struct ibv_mr *mr;

	verbs_open(&own);
	mr = ibv_reg_mr(own.pd, bytes, sizeof(bytes), 0);
	cr_assert_eq(ibv_close_device(own.context), 0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_dealloc_pd(own.pd), 0);
	ibv_free_device_list(own.list);
}
