/* SPDX-License-Identifier: BSD-2-Clause */
/* dm.c - device memory. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/verbs/world.h"

enum { BYTES = 1000, ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED };

static struct verbs verbs;

static void setup(void)
{
	verbs_open(&verbs);
}

static void teardown(void)
{
	verbs_close(&verbs);
}

TestSuite(verbs_dm, .init = setup, .fini = teardown, .timeout = 60);

static struct ibv_dm *dm_of(size_t length, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = log_align };

	return ibv_alloc_dm(verbs.context, &attr);
}

Test(verbs_dm, holds_what_is_copied_there)
{
	struct ibv_dm *dm = dm_of(BYTES, 0);
	char in[100], out[100];

	cr_assert_not_null(dm);
	memset(in, 7, sizeof(in));
	cr_assert_eq(ibv_memcpy_to_dm(dm, BYTES - 100, in, 100), 0);
	cr_assert_eq(ibv_memcpy_from_dm(out, dm, BYTES - 100, 100), 0);
	cr_assert_arr_eq(in, out, 100);
	cr_assert_eq(ibv_memcpy_from_dm(out, dm, 0, 100), 0);
	cr_assert_eq(out[0], 0, "it begins with zeros");
	said_begin();
	cr_assert_eq(ibv_memcpy_to_dm(dm, BYTES - 99, in, 100), EFAULT);
	cr_assert_eq(ibv_memcpy_to_dm(dm, 3, in, 4), EINVAL);
	cr_assert_eq(ibv_memcpy_from_dm(out, dm, 4, 3), EINVAL);
	cr_assert_eq(ibv_memcpy_from_dm(out, dm, UINT64_MAX, 1), EFAULT);
	cr_assert_eq(ibv_memcpy_from_dm(out, dm, BYTES, 0), 0);
	cr_assert_eq(ibv_memcpy_from_dm(out, dm, BYTES + 4, 0), EFAULT);
	cr_assert(said_has("ibv_memcpy_to_dm: 100 B from offset 901 on"));
	cr_assert_eq(ibv_free_dm(dm), 0);
}

Test(verbs_dm, regions_of_it)
{
	struct ibv_dm *dm = dm_of(BYTES, 3);
	struct ibv_mr *mr = ibv_reg_dm_mr(verbs.pd, dm, 100, BYTES - 100, ACCESS);

	cr_assert_not_null(mr);
	said_begin();
	cr_assert_eq(ibv_free_dm(dm), EBUSY);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_null(ibv_reg_dm_mr(verbs.pd, dm, 0, BYTES, IBV_ACCESS_LOCAL_WRITE));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has("IBV_ACCESS_ZERO_BASED"));
	cr_assert_null(ibv_reg_dm_mr(verbs.pd, dm, 0, BYTES, ACCESS | IBV_ACCESS_ON_DEMAND));
	cr_assert_eq(errno, EINVAL);
	cr_assert_null(ibv_reg_dm_mr(verbs.pd, dm, 1, BYTES, ACCESS));
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_free_dm(dm), 0);
}

Test(verbs_dm, there_is_as_much_as_the_device_says)
{
	struct ibv_alloc_dm_attr unknown = { .length = 8, .comp_mask = 1 };
	struct ibv_device_attr_ex attr;
	struct ibv_dm *all;

	cr_assert_eq(ibv_query_device_ex(verbs.context, NULL, &attr), 0);
	cr_assert_gt(attr.max_dm_size, 0);
	said_begin();
	cr_assert_null(dm_of(attr.max_dm_size + 1, 0));
	cr_assert_eq(errno, ENOMEM);
	all = dm_of(attr.max_dm_size, 0);
	cr_assert_not_null(all);
	cr_assert_null(dm_of(1, 0));
	cr_assert_eq(errno, ENOMEM);
	cr_assert(said_has("max_dm_size"));
	cr_assert_eq(ibv_free_dm(all), 0);
	cr_assert_null(dm_of(0, 0));
	cr_assert_eq(errno, EINVAL);
	cr_assert_null(dm_of(8, 13));
	cr_assert_eq(errno, EINVAL);
	errno = 0;
	cr_assert_null(ibv_alloc_dm(verbs.context, &unknown));
	cr_assert_eq(errno, EINVAL);
	all = dm_of(8, 12);
	cr_assert_not_null(all);
	cr_assert_eq(ibv_free_dm(all), 0);
}
