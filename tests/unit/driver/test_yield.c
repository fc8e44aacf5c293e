/* SPDX-License-Identifier: BSD-2-Clause */
/* test_yield.c - when a poll that finds nothing yields the processor (D7). */
#include <sched.h>

#include <criterion/criterion.h>

#include "emu/nic/driver.h"

static struct driver driver;
static uint64_t clock_ns, yield_takes_ns;
static int yields;
static bool busy;		/* the next slice finds something to do */

/* In the place of libc's. */
int sched_yield(void)
{
	clock_ns += yield_takes_ns;
	yields++;
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
	const struct driver_ops ops = { .work = work, .pending = nothing, .now_ns = now };

	driver_init(&driver, &ops);
	cr_assert_eq(polls_until_yield(400), 32);
	cr_assert_eq(polls_until_yield(50000), 32, "nobody ran at the last yield");
	cr_assert_eq(polls_until_yield(50000), 4, "somebody did");
	cr_assert_eq(polls_until_yield(400), 4);
	cr_assert_eq(polls_until_yield(3000), 32, "he is gone");
	cr_assert_eq(polls_until_yield(400), 32, "that was no longer than it takes alone");
	for (int i = 1; i < 32; i++)
		driver_poll(&driver);
	busy = true;
	cr_assert_eq(polls_until_yield(400), 1 + 32, "one that finds something begins the count anew");
	driver_fini(&driver);
}
