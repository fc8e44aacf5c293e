/* SPDX-License-Identifier: BSD-2-Clause */
/* mw.c - memory windows: what programs are told of them, and binds by extended requests. Their rules are tests of tests/rules. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, BYTES = 64, BIND = 1000, ACCESS = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

static struct qp_pair pair;
static struct ibv_mr *mr; /* of B, to which windows may be bound */

static void meet(void)
{
	said_begin();
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	mr = ibv_reg_mr(pair.verbs.pd, pair.memory[B], QP_SPAN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	cr_assert_not_null(mr);
}

static void leave(void)
{
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	qp_pair_close(&pair);
}

TestSuite(verbs_mw, .init = meet, .fini = leave, .timeout = 60);
TestSuite(verbs_mw_alone, .timeout = 60);

static struct ibv_mw *window(enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(pair.verbs.pd, type);

	cr_assert_not_null(mw);
	return mw;
}

/* B binds it to `length` bytes of its memory from `at`. */
static int bind(struct ibv_mw *mw, struct ibv_mr *to, uint64_t at, uint64_t length, unsigned int access)
{
	struct ibv_mw_bind_info info = { to, (uintptr_t)pair.memory[B] + at, length, access };
	struct ibv_mw_bind call = { .wr_id = BIND, .send_flags = IBV_SEND_SIGNALED, .bind_info = info };
	struct ibv_send_wr wr = { .wr_id = BIND, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (mw->type == IBV_MW_TYPE_1)
		return ibv_bind_mw(pair.qp[B], mw, &call);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = info;
	return ibv_post_send(pair.qp[B], &wr, &bad);
}

static void binds(struct ibv_mw *mw, struct ibv_mr *to, uint64_t at, uint64_t length, unsigned int access,
		  enum ibv_wc_status status)
{
	cr_assert_eq(bind(mw, to, at, length, access), 0);
	qp_done(&pair, B, BIND, status);
}

/* A writes by this key. */
static void writes(uint32_t rkey, uint64_t at, enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, at, BYTES, &sge), *bad;

	wr.wr.rdma.rkey = rkey;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, wr.wr_id, status);
}

/* What the log and the completion of a bind say that must fail. */
static void refused(struct ibv_mw *mw, struct ibv_mr *to, uint64_t length, unsigned int access, const char *why)
{
	const char *said;

	binds(mw, to, 0, length, access, IBV_WC_MW_BIND_ERR);
	said = ibv_wc_status_str(IBV_WC_MW_BIND_ERR);
	cr_assert_not_null(strstr(said, why), "%s", said);
	cr_assert(said_has(why), "the log does not say it");
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
}

Test(verbs_mw, region_without_the_right)
{
	refused(window(IBV_MW_TYPE_1), pair.mr[B], BYTES, ACCESS, "without IBV_ACCESS_MW_BIND");
}

Test(verbs_mw, range_outside)
{
	refused(window(IBV_MW_TYPE_2), mr, QP_SPAN + 1, ACCESS, "the range is not inside the region");
}

Test(verbs_mw, no_bytes)
{
	refused(window(IBV_MW_TYPE_2), mr, 0, ACCESS, "Use IBV_WR_LOCAL_INV");
}

Test(verbs_mw, bound_already)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);

	binds(mw, mr, 0, BYTES, ACCESS, IBV_WC_SUCCESS);
	refused(mw, mr, BYTES, ACCESS, "Invalidate it first");
}

Test(verbs_mw, null_region)
{
	struct ibv_mr *null = ibv_alloc_null_mr(pair.verbs.pd);

	refused(window(IBV_MW_TYPE_1), null, BYTES, ACCESS, "bind_info.mr is no region of the QP's PD");
	cr_assert_eq(ibv_dereg_mr(null), 0);
}

/* A bind that waits behind a message for which nobody has posted a receive. */
static struct ibv_mw *waiting_bind(struct ibv_mr *to)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);

	qp_post(&pair, B, IBV_WR_SEND, 0, BYTES, 1);
	cr_assert_eq(bind(mw, to, 0, BYTES, ACCESS), 0);
	return mw;
}

