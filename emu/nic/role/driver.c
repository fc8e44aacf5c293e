/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.c - the driver role: taking it, running a slice, letting go without leaving work behind.
 *
 * The argument, in one place. A thread that leaves work (an op on the queue, `owed`) and does not run it itself has found
 * the role taken, or another thread waiting for it. That thread looks for work after it has let go. Each of the four, leave
 * work and try, let go and look, is a sequentially consistent operation on an atomic, so one of the two sees the other.
 * The NIC thread, before it sleeps, says so first and looks afterwards; a thread that lets go looks at the work first and
 * then whether the NIC thread sleeps. tests/unit/driver tries all the orders. */
#include "emu/nic/role/driver.h"

#include <assert.h>
#include <sched.h>
#include <stddef.h>

#include "emu/nic/base/cancel.h"

enum {
	TURNS = 16,             /* slices that one call runs for other threads' posts before it leaves the rest */
	EMPTY_POLLS = 32,       /* D7 */
	EMPTY_POLLS_SHARED = 2, /* another thread took the processor the last time: perhaps the one we wait for */
	SHARED_TURNS = 16,      /* such yields, at most, before EMPTY_POLLS are tried: it may run on another one by now */
	YIELDED_NS = 3000,      /* a yield that took longer let another thread run */
};

/* The driver that this thread holds or is just taking: marked before the lock is tried and until after it is free, so
 * that a signal handler never waits for its own thread (D5). initial-exec: readable in a signal handler. */
static _Thread_local const struct driver *inside __attribute__((tls_model("initial-exec")));
/* D7 */
static _Thread_local struct {
	unsigned int patience, empty_polls; /* before a yield, and how many of them are left */
	unsigned int turns, turns_left;     /* yields with little patience, before more is tried */
	bool pays;                          /* patience: what was waited for has come meanwhile */
} waits __attribute__((tls_model("initial-exec"))) = { .patience = EMPTY_POLLS, .empty_polls = EMPTY_POLLS, .turns = 1 };

void driver_init(struct driver *driver, const struct driver_ops *ops)
{
	atomic_init(&driver->waiting, 0);
	atomic_init(&driver->owed, false);
	atomic_init(&driver->armed, false);
	atomic_init(&driver->polls, 0);
	atomic_init(&driver->lock.state, FUTEX_FREE);
	driver->cancel_state = PTHREAD_CANCEL_ENABLE;
	driver->ops = *ops;
}

void driver_fini(struct driver *driver)
{
	if (!driver_mine(driver))
		return;
	inside = NULL;
	cancel_back(driver->cancel_state);
}

static inline bool driver_trylock(struct driver *driver) TRY_ACQUIRE(true, driver->lock)
{
	assert(!inside || inside == driver);
	if (inside || atomic_load(&driver->waiting)) /* D5, D6 */
		return false;
	inside = driver;
	atomic_signal_fence(memory_order_seq_cst);
	if (futex_trylock(&driver->lock)) /* D1; pairs with driver_unlock() */
		return true;
	inside = NULL;
	return false;
}

static void driver_unlock(struct driver *driver) RELEASE(driver->lock)
{
	futex_unlock(&driver->lock); /* D2; pairs with driver_trylock() of a thread that found the role taken */
	atomic_signal_fence(memory_order_seq_cst);
	inside = NULL;
}

static bool posted(struct driver *driver)
{
	return driver->ops.pending(driver->ops.arg);
}

static bool left(struct driver *driver)
{
	return atomic_load(&driver->owed) || posted(driver);
}

/* A sleeping NIC thread is woken to serve the work that is left; one that is awake looks before it sleeps. */
static void wake_if_armed(struct driver *driver)
{
	if (atomic_load(&driver->armed) && left(driver))
		driver->ops.wake(driver->ops.arg);
}

static bool run_slice(struct driver *driver) RELEASE(driver->lock)
{
	bool did;

	if (atomic_load_explicit(&driver->owed, memory_order_relaxed)) /* the role's holder alone changes it */
		atomic_store(&driver->owed, false);
	did = driver->ops.work(driver->ops.arg);
	driver_unlock(driver);
	return did;
}

/* Another thread has posted meanwhile. */
__attribute__((noinline)) static bool run_on(struct driver *driver)
{
	bool did = false;
	int turn = 1;

	do {
		if (!driver_trylock(driver))
			return did; /* the thread that holds it or waits for it looks again after us */
		did |= run_slice(driver);
	} while (++turn < TURNS && posted(driver));
	wake_if_armed(driver);
	return did;
}

