/* SPDX-License-Identifier: BSD-2-Clause */
/* many.c - a thousand connected queue pairs of one process: what each costs. Memory is counted by the C library's own account,
 * which is empty where a sanitizer allocates. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

enum { PAIRS = 500, BYTES_EACH = 16 << 10 };

static int descriptors(void)
{
	DIR *open = opendir("/proc/self/fd");
	int count = 0;

	cr_assert_not_null(open);
	while (readdir(open))
		count++;
	closedir(open);
	return count;
}

Test(many, a_thousand_queue_pairs)
{
	static struct qp_pair pairs[PAIRS];
	struct qp_pair *first = &pairs[0];
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 16, 16, 1, 1, 0 }, .sq_sig_all = 1 };
	size_t before, each;
	int descriptors_before, more;

	qp_pair_open(first);
	qp_pair_meet(first);
	before = mallinfo2().uordblks;
	descriptors_before = descriptors();
	for (int i = 1; i < PAIRS; i++) {
		pairs[i] = *first;
		for (int side = 0; side < 2; side++) {
			init.send_cq = init.recv_cq = first->cq[side];
			pairs[i].qp[side] = ibv_create_qp(first->verbs.pd, &init);
			cr_assert_not_null(pairs[i].qp[side]);
		}
		qp_pair_meet(&pairs[i]);
		qp_post(&pairs[i], 0, IBV_WR_RDMA_WRITE, 0, 8, 1);
		qp_done(&pairs[i], 0, 1, IBV_WC_SUCCESS);
	}
	each = (mallinfo2().uordblks - before) / (2 * (PAIRS - 1));
	more = descriptors() - descriptors_before;
	cr_expect_lt(each, BYTES_EACH, "%zu bytes each", each);
	cr_expect_leq(more, 2 * (PAIRS - 1), "%d descriptors", more);
	for (int i = 1; i < PAIRS; i++)
		for (int side = 0; side < 2; side++)
			cr_assert_eq(ibv_destroy_qp(pairs[i].qp[side]), 0);
	qp_pair_close(first);
}