Test(verbs_mw, region_that_ended_before_its_turn)
{
	struct ibv_mr *gone = ibv_reg_mr(pair.verbs.pd, pair.memory[B], BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = waiting_bind(gone);

	cr_assert_eq(ibv_dereg_mr(gone), 0);
	qp_receive(&pair, A, BYTES, 2);
	qp_done(&pair, B, 1, IBV_WC_SUCCESS);
	qp_done(&pair, B, BIND, IBV_WC_MW_BIND_ERR);
	cr_assert_not_null(strstr(ibv_wc_status_str(IBV_WC_MW_BIND_ERR), "was deregistered before the bind's turn came"));
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
}

Test(verbs_mw, window_that_ended_before_its_turn)
{
	cr_assert_eq(ibv_dealloc_mw(waiting_bind(mr)), 0);
	qp_receive(&pair, A, BYTES, 2);
	qp_done(&pair, B, 1, IBV_WC_SUCCESS);
	qp_done(&pair, B, BIND, IBV_WC_MW_BIND_ERR);
	cr_assert_not_null(strstr(ibv_wc_status_str(IBV_WC_MW_BIND_ERR), "was deallocated"));
}

Test(verbs_mw, bound_regions_stay_as_they_are)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_1);
	struct ibv_send_wr wr = { .wr_id = 3, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED }, *bad;

	binds(mw, mr, 0, BYTES, ACCESS, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_dereg_mr(mr), EBUSY);
	cr_assert(said_has("ibv_dereg_mr: 1 memory windows are bound to it"));
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_CMD);
	cr_assert_eq(errno, EBUSY);
	writes(mw->rkey, 0, IBV_WC_SUCCESS);
	wr.invalidate_rkey = mr->rkey;
	cr_assert_eq(ibv_post_send(pair.qp[B], &wr, &bad), 0);
	qp_done(&pair, B, 3, IBV_WC_MW_BIND_ERR);
	cr_assert(said_has("has the key that it was to invalidate"));
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
}

Test(verbs_mw, sentences_name_windows)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);

	binds(mw, mr, 0, BYTES, ACCESS, IBV_WC_SUCCESS);
	writes(mw->rkey, 1, IBV_WC_REM_ACCESS_ERR);
	cr_assert_not_null(strstr(ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR), "1 B past the end of a 64 B memory window"));
	cr_assert(said_has("1 B past the end of a 64 B memory window"));
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
}

Test(verbs_mw, keys_that_ended)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_1);
	uint32_t rkey;

	binds(mw, mr, 0, BYTES, ACCESS, IBV_WC_SUCCESS);
	rkey = mw->rkey;
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	writes(rkey, 0, IBV_WC_REM_ACCESS_ERR);
	cr_assert_not_null(strstr(ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR), "the memory window was ended"));
}

/* What a program could not mean. */
Test(verbs_mw, calls_that_are_refused)
{
	struct ibv_mw *one = window(IBV_MW_TYPE_1), *two = window(IBV_MW_TYPE_2);
	uint32_t rkey = one->rkey;

	cr_assert_eq(bind(one, mr, 0, BYTES, ACCESS | IBV_ACCESS_HUGETLB), EINVAL);
	cr_assert_eq(bind(two, mr, 0, BYTES, ACCESS | IBV_ACCESS_ON_DEMAND), EINVAL);
	cr_assert_eq(bind(two, NULL, 0, 0, ACCESS), EINVAL);
	cr_assert_eq(one->rkey, rkey, "a refused call changes no key");
	cr_assert_null(ibv_alloc_mw(pair.verbs.pd, (enum ibv_mw_type)3));
	cr_assert_eq(errno, EINVAL);
	one->handle ^= 1;
	cr_assert_eq(ibv_dealloc_mw(one), ENOENT);
	one->handle ^= 1;
	cr_assert_eq(ibv_dealloc_mw(one), 0);
	cr_assert_eq(ibv_dealloc_mw(two), 0);
}

Test(verbs_mw, windows_are_bound_over_and_over)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_1);

	for (int i = 0; i < 1000; i++)
		binds(mw, mr, 0, BYTES, ACCESS, IBV_WC_SUCCESS);
	writes(mw->rkey, 0, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
}

