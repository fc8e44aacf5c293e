/* SPDX-License-Identifier: BSD-2-Clause */
/* pd.c - protection domains, parent domains, thread domains. */
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/verbs/world.h"

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
