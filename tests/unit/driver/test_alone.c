/* SPDX-License-Identifier: BSD-2-Clause */
/* test_alone.c - the driver role in one thread: which threads it wakes, and what its end leaves of the thread's state. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "emu/nic/role/driver.h"

static struct driver driver;
static bool posts; /* there is always one more */
static int wakes;

static bool work(void *arg)
{
	(void)arg;
	return posts;
}

static bool pending(void *arg)
{
	(void)arg;
	return posts;
}

static void wake(void *arg)
{
	(void)arg;
	wakes++;
}

static void init(void)
{
	const struct driver_ops ops = { .work = work, .pending = pending, .wake = wake };

	driver_init(&driver, &ops);
}

/* A wake is a system call: none for a NIC thread that is awake, and looks before it sleeps, nor for nothing. */
Test(alone, wakes_a_sleeper_for_work)
{
	init();
	posts = true;
	driver_run(&driver);
	cr_assert_eq(wakes, 0, "awake");
	posts = false;
	driver_arm(&driver);
	driver_run(&driver);
	cr_assert_eq(wakes, 0, "nothing is left");
	posts = true;
	driver_run(&driver);
	cr_assert_eq(wakes, 1);
	driver_disarm(&driver);
	driver_fini(&driver);
}

/* Held or not when it ends: the thread may be cancelled just as before. */
Test(alone, ends_as_it_began)
{
	for (int held = 0; held < 2; held++)
		for (int before = 0; before < 2; before++) {
			int state = before ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, after;

			pthread_setcancelstate(state, NULL);
			init();
			if (held)
				cr_assert(driver_enter(&driver));
			driver_fini(&driver);
			cr_assert_not(driver_mine(&driver));
			pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &after);
			cr_assert_eq(after, state, "held %d", held);
		}
}

static void *begin(void *arg)
{
	*(bool *)arg = driver_begin(&driver);
	return NULL;
}

/* Between driver_begin() and driver_end() the caller has the role, and nobody else gets it. */
Test(alone, holds_what_it_begins)
{
	bool got = true;
	pthread_t other;

	init();
	cr_assert(driver_begin(&driver));
	cr_assert(driver_mine(&driver));
	cr_assert_not(driver_begin(&driver), "a signal handler's");
	cr_assert_not(pthread_create(&other, NULL, begin, &got) || pthread_join(other, NULL));
	cr_assert_not(got);
	driver_end(&driver);
	cr_assert_not(driver_mine(&driver));
	cr_assert_eq(atomic_load(&driver.polls), 1);
	driver_fini(&driver);
}
