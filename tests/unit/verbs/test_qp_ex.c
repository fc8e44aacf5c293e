/* SPDX-License-Identifier: BSD-2-Clause */
/* test_qp_ex.c - requests built by calls, with a stand-in for the post. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/verbs/qp/vb_qp_ex.h"
#include "emu/verbs/qp/vb_qp_kind.h"
#include "emu/verbs/start/vb_refuse.h"

enum { LIST = 64, SGES = 4, INLINE = 32 };

static struct vb_qp_head qp;
static struct ibv_qp_ex *ex;

/* --- stand-ins --- */

static struct ibv_send_wr posted[LIST];
static struct ibv_sge posted_sge[LIST][SGES];
static char posted_data[LIST][INLINE + 1];
static int posts, post_result;
static char said[200];

static void note_said(const char *call, const char *format, va_list args)
{
	int length = snprintf(said, sizeof(said), "%s: ", call);

	vsnprintf(said + length, sizeof(said) - (size_t)length, format, args);
}

int vb_refuse(int errnum, const char *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_said(call, format, args);
	va_end(args);
	return errnum;
}

int vb_absent(const char *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_said(call, format, args);
	va_end(args);
	return EOPNOTSUPP;
}

static void note(int at, const struct ibv_send_wr *wr)
{
	posted[at] = *wr;
	for (int i = 0; i < wr->num_sge; i++)
		posted_sge[at][i] = wr->sg_list[i];
	if (wr->send_flags & IBV_SEND_INLINE) {
		cr_assert_eq(wr->num_sge, 1);
		if (wr->sg_list->length)
			memcpy(posted_data[at], (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	}
}

int vb_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad, bool whole)
{
	cr_assert_eq(ibv, &qp.ibv);
	cr_assert(whole && bad);
	for (posts = 0; wr; wr = wr->next)
		note(posts++, wr);
	return post_result;
}

/* --- --- */

static void open_with(uint64_t ops)
{
	qp = (struct vb_qp_head){ .sge_most = SGES, .inline_most = INLINE };
	cr_assert_null(ibv_qp_to_qp_ex(&qp.ibv), "not extended yet");
	cr_assert_eq(vb_qp_ex_init(&qp, vb_qp_kind(IBV_QPT_RC), ops), 0);
	ex = ibv_qp_to_qp_ex(&qp.ibv);
	cr_assert_not_null(ex);
}

static void open_qp(void)
{
	open_with(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
		  IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV);
}

static void start(uint64_t wr_id, unsigned int flags)
{
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = flags;
}

Test(qp_ex, builders)
{
	open_qp();
	start(10, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	ibv_wr_rdma_write(ex, 1, 2);
	ex->wr_id = 11;
	ex->wr_flags = 0;
	ibv_wr_rdma_write_imm(ex, 3, 4, 5);
	ibv_wr_rdma_read(ex, 6, 7);
	ibv_wr_send(ex);
	ibv_wr_send_imm(ex, 8);
	ibv_wr_send_inv(ex, 9);
	ibv_wr_local_inv(ex, 10);
	ibv_wr_atomic_cmp_swp(ex, 11, 12, 13, 14);
	ibv_wr_atomic_fetch_add(ex, 15, 16, 17);
	cr_assert_eq(posts, 0, "nothing is posted before the end");
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert_eq(posts, 9);
	cr_assert(posted[0].opcode == IBV_WR_RDMA_WRITE && posted[0].wr_id == 10 && posted[0].wr.rdma.rkey == 1 &&
		  posted[0].wr.rdma.remote_addr == 2 && posted[0].send_flags == (IBV_SEND_SIGNALED | IBV_SEND_FENCE));
	cr_assert(posted[1].opcode == IBV_WR_RDMA_WRITE_WITH_IMM && posted[1].wr_id == 11 && posted[1].wr.rdma.rkey == 3 &&
		  posted[1].wr.rdma.remote_addr == 4 && posted[1].imm_data == 5 && !posted[1].send_flags);
	cr_assert(posted[2].opcode == IBV_WR_RDMA_READ && posted[2].wr.rdma.rkey == 6 && posted[2].wr.rdma.remote_addr == 7);
	cr_assert(posted[3].opcode == IBV_WR_SEND && !posted[3].num_sge);
	cr_assert(posted[4].opcode == IBV_WR_SEND_WITH_IMM && posted[4].imm_data == 8);
	cr_assert(posted[5].opcode == IBV_WR_SEND_WITH_INV && posted[5].invalidate_rkey == 9);
	cr_assert(posted[6].opcode == IBV_WR_LOCAL_INV && posted[6].invalidate_rkey == 10);
	cr_assert(posted[7].opcode == IBV_WR_ATOMIC_CMP_AND_SWP && posted[7].wr.atomic.rkey == 11 &&
		  posted[7].wr.atomic.remote_addr == 12 && posted[7].wr.atomic.compare_add == 13 && posted[7].wr.atomic.swap == 14);
	cr_assert(posted[8].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD && posted[8].wr.atomic.rkey == 15 &&
		  posted[8].wr.atomic.remote_addr == 16 && posted[8].wr.atomic.compare_add == 17);
	vb_qp_ex_fini(&qp);
}

/* What setters were given may change afterwards; and the batch may grow many times. */
Test(qp_ex, setters_copy)
{
	struct ibv_sge list[2] = { { 100, 1, 7 }, { 200, 2, 8 } };
	char text[] = "ab";

	open_qp();
	start(0, 0);
	for (int i = 0; i < LIST; i += 4) {
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, 9, 300 + (uint64_t)i, 3);
		ibv_wr_send(ex);
		ibv_wr_set_sge_list(ex, 2, list);
		ibv_wr_send(ex);
		text[0] = (char)('a' + i / 4);
		ibv_wr_set_inline_data(ex, text, 2);
		ibv_wr_send(ex);
	}
	memset(list, 0, sizeof(list));
	memset(text, 0, sizeof(text));
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert_eq(posts, LIST);
	for (int i = 0; i < LIST; i += 4) {
		cr_assert(posted[i].num_sge == 1 && posted_sge[i][0].lkey == 9 && posted_sge[i][0].addr == 300 + (uint64_t)i &&
			  posted_sge[i][0].length == 3);
		cr_assert(posted[i + 1].num_sge == 2 && posted_sge[i + 1][0].addr == 100 && posted_sge[i + 1][1].lkey == 8);
		cr_assert_eq(posted[i + 2].send_flags, IBV_SEND_INLINE);
		cr_assert(posted_data[i + 2][0] == 'a' + i / 4 && posted_data[i + 2][1] == 'b');
		cr_assert(!posted[i + 3].num_sge && !posted[i + 3].send_flags);
	}
	vb_qp_ex_fini(&qp);
}

Test(qp_ex, inline_lists)
{
	char abc[] = "abc", de[] = "de";
	struct ibv_data_buf list[3] = { { abc, 3 }, { NULL, 0 }, { de, 2 } };

	open_qp();
	start(0, 0);
	ibv_wr_rdma_write(ex, 0, 0);
	ibv_wr_set_inline_data_list(ex, 3, list);
	ibv_wr_rdma_write(ex, 0, 0);
	ibv_wr_set_inline_data(ex, NULL, 0);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert_str_eq(posted_data[0], "abcde");
	cr_assert_eq(posted_sge[0][0].length, 5);
	cr_assert_eq(posted_sge[1][0].length, 0);
	vb_qp_ex_fini(&qp);
}

Test(qp_ex, an_abort_posts_nothing)
{
	open_qp();
	start(1, 0);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	start(2, 0);
	ibv_wr_send(ex);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert(posts == 1 && posted[0].wr_id == 2);
	start(3, 0);
	posts = 0;
	cr_assert_eq(ibv_wr_complete(ex), 0, "nothing was built");
	cr_assert_eq(posts, 0);
	vb_qp_ex_fini(&qp);
}

/* The first error of a batch is the result of its end, nothing of it is posted, and the next batch is good again. */
static void fails(const char *why)
{
	posts = 0;
	cr_assert_eq(ibv_wr_complete(ex), EINVAL, "%s", why);
	cr_assert_eq(posts, 0);
	cr_assert(strstr(said, why), "%s", said);
	start(0, 0);
	ibv_wr_send(ex);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert_eq(posts, 1);
	start(0, 0);
}

Test(qp_ex, bad_batches)
{
	static char bytes[INLINE + 1];
	struct ibv_data_buf wraps[2] = { { bytes, SIZE_MAX }, { bytes, 2 } };
	struct ibv_sge list[SGES + 1] = { { 0 } };

	open_with(IBV_QP_EX_WITH_SEND);
	start(0, 0);
	ibv_wr_set_sge(ex, 0, 0, 0);
	ibv_wr_send(ex);
	fails("ibv_wr_complete: a setter was called before a builder");
	ibv_wr_send(ex);
	ibv_wr_rdma_read(ex, 0, 0);
	fails("without the op in send_ops_flags");
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, SGES + 1, list);
	fails("more scatter/gather elements than max_send_sge");
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, bytes, INLINE + 1);
	fails("longer than max_inline_data");
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, wraps);
	fails("longer than max_inline_data");
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 0, 0, 0);
	ibv_wr_set_inline_data(ex, bytes, 1);
	fails("two setters");
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, bytes, 0);
	ibv_wr_set_sge(ex, 0, 0, 0);
	fails("two setters");
	ibv_wr_abort(ex);
	vb_qp_ex_fini(&qp);
}

