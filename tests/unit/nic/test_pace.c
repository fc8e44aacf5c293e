/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pace.c - the scheduler of slices: posts alone, looks at the clock, acknowledgements, deadlines. */
#include <criterion/criterion.h>

#include "emu/nic/device/pace.h"

static struct pace pace;

static void setup(void)
{
	pace_init(&pace);
}

TestSuite(pace, .init = setup);

/* A program that only posts has its lines read all the same. */
Test(pace, posts_alone_until_lines_are_due)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 1; i < SLICE_LAZY_POSTS; i++)
			cr_assert(pace_posts_alone(&pace, true), "post %d", i);
		cr_assert_not(pace_posts_alone(&pace, true));
	}
	cr_assert(pace_posts_alone(&pace, true));
	cr_assert_not(pace_posts_alone(&pace, false), "a poll");
	for (int i = 1; i < SLICE_LAZY_POSTS; i++)
		cr_assert(pace_posts_alone(&pace, true), "counted anew");
}

Test(pace, idle_slices_look_at_the_clock_and_busy_ones_seldom)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 1; i < SLICE_BLIND; i++)
			cr_assert_not(pace_looks(&pace, true), "slice %d", i);
		cr_assert(pace_looks(&pace, true));
	}
	cr_assert_not(pace_looks(&pace, true));
	cr_assert(pace_looks(&pace, false));
	for (int i = 1; i < SLICE_BLIND; i++)
		cr_assert_not(pace_looks(&pace, true), "counted anew");
}

Test(pace, acknowledgements_go_after_polls_in_vain)
{
	for (unsigned int i = 1; i < SLICE_IDLE_ACKS; i++)
		cr_assert_not(pace_settles(&pace, false, false, true), "slice %u", i);
	cr_assert(pace_settles(&pace, false, false, true));
	cr_assert_not(pace_settles(&pace, false, false, false), "nothing is owed");
	cr_assert_not(pace_settles(&pace, true, true, true), "there is work");
	cr_assert_not(pace_settles(&pace, false, false, true), "counted anew");
	cr_assert(pace_settles(&pace, false, true, true), "the deadline");
	pace.idle_before_ack = 1;
	pace.idle_slices = 0;
	cr_assert(pace_settles(&pace, false, false, false), "its number is to be set back");
}

Test(pace, a_deadline_is_the_earliest_timer)
{
	cr_assert_eq(pace_deadline(&pace), UINT64_MAX);
	cr_assert(pace_due(&pace, 900));
	cr_assert_not(pace_due(&pace, 900));
	cr_assert_not(pace_due(&pace, 1000));
	cr_assert(pace_due(&pace, 800));
	cr_assert_eq(pace_deadline(&pace), 800);
	cr_assert_eq(pace.timers_ns, 800);
}

Test(pace, a_look_at_the_timers_moves_the_deadline_at_its_end)
{
	cr_assert(pace_due(&pace, 900));
	pace_tick_begin(&pace);
	cr_assert_not(pace_due(&pace, 500));
	cr_assert_not(pace_due(&pace, 700));
	cr_assert_eq(pace_deadline(&pace), 900);
	pace_tick_end(&pace);
	cr_assert_eq(pace_deadline(&pace), 500);
	pace_tick_begin(&pace);
	pace_tick_end(&pace);
	cr_assert_eq(pace_deadline(&pace), UINT64_MAX, "no timer is left");
}

Test(pace, waiting_frames_need_one_deadline)
{
	cr_assert_not(pace_unflushed(&pace, false));
	cr_assert(pace_unflushed(&pace, true));
	pace_flush_by(&pace, 1000);
	cr_assert_eq(pace_deadline(&pace), 1000 + TIME_FLUSH_NS);
	cr_assert_not(pace_unflushed(&pace, true), "it has one");
	pace_timers_alone(&pace);
	cr_assert(pace_unflushed(&pace, true), "it was taken back");
	cr_assert(pace_due(&pace, 2000));
	pace_flush_by(&pace, 1000);
	cr_assert_eq(pace_deadline(&pace), 2000, "the timer is earlier");
}

Test(pace, an_earlier_deadline_than_before_the_slice)
{
	cr_assert_not(pace_sooner(&pace, UINT64_MAX));
	cr_assert(pace_due(&pace, 900));
	cr_assert(pace_sooner(&pace, 901));
	cr_assert_not(pace_sooner(&pace, 900));
	cr_assert_eq(pace_deadline(&pace), 900);
}
