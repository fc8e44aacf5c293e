/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.h - the driver role: which thread runs the device.
 *
 * Exactly one thread at a time holds the role and may touch the device. A program thread that posts or polls tries for
 * it; the NIC thread serves when no program thread does. Rules, cited as D1 to D7 in the code:
 *  D1 post: push, then try; the push ends in a sequentially consistent read-modify-write.
 *  D2 release: unlock, look again at the queue and at `owed`, try again.
 *  D3 a thread that leaves work which no descriptor announces sets `owed`, and wakes the NIC thread if it is armed.
 *  D4 work is done in bounded slices.
 *  D5 no thread sleeps while holding the role; a slice reaches no cancellation point (no_sleep.h), and control actions have
 *     cancellation off; a signal handler that interrupts the role's holder gets -EAGAIN. One that interrupts a thread
 *     within a leaf lock (futex_lock.h) may not call: it would wait for its own thread, as with malloc(). emu/USING.md says so.
 *  D6 threads that must have it (fi_close, registration, loop events) count themselves; triers stand back while the
 *     count is not zero.
 *  D7 after some tens of empty polls in a row, a poll yields the processor; after two if another thread took it the
 *     last time, and twice as many each time that none did. Tens are tried again at the next such yield if what was waited
 *     for came meanwhile, and later if not. Frames that peers wait for are sent before. */
#ifndef EMU_NIC_DRIVER_H
#define EMU_NIC_DRIVER_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/futex_lock.h"

/* Run by a holder. `work` does one bounded slice and returns true if it did anything; called with the role held.
 * `pending` says without the role whether posted ops wait, by a sequentially consistent load (D2). `wake` gets the NIC
 * thread to serve; called with the role or without. `settle` sends frames that peers wait for and that could have travelled with
 * others, with the role held. None is a cancellation point. `now_ns` is a clock for driver_poll(),
 * any thread. All get `arg`. */
struct driver_ops {
	bool (*work)(void *arg);
	bool (*pending)(void *arg);
	void (*wake)(void *arg);
	void (*settle)(void *arg);
	uint64_t (*now_ns)(void *arg);
	void *arg;
};

struct driver {
	struct futex_lock lock;
	atomic_uint waiting;        /* D6: threads that must have the role */
	atomic_bool owed;           /* D3 */
	atomic_bool armed;          /* the NIC thread sleeps on the set and must be woken for owed work */
	atomic_uint_fast64_t polls; /* counts program polls and posts: the NIC thread sees whether the program drives */
	int cancel_state;           /* the role, if driver_enter() took it; driver_leave() restores it */
	struct driver_ops ops;
};

void driver_init(struct driver *driver, const struct driver_ops *ops);
void driver_fini(struct driver *driver); /* no other thread uses it any more; the caller may hold it */

/* Tries to take the role, run one slice, and let go (D2 included: more slices, up to a bound, while ops are posted).
 * Returns true if anything was done, false also if another thread holds it. Program threads after a post (D1) and in
 * polls; counted in `polls`. */
bool driver_run(struct driver *driver);
/* driver_run() in two: the slice finds the work that the caller leaves in between. False: another thread holds the role;
 * then there is nothing to end, and nothing was counted. */
bool driver_begin(struct driver *driver) TRY_ACQUIRE(true, driver_role);
void driver_end(struct driver *driver) RELEASE(driver_role);
/* One poll by a program thread: driver_run(), and D7 counted a thread. */
void driver_poll(struct driver *driver);

/* Takes the role for a control action, waiting at most about one slice (D6); cancellation is off until
 * driver_leave(). From a thread that holds it already (a signal handler): false, the caller returns -EAGAIN. */
bool driver_enter(struct driver *driver) TRY_ACQUIRE(true, driver_role);
void driver_leave(struct driver *driver) RELEASE(driver_role); /* D2 included */
/* driver_enter() by a thread that cannot have the role. */
static inline void driver_take(struct driver *driver) ACQUIRE(driver_role) UNCHECKED
{
	bool taken = driver_enter(driver);

	assert(taken);
	(void)taken;
}
/* Is the calling thread the holder? For asserts and for D5. */
bool driver_mine(const struct driver *driver);
/* Does the calling thread hold a driver's role, whichever? */
bool driver_held(void);
/* A function marked [role], or of a header whose thread is the holder of the driver role, begins with this, or with nic_role()
 * (nic_impl.h) if it has the nic. It is checked where EMU_ROLE_CHECKS is defined, in builds of the type Debug: dev, asan, tsan
 * and fuzz, with the simulation and the unit tests of each. In a release build it is nothing: an op passes some sixty of them. */
static inline void role_assert(void) ASSERT_CAPABILITY(driver_role) UNCHECKED
{
#ifdef EMU_ROLE_CHECKS
	assert(driver_held());
#endif
}
/* D3: to be called by the holder. The next slice clears it, before it works. The holder's own next slice is not run
 * at once for it, except at driver_leave(). */
void driver_owe(struct driver *driver);
/* Is anything posted or owed? Any thread, without the role. */
bool driver_left(struct driver *driver);

/* NIC thread only. driver_serve() is driver_run(), not counted. Before it sleeps on the set without a timer:
 * driver_arm(); from then on work that is left calls ops.wake, and work left before has been served or has called
 * it. When it is up: driver_disarm(). */
bool driver_serve(struct driver *driver);
void driver_arm(struct driver *driver);
void driver_disarm(struct driver *driver);

#endif
