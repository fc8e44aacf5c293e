/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vb_wr.c - records of work requests. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/verbs/queues/vb_wr.h"

/* Those before the one that is polled were unsignaled, and are free with it. */
Test(vb_wr, a_poll_frees_those_before)
{
	struct vb_queue queue;
	struct vb_wr *wr[4];

	cr_assert_eq(vb_queue_open(&queue, 4, 1, false), 0);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 4; i++) {
			wr[i] = vb_queue_take(&queue);
			cr_assert_not_null(wr[i]);
			cr_assert_eq(wr[i]->queue, &queue);
		}
		cr_assert_null(vb_queue_take(&queue));
		cr_assert_eq(vb_queue_out(&queue), 4);
		vb_queue_free_to(wr[2]);
		cr_assert_eq(vb_queue_out(&queue), 1);
		cr_assert_eq(vb_queue_take(&queue), wr[0]);
		vb_queue_free_to(wr[0]);
		cr_assert_eq(vb_queue_out(&queue), 0);
	}
	vb_queue_close(&queue);
}

Test(vb_wr, a_post_that_fails_gives_its_record_back)
{
	struct vb_queue queue;
	struct vb_wr *wr;

	cr_assert_eq(vb_queue_open(&queue, 2, 1, false), 0);
	vb_queue_take(&queue);
	wr = vb_queue_take(&queue);
	vb_queue_untake(&queue, wr);
	cr_assert_eq(vb_queue_out(&queue), 1);
	cr_assert_eq(vb_queue_take(&queue), wr);
	cr_assert_null(vb_queue_take(&queue));
	vb_queue_reset(&queue);
	cr_assert_eq(vb_queue_out(&queue), 0);
	vb_queue_close(&queue);
}

Test(vb_wr, none_may_be_posted)
{
	struct vb_queue queue;

	cr_assert_eq(vb_queue_open(&queue, 0, 1, false), 0);
	cr_assert_null(vb_queue_take(&queue));
	vb_queue_close(&queue);
}

/* Receives of a shared queue end in any order, since each QP has its own. */
Test(vb_wr, shared_records_free_themselves)
{
	struct vb_queue queue;
	struct vb_wr *wr[3];

	cr_assert_eq(vb_queue_open(&queue, 3, 0, true), 0);
	for (int i = 0; i < 3; i++)
		wr[i] = vb_queue_take(&queue);
	cr_assert_null(vb_queue_take(&queue));
	vb_queue_free_to(wr[2]);
	cr_assert_eq(vb_queue_out(&queue), 2);
	cr_assert_eq(vb_queue_take(&queue), wr[2]);
	cr_assert_null(vb_queue_take(&queue));
	vb_queue_untake(&queue, wr[2]);
	cr_assert_eq(vb_queue_out(&queue), 2);
	vb_queue_close(&queue);
}

Test(vb_wr, shared_queues_change_their_size)
{
	struct vb_queue queue;
	struct vb_wr *wr[5];

	cr_assert_eq(vb_queue_open(&queue, 2, 0, true), 0);
	wr[0] = vb_queue_take(&queue);
	wr[1] = vb_queue_take(&queue);
	cr_assert_eq(vb_queue_resize(&queue, 1), EINVAL);
	cr_assert_null(vb_queue_take(&queue));
	cr_assert_eq(vb_queue_resize(&queue, 5), 0);
	for (int i = 2; i < 5; i++) {
		wr[i] = vb_queue_take(&queue);
		cr_assert_not_null(wr[i]);
		cr_assert_eq(wr[i]->queue, &queue);
	}
	cr_assert_null(vb_queue_take(&queue));
	for (int i = 0; i < 5; i++)
		vb_queue_free_to(wr[i]);
	cr_assert_eq(vb_queue_resize(&queue, 1), 0);
	cr_assert_not_null(vb_queue_take(&queue));
	cr_assert_null(vb_queue_take(&queue));
	vb_queue_close(&queue);
}
