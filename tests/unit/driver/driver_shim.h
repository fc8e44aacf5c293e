/* SPDX-License-Identifier: BSD-2-Clause */
/* driver_shim.h - emu/nic/role/driver.c compiled for the model checker: each atomic access and each lock operation is a
 * step. `mutant` leaves one thing out, to show that the checker would find it missing. */
#ifndef EMU_TESTS_DRIVER_SHIM_H
#define EMU_TESTS_DRIVER_SHIM_H

#include <sched.h>
#include <stdatomic.h>

#include "emu/nic/role/driver.h"
#include "explore.h"

enum mutant {
	WHOLE,
	NO_ORDER,       /* D1, D2: unlocking is a mere release */
	NO_SECOND_LOOK, /* D2 */
	NO_WAKE,        /* D3 */
	NO_LOCK,        /* one holder */
	NO_STAND_BACK,  /* D6 */
	NO_MARK,        /* D5: `inside` always empty */
};

static enum mutant mutant;

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

static bool shim_try(struct futex_lock *leaf)
{
	volatile uint32_t *word = (volatile uint32_t *)&leaf->state;

	explore_step("try");
	explore_fence();
	if (*word && mutant != NO_LOCK)
		return false;
	*word = 1;
	return true;
}

static bool shim_is_free(void *word)
{
	return !*(volatile uint32_t *)word;
}

static void shim_lock(struct futex_lock *leaf)
{
	explore_fence();
	explore_wait("lock", shim_is_free, &leaf->state);
	*(volatile uint32_t *)&leaf->state = 1;
}

static void shim_unlock(struct futex_lock *leaf)
{
	explore_store("unlock", (volatile void *)&leaf->state, sizeof(uint32_t), 0);
	if (mutant != NO_ORDER)
		explore_fence();
}

#undef atomic_load
#undef atomic_store
#undef atomic_fetch_add
#undef atomic_fetch_sub
#define atomic_load(at) shim_load("load " #at, at, sizeof(*(at)))
#define atomic_store(at, value) shim_store("store " #at, at, sizeof(*(at)), value)
#define atomic_fetch_add(at, value) shim_add("add " #at, at, value)
#define atomic_fetch_sub(at, value) shim_add("sub " #at, at, -(value))
#define futex_trylock shim_try
#define futex_lock shim_lock
#define futex_unlock shim_unlock

#include "emu/nic/role/driver.c"

#endif
