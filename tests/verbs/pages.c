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
