/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cntr.c - counters: values, users, wakes. stress.c has the threads. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/queues/cntr.h"

static void count_wake(void *arg)
{
	(*(int *)arg)++;
}

Test(cntr, counts)
{
	struct cntr *cntr;

	cr_assert_eq(cntr_open(&cntr, NULL, NULL), 0);
	cr_assert_eq(cntr_read(cntr), 0);
	cntr_add(cntr, 3);
	cntr_add(cntr, 4);
	cntr_add_error(cntr, 2);
	cr_assert_eq(cntr_read(cntr), 7);
	cr_assert_eq(cntr_read_error(cntr), 2);
	cntr_set(cntr, 100);
	cntr_set_error(cntr, 50);
	cr_assert_eq(cntr_read(cntr), 100);
	cr_assert_eq(cntr_read_error(cntr), 50);
	cntr_arm(cntr);
	cntr_add(cntr, 1);
	cntr_disarm(cntr);
	cr_assert_eq(cntr_close(cntr), 0);
}

Test(cntr, wakes_while_armed)
{
	struct cntr *cntr;
	int wakes = 0;

	cr_assert_eq(cntr_open(&cntr, count_wake, &wakes), 0);
	cntr_add(cntr, 1);
	cr_assert_eq(wakes, 0);
	cntr_arm(cntr);
	cntr_arm(cntr);
	cntr_add(cntr, 1);
	cntr_add_error(cntr, 1);
	cntr_set(cntr, 1);
	cntr_set_error(cntr, 1);
	cr_assert_eq(wakes, 4);
	cntr_disarm(cntr);
	cntr_add(cntr, 1);
	cr_assert_eq(wakes, 5, "still armed once");
	cntr_disarm(cntr);
	cntr_add(cntr, 1);
	cr_assert_eq(wakes, 5);
	cr_assert_eq(cntr_close(cntr), 0);
}

Test(cntr, notifies_once)
{
	struct cntr *cntr;
	int wakes = 0;

	cr_assert_eq(cntr_open(&cntr, count_wake, &wakes), 0);
	cntr_notify(cntr);
	cntr_add(cntr, 1);
	cntr_add(cntr, 1);
	cr_assert_eq(wakes, 1);
	cntr_notify(cntr);
	cntr_arm(cntr);
	cntr_add(cntr, 1);
	cntr_disarm(cntr);
	cr_assert_eq(wakes, 2);
	cntr_set_error(cntr, 1);
	cntr_add(cntr, 1);
	cr_assert_eq(wakes, 3);
	cr_assert_eq(cntr_close(cntr), 0);
}

Test(cntr, busy_while_bound)
{
	struct cntr *cntr;

	cr_assert_eq(cntr_open(&cntr, NULL, NULL), 0);
	cntr_get(cntr);
	cntr_get(cntr);
	cntr_put(cntr);
	cr_assert_eq(cntr_close(cntr), -EBUSY);
	cntr_put(cntr);
	cr_assert_eq(cntr_close(cntr), 0);
}