/* The sentence is the first error's, and no later call looks for what there is not. */
Test(qp_ex, calls_behind_an_error)
{
	static char bytes[INLINE];
	struct ibv_sge list[SGES] = { { 0 } };

	open_with(IBV_QP_EX_WITH_SEND);
	start(0, 0);
	ibv_wr_set_sge(ex, 0, 0, 0);
	ibv_wr_rdma_write(ex, 1, 2);
	ibv_wr_rdma_write_imm(ex, 3, 4, 5);
	ibv_wr_rdma_read(ex, 6, 7);
	ibv_wr_send_imm(ex, 8);
	ibv_wr_send_inv(ex, 9);
	ibv_wr_local_inv(ex, 10);
	ibv_wr_atomic_cmp_swp(ex, 11, 12, 13, 14);
	ibv_wr_atomic_fetch_add(ex, 15, 16, 17);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, SGES, list);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, bytes, INLINE);
	fails("a setter was called before a builder");
	ibv_wr_abort(ex);
	vb_qp_ex_fini(&qp);
}

/* As many elements and bytes as the queue pair was made with. */
Test(qp_ex, largest_request)
{
	static char bytes[INLINE];
	struct ibv_sge list[SGES] = { { 0 } };

	open_qp();
	start(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, bytes, INLINE);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, SGES, list);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert(posts == 2 && posted_sge[0][0].length == INLINE && posted[1].num_sge == SGES);
	vb_qp_ex_fini(&qp);
}

Test(qp_ex, the_post_may_refuse)
{
	open_qp();
	post_result = ENOMEM;
	start(0, 0);
	ibv_wr_send(ex);
	cr_assert_eq(ibv_wr_complete(ex), ENOMEM);
	post_result = 0;
	start(0, 0);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	vb_qp_ex_fini(&qp);
}

Test(qp_ex, ops_that_there_are_not)
{
	qp = (struct vb_qp_head){ .sge_most = SGES };
	cr_assert_eq(vb_qp_ex_init(&qp, vb_qp_kind(IBV_QPT_RC), IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO), EOPNOTSUPP);
	cr_assert(strstr(said, "send_ops_flags 0x400"), "%s", said);
	cr_assert_null(ibv_qp_to_qp_ex(&qp.ibv));
	vb_qp_ex_fini(&qp);
}
