/* SPDX-License-Identifier: BSD-2-Clause */
/* test_yield.c - when a poll that finds nothing yields the processor (D7). */
#include <sched.h>

#include <criterion/criterion.h>

#include "emu/nic/role/driver.h"

static struct driver driver;
static uint64_t clock_ns, yield_takes_ns;
static int yields, settled;
static bool busy; /* the next slice finds something to do */

/* In the place of libc's. */
int sched_yield(void)
{
	clock_ns += yield_takes_ns;
	yields++;
	cr_assert_eq(settled, yields, "who gets the processor may wait for what is owed");
	return 0;
}

static uint64_t now(void *arg)
{
	(void)arg;
	return clock_ns;
}

static bool nothing(void *arg)
{
	(void)arg;
	return false;
}

static void settle(void *arg)
{
	(void)arg;
	cr_assert(driver_mine(&driver));
	clock_ns += 10000; /* counts for nothing */
	settled++;
}

static bool work(void *arg)
{
	bool did = busy;

	(void)arg;
	busy = false;
	return did;
}

static int polls_until_yield(uint64_t takes_ns)
{
	int before = yields, polls = 0;

	yield_takes_ns = takes_ns;
	while (yields == before) {
		driver_poll(&driver);
		polls++;
	}
	return polls;
}

Test(yield, soon_where_somebody_else_runs)
{
	const struct driver_ops ops = { .work = work, .pending = nothing, .settle = settle, .now_ns = now };

	driver_init(&driver, &ops);
	cr_assert_eq(polls_until_yield(400), 32);
	cr_assert_eq(polls_until_yield(50000), 32, "nobody ran at the last yield");
	cr_assert_eq(polls_until_yield(50000), 2, "somebody did");
	cr_assert_eq(polls_until_yield(400), 2);
	for (int polls = 4; polls < 32; polls *= 2)
		cr_assert_eq(polls_until_yield(3000), polls, "it took no longer than alone, but he may be there still");
	cr_assert_eq(polls_until_yield(400), 32, "he is gone");
	cr_assert_eq(polls_until_yield(400), 32);
	for (int i = 1; i < 32; i++)
		driver_poll(&driver);
	busy = true;
	cr_assert_eq(polls_until_yield(400), 1 + 32, "one that finds something begins the count anew");
	driver_fini(&driver);
}

/* What is waited for may run on another processor, and come without a yield. As long as it does not, this is tried less often. */
Test(yield, late_again_now_and_then)
{
	const struct driver_ops ops = { .work = work, .pending = nothing, .settle = settle, .now_ns = now };
	int most = 16;

	driver_init(&driver, &ops);
	cr_assert_eq(polls_until_yield(50000), 32);
	for (int turns = 2; turns <= 2 * most; turns *= 2) {
		for (int i = 0; i < (turns < most ? turns : most); i++)
			cr_assert_eq(polls_until_yield(50000), 2, "yield %d of %d", i, turns);
		if (turns < 2 * most)
			cr_assert_eq(polls_until_yield(50000), 32);
	}
	for (int i = 0; i < 3; i++)
		driver_poll(&driver);
	busy = true;
	cr_assert_eq(polls_until_yield(50000), 1 + 32, "it came: others wait less for the next try");
	cr_assert_eq(polls_until_yield(50000), 2);
	for (int i = 0; i < 2; i++)
		driver_poll(&driver);
	busy = true;
	cr_assert_eq(polls_until_yield(50000), 1 + 32);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(polls_until_yield(50000), 2, "two polls had been enough");
	cr_assert_eq(polls_until_yield(50000), 32);
	driver_fini(&driver);
}

static int slices;

static bool work_first(void *arg)
{
	(void)arg;
	return !slices++;
}

static bool after_the_first(void *arg)
{
	(void)arg;
	return slices == 1;
}

Test(yield, later_after_a_poll_whose_last_slice_found_nothing)
{
	const struct driver_ops ops = { .work = work_first, .pending = after_the_first, .settle = settle, .now_ns = now };

	driver_init(&driver, &ops);
	slices = 2;
	for (int i = 1; i < 32; i++)
		driver_poll(&driver);
	slices = 0;
	cr_assert_eq(polls_until_yield(400), 1 + 32);
	driver_fini(&driver);
}

static bool left_behind; /* somebody posts while the role is held */

static bool posted(void *arg)
{
	(void)arg;
	return left_behind;
}

static void settle_late(void *arg)
{
	settle(arg);
	left_behind = true;
}

static bool work_late(void *arg)
{
	(void)arg;
	left_behind = false;
	return false;
}

/* D2 holds there, too. */
Test(yield, leaves_nothing_behind)
{
	const struct driver_ops ops = { .work = work_late, .pending = posted, .settle = settle_late, .now_ns = now };

	driver_init(&driver, &ops);
	polls_until_yield(400);
	cr_assert(!left_behind);
	driver_fini(&driver);
}
