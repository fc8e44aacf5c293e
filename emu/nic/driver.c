/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.c - the driver role: taking it, running a slice, letting go without leaving work behind.
 *
 * The argument, in one place. Somebody who leaves work (an op on the queue, `owed`) and does not run it himself has
 * found the role taken, or somebody waiting for it. That one looks for work after he has let go. Each of the four, leave
 * work and try, let go and look, is a sequentially consistent operation on an atomic, so one of the two sees the other.
 * The NIC thread, before it sleeps, says so first and looks afterwards; whoever lets go looks at the work first and
 * then whether the NIC thread sleeps. tests/unit/driver tries all the orders. */
#include "emu/nic/driver.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

enum {
	TURNS = 16,		/* slices that one call runs for other threads' posts before it leaves the rest */
	EMPTY_POLLS = 32,	/* D7 */
	EMPTY_POLLS_SHARED = 4,	/* where somebody else wanted the processor the last time: perhaps he who is waited for */
	YIELDED_NS = 3000,	/* a yield that took longer let somebody else run */
};

/* The driver that this thread holds or is just taking: marked before the lock is tried and until after it is free, so
 * that a signal handler never waits for its own thread (D5). initial-exec: readable in a signal handler. */
static _Thread_local const struct driver *inside __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned int empty_polls __attribute__((tls_model("initial-exec")));
static _Thread_local bool shared __attribute__((tls_model("initial-exec")));	/* the processor */

void driver_init(struct driver *driver, const struct driver_ops *ops)
{
	atomic_init(&driver->waiting, 0);
	atomic_init(&driver->owed, false);
	atomic_init(&driver->armed, false);
	atomic_init(&driver->polls, 0);
	atomic_init(&driver->lock.state, LEAF_FREE);
	driver->cancel_state = PTHREAD_CANCEL_ENABLE;
	driver->ops = *ops;
}

void driver_fini(struct driver *driver)
{
	if (!driver_mine(driver))
		return;
	inside = NULL;
	pthread_setcancelstate(driver->cancel_state, NULL);
}

static inline bool take(struct driver *driver)
{
	assert(!inside || inside == driver);
	if (inside || atomic_load(&driver->waiting)) /* D5, D6 */
		return false;
	inside = driver;
	atomic_signal_fence(memory_order_seq_cst);
	if (leaf_try(&driver->lock)) /* D1; pairs with let_go() */
		return true;
	inside = NULL;
	return false;
}

static void let_go(struct driver *driver)
{
	leaf_unlock(&driver->lock); /* D2; pairs with take() of whoever found the role taken */
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

/* The NIC thread serves what is left, if it sleeps; if not, it looks before it does. */
static void wake_if_armed(struct driver *driver)
{
	if (atomic_load(&driver->armed) && left(driver))
		driver->ops.wake(driver->ops.arg);
}

/* Slices until nothing posted is left (D2). What a slice itself owes is not run at once: an owed acknowledgement is
 * to travel with the next frame, and the next poll comes soon. */
static bool run_taken(struct driver *driver)
{
	bool did = false;

	for (int turn = 1;; turn++) {
		if (atomic_load_explicit(&driver->owed, memory_order_relaxed)) /* the role's holder alone changes it */
			atomic_store(&driver->owed, false);
		if (driver->ops.work(driver->ops.arg))
			did = true;
		let_go(driver);
		if (turn == TURNS || !posted(driver))
			break;
		if (!take(driver))
			return did; /* whoever holds it or waits for it looks again after us */
	}
	wake_if_armed(driver);
	return did;
}

/* With cancellation off: the slice's system calls are cancellation points (D5). */
static bool run_uncancelled(struct driver *driver)
{
	int  cancel_state;
	bool did;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	did = take(driver) && run_taken(driver);
	pthread_setcancelstate(cancel_state, NULL);
	return did;
}

/* A hint: it orders nothing, and of two that count at once one may be lost. */
static void count_poll(struct driver *driver)
{
	uint64_t polls = atomic_load_explicit(&driver->polls, memory_order_relaxed);

	atomic_store_explicit(&driver->polls, polls + 1, memory_order_relaxed);
}

bool driver_run(struct driver *driver)
{
	count_poll(driver);
	return run_uncancelled(driver);
}

bool driver_begin(struct driver *driver)
{
	int cancel_state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (!take(driver)) {
		pthread_setcancelstate(cancel_state, NULL);
		return false;
	}
	count_poll(driver);
	driver->cancel_state = cancel_state;
	return true;
}

void driver_end(struct driver *driver)
{
	int cancel_state = driver->cancel_state;

	assert(driver_mine(driver));
	run_taken(driver);
	pthread_setcancelstate(cancel_state, NULL);
}

static void yield(struct driver *driver)
{
	uint64_t from_ns = driver->ops.now_ns(driver->ops.arg);

	sched_yield();
	shared = driver->ops.now_ns(driver->ops.arg) - from_ns > YIELDED_NS;
}

void driver_poll(struct driver *driver)
{
	if (driver_run(driver)) {
		empty_polls = 0;
	} else if (++empty_polls >= (shared ? EMPTY_POLLS_SHARED : EMPTY_POLLS)) {
		empty_polls = 0;
		yield(driver);
	}
}

bool driver_enter(struct driver *driver)
{
	int cancel_state;

	if (inside == driver)
		return false;
	assert(!inside);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	inside = driver;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_fetch_add(&driver->waiting, 1); /* D6 */
	leaf_lock(&driver->lock);
	atomic_fetch_sub(&driver->waiting, 1);
	driver->cancel_state = cancel_state;
	return true;
}

void driver_leave(struct driver *driver)
{
	int cancel_state = driver->cancel_state;

	assert(driver_mine(driver));
	let_go(driver);
	if (left(driver) && take(driver))
		run_taken(driver);
	pthread_setcancelstate(cancel_state, NULL);
}

bool driver_mine(const struct driver *driver)
{
	return inside == driver;
}

void driver_owe(struct driver *driver)
{
	assert(driver_mine(driver));
	atomic_store(&driver->owed, true); /* looked at by let_go()'s callers and by driver_arm() */
}

bool driver_serve(struct driver *driver)
{
	return run_uncancelled(driver);
}

void driver_arm(struct driver *driver)
{
	atomic_store(&driver->armed, true); /* and look, both sequentially consistent: he sees us armed, or we see what he left */
	if (left(driver))
		run_uncancelled(driver);
}

void driver_disarm(struct driver *driver)
{
	atomic_store(&driver->armed, false);
}

bool driver_left(struct driver *driver)
{
	return left(driver);
}
