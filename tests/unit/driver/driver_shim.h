/* SPDX-License-Identifier: BSD-2-Clause */
/* driver_shim.h - emu/nic/driver.c compiled for the model checker: each atomic access and each lock operation is a
 * step. `mutant` leaves one thing out, to show that the checker would find it missing. */
#ifndef EMU_TESTS_DRIVER_SHIM_H
#define EMU_TESTS_DRIVER_SHIM_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "emu/nic/driver.h"
#include "explore.h"

enum mutant {
	WHOLE,
	NO_FENCE,	/* D1, D2 */
	NO_SECOND_LOOK,	/* D2 */
	NO_WAKE,	/* D3 */
	NO_LOCK,	/* one holder */
	NO_STAND_BACK,	/* D6 */
	NO_MARK,	/* D5: `inside` always empty */
};

static enum mutant mutant;

static void shim_fence(void)
{
	explore_step("fence");
	if (mutant != NO_FENCE)
		explore_fence();
}

static uint64_t shim_load(const char *what, volatile void *at, size_t size)
{
	return mutant == NO_STAND_BACK && strstr(what, "waiting") ? 0 : explore_load(what, at, size);
}

/* Sequentially consistent: the store and a fence. */
static void shim_store(const char *what, volatile void *at, size_t size, uint64_t value)
{
	explore_store(what, at, size, value);
	explore_fence();
}

static void shim_add(const char *what, volatile void *at, uint32_t value)
{
	explore_step(what);
	explore_fence();
	*(volatile uint32_t *)at += value;
}

/* The lock is the mutex's first word. */
static int shim_trylock(pthread_mutex_t *mutex)
{
	volatile uint32_t *word = (volatile uint32_t *)mutex;

	explore_step("trylock");
	explore_fence();
	if (*word && mutant != NO_LOCK)
		return EBUSY;
	*word = 1;
	return 0;
}

static bool shim_is_free(void *word)
{
	return !*(volatile uint32_t *)word;
}

static int shim_lock(pthread_mutex_t *mutex)
{
	explore_fence();
	explore_wait("lock", shim_is_free, mutex);
	*(volatile uint32_t *)mutex = 1;
	return 0;
}

static int shim_unlock(pthread_mutex_t *mutex)
{
	explore_store("unlock", (volatile void *)mutex, sizeof(uint32_t), 0);
	return 0;
}

#undef atomic_load
#undef atomic_store
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_thread_fence
#define atomic_load(at) shim_load("load " #at, at, sizeof(*(at)))
#define atomic_store(at, value) shim_store("store " #at, at, sizeof(*(at)), value)
#define atomic_fetch_add(at, value) shim_add("add " #at, at, value)
#define atomic_fetch_sub(at, value) shim_add("sub " #at, at, -(value))
#define atomic_thread_fence(order) shim_fence()
#define pthread_mutex_trylock shim_trylock
#define pthread_mutex_lock shim_lock
#define pthread_mutex_unlock shim_unlock

#include "emu/nic/driver.c"

#endif
