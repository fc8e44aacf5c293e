/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vb_cq.c - completion queues with entries. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "emu/verbs/queues/vb_async.h"
#include "tests/unit/verbs/pushed.h"

/* Good and failed entries come in the order of their pushes, over several polls or in one. */
static void order(int at_once)
{
	struct ibv_wc wc[8];
	int got = 0, one;

	open_all(8);
	for (uint64_t i = 0; i < 6; i++) {
		struct vb_wr *wr = posted(&sends, i, IBV_WC_SEND);

		if (i == 2 || i == 3)
			push_failed(wr, REFUSAL_RANGE, "why");
		else
			push_good(wr, 0, 0);
	}
	while ((one = ibv_poll_cq(cq, at_once, wc + got)) > 0)
		got += one;
	cr_assert_eq(one, 0);
	cr_assert_eq(got, 6);
	for (uint64_t i = 0; i < 6; i++) {
		cr_assert_eq(wc[i].wr_id, i);
		cr_assert_eq(wc[i].status, i == 2 || i == 3 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS);
	}
	close_all();
}

Test(vb_cq, order_one_by_one)
{
	order(1);
}

Test(vb_cq, order_at_once)
{
	order(8);
}

/* At cqe entries it is full: the first are kept, the others are lost, and one event tells so. */
Test(vb_cq, overruns)
{
	struct ibv_async_event event;

	open_all(2);
	cr_assert_eq(fcntl(context->async_fd, F_SETFL, O_NONBLOCK), 0);
	push_good(posted(&sends, 0, IBV_WC_SEND), 0, 0);
	push_good(posted(&sends, 1, IBV_WC_SEND), 0, 0);
	cr_assert_eq(ibv_get_async_event(context, &event), -1);
	push_good(posted(&sends, 2, IBV_WC_SEND), 0, 0);
	push_failed(posted(&sends, 3, IBV_WC_SEND), REFUSAL_CANCELLED, "lost");
	cr_assert_eq(ibv_get_async_event(context, &event), 0);
	cr_assert_eq(event.event_type, IBV_EVENT_CQ_ERR);
	cr_assert_eq(event.element.cq, cq);
	ibv_ack_async_event(&event);
	cr_assert_eq(ibv_get_async_event(context, &event), -1);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(polled().wr_id, 0);
	cr_assert_eq(polled().wr_id, 1);
	cr_assert_eq(ibv_poll_cq(cq, 1, &(struct ibv_wc){ 0 }), 0);
	close_all();
}

Test(vb_cq, overruns_that_are_ignored)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN };
	struct ibv_async_event event;

	open_all_ex(&attr);
	cr_assert_eq(fcntl(context->async_fd, F_SETFL, O_NONBLOCK), 0);
	push_good(posted(&sends, 0, IBV_WC_SEND), 0, 0);
	errno = 0;
	push_good(posted(&sends, 1, IBV_WC_SEND), 0, 0);
	cr_assert_eq(errno, 0, "nothing is refused");
	cr_assert_eq(ibv_get_async_event(context, &event), -1);
	close_all();
}

Test(vb_cq, resizes_with_entries)
{
	open_all(3);
	for (uint64_t i = 0; i < 3; i++)
		push_good(posted(&sends, i, IBV_WC_SEND), 0, 0);
	cr_assert_eq(ibv_resize_cq(cq, 2), EINVAL);
	cr_assert_eq(cq->cqe, 3);
	cr_assert_eq(ibv_resize_cq(cq, 4), 0);
	push_good(posted(&sends, 3, IBV_WC_SEND), 0, 0);
	for (uint64_t i = 0; i < 4; i++)
		cr_assert_eq(polled().wr_id, i);
	close_all();
}

Test(vb_cq, busy_while_used)
{
	open_all(1);
	vb_cq_get(vb_cq_of(cq));
	vb_cq_get(vb_cq_of(cq));
	cr_assert_eq(ibv_destroy_cq(cq), EBUSY);
	vb_cq_put(vb_cq_of(cq));
	cr_assert_eq(ibv_destroy_cq(cq), EBUSY);
	vb_cq_put(vb_cq_of(cq));
	close_all();
}

Test(vb_cq, is_of_its_context)
{
	open_all(1);
	cr_assert(vb_cq_is_of(cq, context));
	cr_assert_not(vb_cq_is_of(cq, context + 1));
	cr_assert_not(vb_cq_is_of(NULL, context));
	cq->handle++;
	cr_assert_not(vb_cq_is_of(cq, context));
	cq->handle--;
	close_all();
}

/* --- extended --- */

Test(vb_cq, extended_polls)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8,
					    .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
							IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *ex;
	uint64_t first_ns;

	open_all_ex(&attr);
	ex = (struct ibv_cq_ex *)cq;
	push_good(posted(&receives, 1, IBV_WC_RECV), 1 /* VB_CQ_IMM */, 5);
	push_failed(posted(&sends, 2, IBV_WC_RDMA_WRITE), REFUSAL_RANGE, "why");
	cr_assert_eq(ibv_start_poll(ex, &poll), 0);
	cr_assert(ex->wr_id == 1 && ex->status == IBV_WC_SUCCESS);
	cr_assert(ibv_wc_read_opcode(ex) == IBV_WC_RECV && ibv_wc_read_byte_len(ex) == 64 && ibv_wc_read_qp_num(ex) == 17);
	cr_assert(ibv_wc_read_wc_flags(ex) == IBV_WC_WITH_IMM && ibv_wc_read_imm_data(ex) == htobe32(5));
	cr_assert(!ibv_wc_read_src_qp(ex) && !ibv_wc_read_slid(ex) && !ibv_wc_read_sl(ex) && !ibv_wc_read_dlid_path_bits(ex));
	first_ns = ibv_wc_read_completion_ts(ex);
	cr_assert_gt(first_ns, 0);
	cr_assert_gt(ibv_wc_read_completion_wallclock_ns(ex), 0);
	cr_assert_eq(ibv_next_poll(ex), 0);
	cr_assert(ex->wr_id == 2 && ex->status == IBV_WC_REM_ACCESS_ERR && ibv_wc_read_vendor_err(ex) == REFUSAL_RANGE);
	cr_assert_geq(ibv_wc_read_completion_ts(ex), first_ns);
	cr_assert_eq(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	push_good(posted(&sends, 3, IBV_WC_SEND), 0, 0);
	cr_assert_eq(polled().wr_id, 3, "the plain poll takes from it, too");
	close_all();
}

static void *plain_poll(void *arg)
{
	*(struct ibv_wc *)arg = polled();
	return NULL;
}

/* Between start and end another thread's poll waits. */
Test(vb_cq, extended_polls_hold_the_queue)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8 };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *ex;
	struct ibv_wc wc = { 0 };
	pthread_t thread;

	open_all_ex(&attr);
	ex = (struct ibv_cq_ex *)cq;
	for (uint64_t i = 1; i < 4; i++)
		push_good(posted(&sends, i, IBV_WC_SEND), 0, 0);
	cr_assert_eq(ibv_start_poll(ex, &poll), 0);
	cr_assert_eq(pthread_create(&thread, NULL, plain_poll, &wc), 0);
	cr_assert_eq(ibv_next_poll(ex), 0);
	cr_assert_eq(ex->wr_id, 2);
	ibv_end_poll(ex);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(wc.wr_id, 3);
	close_all();
}