/* Runs slices until no posted op is left (D2). It runs no slice for acknowledgements that a slice itself leaves owed: they
 * travel with the next frame, and the next poll comes soon. */
static bool run_taken(struct driver *driver) RELEASE(driver->lock)
{
	bool did = run_slice(driver);

	if (posted(driver))
		return run_on(driver) || did;
	wake_if_armed(driver);
	return did;
}

static bool driver_try_run(struct driver *driver)
{
	return driver_trylock(driver) && run_taken(driver);
}

/* A hint: it orders nothing, and when two threads count at once one count may be lost. */
static void count_poll(struct driver *driver)
{
	uint64_t polls = atomic_load_explicit(&driver->polls, memory_order_relaxed);

	atomic_store_explicit(&driver->polls, polls + 1, memory_order_relaxed);
}

bool driver_run(struct driver *driver)
{
	count_poll(driver);
	return driver_try_run(driver);
}

bool driver_begin(struct driver *driver) UNCHECKED
{
	if (!driver_trylock(driver))
		return false;
	count_poll(driver);
	return true;
}

void driver_end(struct driver *driver) UNCHECKED
{
	assert(driver_mine(driver));
	run_taken(driver);
}

/* The thread that takes the processor may wait for a frame that we owe. */
static void driver_send_acks(struct driver *driver)
{
	if (!driver_trylock(driver))
		return;
	driver->ops.settle(driver->ops.arg);
	driver_unlock(driver);
	if (posted(driver))
		run_on(driver);
	else
		wake_if_armed(driver);
}

/* Only a longer wait tells whether the awaited thread runs on this processor. One in vain is tried again later. */
static void another_ran(void)
{
	if (waits.patience > EMPTY_POLLS_SHARED) {
		waits.turns = waits.pays ? 1 : waits.turns < SHARED_TURNS ? 2 * waits.turns : SHARED_TURNS;
		waits.turns_left = waits.turns;
		waits.patience = EMPTY_POLLS_SHARED;
	} else if (!--waits.turns_left) {
		waits.patience = EMPTY_POLLS;
	}
	waits.pays = false;
}

__attribute__((noinline)) static void yield(struct driver *driver)
{
	uint64_t from_ns;

	driver_send_acks(driver);
	from_ns = driver->ops.now_ns(driver->ops.arg);
	sched_yield();
	if (driver->ops.now_ns(driver->ops.arg) - from_ns > YIELDED_NS)
		another_ran();
	else if (waits.patience < EMPTY_POLLS)
		waits.patience *= 2;
}

void driver_poll(struct driver *driver)
{
	if (driver_run(driver)) {
		waits.pays |= waits.empty_polls + EMPTY_POLLS_SHARED < waits.patience;
	} else {
		if (--waits.empty_polls)
			return;
		yield(driver);
	}
	waits.empty_polls = waits.patience;
}

bool driver_enter(struct driver *driver) UNCHECKED
{
	int cancel_state;

	if (inside == driver)
		return false;
	assert(!inside);
	cancel_state = cancel_off(); /* control actions reach cancellation points */
	inside = driver;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_fetch_add(&driver->waiting, 1); /* D6 */
	futex_lock(&driver->lock);
	atomic_fetch_sub(&driver->waiting, 1);
	driver->cancel_state = cancel_state;
	return true;
}

void driver_leave(struct driver *driver) UNCHECKED
{
	int cancel_state = driver->cancel_state;

	assert(driver_mine(driver));
	driver_unlock(driver);
	if (left(driver) && driver_trylock(driver))
		run_taken(driver);
	cancel_back(cancel_state);
}

bool driver_mine(const struct driver *driver)
{
	return inside == driver;
}

bool driver_held(void)
{
	return inside;
}

void driver_owe(struct driver *driver)
{
	assert(driver_mine(driver));
	atomic_store(&driver->owed, true); /* looked at by driver_unlock()'s callers and by driver_arm() */
}

bool driver_serve(struct driver *driver)
{
	return driver_try_run(driver);
}

void driver_arm(struct driver *driver)
{
	atomic_store(&driver->armed, true); /* then look, both sequentially consistent: a poster sees us armed or we see its work */
	if (left(driver))
		driver_try_run(driver);
}

void driver_disarm(struct driver *driver)
{
	atomic_store(&driver->armed, false);
}

bool driver_left(struct driver *driver)
{
	return left(driver);
}
