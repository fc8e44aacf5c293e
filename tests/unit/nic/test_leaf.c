/* SPDX-License-Identifier: BSD-2-Clause */
/* test_leaf.c - the leaf lock: one at a time, and whoever sleeps on it is woken. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "emu/nic/leaf.h"

enum { THREADS = 4, TURNS = 50000 };

static struct leaf leaf;
static unsigned long count;	/* leaf */

static void *counts(void *arg)
{
	(void)arg;
	for (int i = 0; i < TURNS; i++) {
		leaf_lock(&leaf);
		count++;
		leaf_unlock(&leaf);
	}
	return NULL;
}

Test(leaf, one_at_a_time)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, counts, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(count, (unsigned long)THREADS * TURNS);
	cr_assert_eq(atomic_load(&leaf.state), LEAF_FREE);
}

static void *counts_once(void *arg)
{
	(void)arg;
	leaf_lock(&leaf);
	count++;
	leaf_unlock(&leaf);
	return NULL;
}

/* Two sleep, one of them perhaps after the other: each is woken by who lets go. */
Test(leaf, sleepers_are_woken)
{
	pthread_t threads[2];

	leaf_lock(&leaf);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, counts_once, NULL), 0);
	while (atomic_load(&leaf.state) != LEAF_WAITED)
		sched_yield();
	cr_assert_eq(count, 0);
	leaf_unlock(&leaf);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(count, 2);
}
