/* SPDX-License-Identifier: BSD-2-Clause */
/* low_water.c - a receive context tells that few receives are left (srx_tell_low()). */
#include <criterion/criterion.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/messages/srx.h"
#include "tests/sim/harness/bed.h"

enum { HOLD_NS = 20000000, REDIAL_NS = 1000000000, RECEIVES = 5 };

static const struct party_config receive_first = { .rules = EP_RULE_RECEIVE_FIRST };

static void count(void *arg)
{
	(*(int *)arg)++;
}

static void tell_low(struct bed *bed, uint32_t low, int *told)
{
	node_enter(bed->node[1]);
	srx_tell_low(bed->party[1]->ep->srx, low, count, told);
	node_leave(bed->node[1]);
}

static void receives(struct bed *bed, int number)
{
	for (int i = 0; i < number; i++)
		intake_post(bed->party[1], 100, 1, NULL);
	model_pass(bed->model, HOLD_NS);
}

static void messages(struct bed *bed, int number)
{
	for (int i = 0; i < number; i++) {
		struct job *job = job_message(bed->party[0], bed->party[1], 8, POST_COMPLETE, 1);

		cr_assert(job && !job_post(job));
	}
	model_pass(bed->model, HOLD_NS);
}

/* Once, when fewer are left than that, until it is asked for again. */
Test(sim_low_water, tells_once)
{
	int told = 0;
	struct bed bed;

	bed_open(&bed, 800, 2, NULL, &receive_first);
	receives(&bed, RECEIVES);
	tell_low(&bed, 3, &told);
	messages(&bed, 2);
	cr_assert_eq(told, 0, "three are left");
	messages(&bed, 1);
	cr_assert_eq(told, 1);
	messages(&bed, 1);
	cr_assert_eq(told, 1);
	receives(&bed, 4);
	tell_low(&bed, 5, &told);
	cr_assert_eq(told, 1, "five are left");
	messages(&bed, 1);
	cr_assert_eq(told, 2);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Receives that are posted after it was asked for count, too. */
Test(sim_low_water, counts_later_posts)
{
	int told = 0;
	struct bed bed;

	bed_open(&bed, 801, 2, NULL, &receive_first);
	receives(&bed, 2);
	tell_low(&bed, 2, &told);
	receives(&bed, 2);
	messages(&bed, 2);
	cr_assert_eq(told, 0);
	messages(&bed, 1);
	cr_assert_eq(told, 1);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_low_water, tells_at_once_what_is_so)
{
	int told = 0;
	struct bed bed;

	bed_open(&bed, 802, 2, NULL, &receive_first);
	receives(&bed, 2);
	tell_low(&bed, 3, &told);
	cr_assert_eq(told, 1);
	messages(&bed, 2);
	cr_assert_eq(told, 1);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

Test(sim_low_water, can_be_taken_back)
{
	int told = 0;
	struct bed bed;

	bed_open(&bed, 803, 2, NULL, &receive_first);
	receives(&bed, 2);
	tell_low(&bed, 2, &told);
	tell_low(&bed, 0, &told);
	messages(&bed, 2);
	cr_assert_eq(told, 0);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* A message that is cut off gives its receive back, and has it again. */
Test(sim_low_water, counts_a_receive_once)
{
	int told = 0;
	struct bed bed;

	bed_open(&bed, 804, 2, NULL, &receive_first);
	bed.world->weather.cut_mean = 100000;
	bed.world->weather.cuts_left = 3;
	intake_post(bed.party[1], 300000, 1, NULL);
	receives(&bed, 1);
	tell_low(&bed, 1, &told);
	cr_assert(!job_post(job_message(bed.party[0], bed.party[1], 300000, POST_COMPLETE, 1)));
	model_finish(bed.model, BED_LIMIT_NS);
	cr_assert_gt(bed.world->cuts, 0);
	cr_assert_eq(told, 0, "one of the two is left");
	messages(&bed, 1);
	model_pass(bed.model, REDIAL_NS);
	cr_assert_eq(told, 1);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Receives that are taken back do not wait any more. */
Test(sim_low_water, counts_those_that_are_taken_back)
{
	uint8_t bytes[8];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct recv_post recv = { .iov = &iov, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE };
	int told = 0;
	struct bed bed;

	bed_open(&bed, 805, 2, NULL, &receive_first);
	bed.party[1]->deaf = true;
	cr_assert(!ep_recv(bed.party[1]->ep, &recv));
	cr_assert(!ep_recv(bed.party[1]->ep, &recv));
	model_pass(bed.model, HOLD_NS);
	tell_low(&bed, 2, &told);
	cr_assert_eq(told, 0);
	node_enter(bed.node[1]);
	cr_assert(!ep_cancel(bed.party[1]->ep, NULL));
	node_leave(bed.node[1]);
	cr_assert_eq(told, 1);
	bed_close(&bed);
}
