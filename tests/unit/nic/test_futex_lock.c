/* SPDX-License-Identifier: BSD-2-Clause */
/* test_futex_lock.c - the futex lock: one holder at a time, and a thread that sleeps on it is woken. */
#include <criterion/criterion.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/nic/base/futex_lock.h"

enum { THREADS = 4, TURNS = 20000 };

static struct futex_lock lock;
static unsigned long count; /* lock */
static pthread_barrier_t start;

/* Now and then somebody else runs in the middle, however few processors there are. */
static void *counts(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&start);
	for (int i = 0; i < TURNS; i++) {
		unsigned long was;

		futex_lock(&lock);
		was = count;
		if (i % 16 == 0)
			sched_yield();
		count = was + 1;
		futex_unlock(&lock);
	}
	return NULL;
}

Test(futex_lock, one_at_a_time)
{
	pthread_t threads[THREADS];

	cr_assert_eq(pthread_barrier_init(&start, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, counts, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(count, (unsigned long)THREADS * TURNS);
	cr_assert_eq(atomic_load(&lock.state), FUTEX_FREE);
}

static void *counts_once(void *arg)
{
	(void)arg;
	futex_lock(&lock);
	count++;
	futex_unlock(&lock);
	return NULL;
}

/* How many sleep on it: as many as the kernel would move to another futex, the other being the same one. */
static long sleepers(void)
{
	return syscall(SYS_futex, &lock.state, FUTEX_CMP_REQUEUE_PRIVATE, 0, INT_MAX, &lock.state, FUTEX_WAITED);
}

/* Each is woken by the holder that lets go: the second by the first, which has to know of it. */
Test(futex_lock, sleepers_are_woken)
{
	enum { SLEEPERS = 3 };
	pthread_t threads[SLEEPERS];

	futex_lock(&lock);
	for (int i = 0; i < SLEEPERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, counts_once, NULL), 0);
	while (sleepers() != SLEEPERS)
		sched_yield();
	cr_assert_eq(count, 0);
	futex_unlock(&lock);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(count, SLEEPERS);
	cr_assert_eq(atomic_load(&lock.state), FUTEX_FREE);
}

/* A caller that will not wait is told so, and has changed nothing. */
Test(futex_lock, trying)
{
	cr_assert(futex_trylock(&lock));
	cr_assert_not(futex_trylock(&lock));
	cr_assert_eq(atomic_load(&lock.state), FUTEX_TAKEN);
	futex_unlock(&lock);
	cr_assert(futex_trylock(&lock));
	futex_unlock(&lock);
	cr_assert_eq(atomic_load(&lock.state), FUTEX_FREE);
}
