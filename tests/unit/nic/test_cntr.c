/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cntr.c - counters: values, users, and a wake that is never missed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "emu/nic/cntr.h"

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
	cntr_close(cntr);
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

enum { ROUNDS = 20000 };

static void post(void *arg)
{
	sem_post(arg);
}

static void *add_many(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		cntr_add(arg, 1);
	return NULL;
}

/* A waiter that arms, looks and sleeps until woken reaches the end: a missed wake would hang here. */
Test(cntr, no_wake_is_missed, .timeout = 60)
{
	pthread_t adders[2];
	struct cntr *cntr;
	sem_t woken;

	sem_init(&woken, 0, 0);
	cr_assert_eq(cntr_open(&cntr, post, &woken), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&adders[i], NULL, add_many, cntr), 0);
	for (uint64_t seen = 0; seen < 2 * ROUNDS;) {
		cntr_arm(cntr);
		while (cntr_read(cntr) == seen)
			sem_wait(&woken);
		seen = cntr_read(cntr);
		cntr_disarm(cntr);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(adders[i], NULL);
	cr_assert_eq(cntr_read(cntr), 2 * ROUNDS);
	cntr_close(cntr);
}
