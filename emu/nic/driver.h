/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.h - the driver role: who runs the device.
 *
 * Exactly one thread at a time holds the role and may touch the device. A program thread that posts or polls tries for
 * it; the NIC thread serves when no program thread does. Rules, cited as D1 to D7 in the code:
 *  D1 post: push, then try; the push ends in a sequentially consistent read-modify-write.
 *  D2 release: unlock, look again at the queue and at `owed`, try again.
 *  D3 whoever leaves work that no descriptor announces sets `owed`, and wakes the NIC thread if it is armed.
 *  D4 work is done in bounded slices.
 *  D5 nobody sleeps while holding the role; a slice reaches no cancellation point (cancel.h), and control actions have
 *     cancellation off; a signal handler that re-enters finds it taken and gets -FI_EAGAIN.
 *  D6 those who must have it (fi_close, registration, loop events) count themselves; triers stand back while the
 *     count is not zero.
 *  D7 after some tens of empty polls in a row, a poll yields the processor; after two where somebody else took it the
 *     last time, and twice as many each time that nobody did. What peers wait for is sent before. */
#ifndef EMU_NIC_DRIVER_H
#define EMU_NIC_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/leaf.h"

/* What a holder runs. `work` does one bounded slice and returns true if it did anything; called with the role held.
 * `pending` says without the role whether posted ops wait, by a sequentially consistent load (D2). `wake` gets the NIC
 * thread to serve; called with the role or without. `settle` sends what peers wait for and could have travelled with something
 * else, with the role held. None is a cancellation point. `now_ns` is a clock for driver_poll(),
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
	struct leaf lock;
	atomic_uint waiting;	/* D6: those who must have the role */
	atomic_bool owed;	/* D3 */
	atomic_bool armed;	/* the NIC thread sleeps on the set and must be woken for owed work */
	atomic_uint_fast64_t polls;	/* counts program polls and posts: the NIC thread sees whether the program drives */
	int cancel_state;	/* the role, if driver_enter() took it; what driver_leave() puts back */
	struct driver_ops ops;
};

void driver_init(struct driver *driver, const struct driver_ops *ops);
void driver_fini(struct driver *driver);	/* nobody else is left; the caller may hold it */

/* Tries to take the role, run one slice, and let go (D2 included: more slices, up to a bound, while ops are posted).
 * Returns true if anything was done, false also if somebody else holds it. Program threads after a post (D1) and in
 * polls; counted in `polls`. */
bool driver_run(struct driver *driver);
/* The same in two: what the caller does in between, the slice finds. False: somebody else holds the role; then there is
 * nothing to end, and nothing was counted. */
bool driver_begin(struct driver *driver);
void driver_end(struct driver *driver);
/* One poll by a program thread: driver_run(), and D7 counted a thread. */
void driver_poll(struct driver *driver);

/* Takes the role for a control action, waiting at most about one slice (D6); cancellation is off until
 * driver_leave(). From a thread that holds it already (a signal handler): false, the caller returns -FI_EAGAIN. */
bool driver_enter(struct driver *driver);
void driver_leave(struct driver *driver);	/* D2 included */
/* Is the calling thread the holder? For asserts and for D5. */
bool driver_mine(const struct driver *driver);
/* D3: to be called by the holder. The next slice clears it, before it works. The holder's own next slice is not run
 * at once for it, except at driver_leave(). */
void driver_owe(struct driver *driver);
/* Is anything posted or owed? Any thread, without the role. */
bool driver_left(struct driver *driver);

/* NIC thread only. driver_serve() is driver_run(), not counted. Before it sleeps on the set without a timer:
 * driver_arm(); from then on work that is left calls ops.wake, and what was left before has been served or has called
 * it. When it is up: driver_disarm(). */
bool driver_serve(struct driver *driver);
void driver_arm(struct driver *driver);
void driver_disarm(struct driver *driver);

#endif