/* B binds and invalidates; a write of a UC queue pair that is refused is a success. */
static void extended_requests(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = pair.cq[B],
		.recv_cq = pair.cq[B],
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pair.verbs.pd,
		.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV,
	};
	struct ibv_mw_bind_info info = { mr, (uintptr_t)pair.memory[B], BYTES, ACCESS };
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_qp_ex *ex;

	for (int side = A; side <= B; side++)
		qp_to(&pair, side, IBV_QPS_RESET);
	cr_assert_eq(ibv_destroy_qp(pair.qp[B]), 0);
	pair.qp[B] = ibv_create_qp_ex(pair.verbs.context, &init);
	cr_assert_not_null(pair.qp[B]);
	qp_replace(&pair, A, (struct ibv_qp_init_attr){ .qp_type = type, .cap = init.cap, .sq_sig_all = 1 });
	qp_pair_meet(&pair);
	ex = ibv_qp_to_qp_ex(pair.qp[B]);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, rkey, &info);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert_eq(qp_done(&pair, B, 1, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
	pair.memory[A][0] = 1;
	writes(rkey, 0, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[B][0], 1);
	ibv_wr_start(ex);
	ex->wr_id = 2;
	ibv_wr_local_inv(ex, rkey);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	cr_assert_eq(qp_done(&pair, B, 2, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	pair.memory[A][0] = 2;
	writes(rkey, 0, type == IBV_QPT_UC ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(pair.memory[B][0], 1);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
}

Test(verbs_mw, extended_requests)
{
	extended_requests(IBV_QPT_RC);
}

Test(verbs_mw, extended_requests_of_UC)
{
	extended_requests(IBV_QPT_UC);
}

/* They have a name of their own: with many of both, none has a key of the other. */
Test(verbs_mw, keys_of_windows_and_regions_differ)
{
	enum { MANY = 512 };
	struct ibv_mw *mw[MANY];
	struct ibv_mr *more[MANY];

	for (int i = 0; i < MANY; i++) {
		mw[i] = window(IBV_MW_TYPE_2);
		more[i] = ibv_reg_mr(pair.verbs.pd, pair.memory[B], BYTES, IBV_ACCESS_LOCAL_WRITE);
		cr_assert_not_null(more[i]);
	}
	for (int i = 0; i < MANY; i++)
		for (int j = 0; j < MANY; j++)
			cr_assert(mw[i]->rkey >> 8 != more[j]->rkey >> 8 && (i == j || mw[i]->rkey >> 8 != mw[j]->rkey >> 8));
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(ibv_dealloc_mw(mw[i]), 0);
		cr_assert_eq(ibv_dereg_mr(more[i]), 0);
	}
}

/* Options of a connection, of which the device has none. */
Test(verbs_mw, no_ece)
{
	struct ibv_ece ece = { .vendor_id = 1 };

	cr_assert_eq(ibv_query_ece(pair.qp[A], &ece), EOPNOTSUPP);
	cr_assert_eq(ece.vendor_id, 0);
	ece.vendor_id = 1;
	cr_assert_eq(ibv_set_ece(pair.qp[A], &ece), EOPNOTSUPP);
}

Test(verbs_mw_alone, fault_plans)
{
	struct ibv_mw *mw;

	fault_plan("[a]\nfault = call\ncall = ibv_alloc_mw\nerror = ENOMEM\nfirst = 2\n"
		   "[b]\nfault = call\ncall = ibv_bind_mw\nerror = EAGAIN\n");
	meet();
	mw = window(IBV_MW_TYPE_1);
	cr_assert_null(ibv_alloc_mw(pair.verbs.pd, IBV_MW_TYPE_1));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_eq(bind(mw, mr, 0, BYTES, ACCESS), EAGAIN);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	leave();
}

Test(verbs_mw_alone, checked_mode_follows_binds)
{
	struct ibv_mw *mw;

	setenv("FI_EMU_CHECK", "1", 1);
	meet();
	mw = window(IBV_MW_TYPE_2);
	binds(mw, mr, 0, BYTES, ACCESS, IBV_WC_SUCCESS);
	writes(mw->rkey, 0, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_dealloc_mw(mw), 0);
	cr_assert(!said_has(" ["));
	leave();
}
