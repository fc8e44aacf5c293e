/* SPDX-License-Identifier: BSD-2-Clause */
/* submit.h - from program threads into the device: posted ops and receives, until the role's holder takes them.
 *
 * `lock` guards the lists and the taking side of all pools. While it is held, two others are taken, under which none is: an address
 * vector's, for the authorization key that an op shows (av_shown()), and the pipe's of kernel_copy.c, by which data is copied. */
#ifndef EMU_NIC_SUBMIT_H
#define EMU_NIC_SUBMIT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/nic/base/futex_lock.h"
#include "emu/nic/ops/op.h"

struct deferred;
struct nic;
struct rx;

struct submit {
	struct futex_lock lock;
	struct op_list ops;                      /* lock */
	struct rx *rx_first, *rx_last;           /* lock */
	bool names;                              /* some post has named a region (named.h) */
	struct deferred *deferred;               /* lock; deferred ops, which wait for counters and are not posted yet */
	unsigned int deferred_count;             /* lock */
	struct deferred *changes, **changes_end; /* lock; changes of counters to be carried out */
	atomic_uint waiting;                     /* posted ops and receives; written under lock, read by any thread (D1, D2) */
};

void submit_init(struct submit *submit);
/* With the lock: to the end of the receives. */
void submit_push_rx(struct submit *submit, struct rx *rx) REQUIRES(submit->lock);
static inline bool submit_pending(const struct submit *submit)
{
	/* seq_cst: the second look of D2 must not move before the unlock (pairs with the add in the posts). */
	return atomic_load(&submit->waiting) != 0;
}
/* [role] Hands up to SLICE_OPS posted ops and all posted receives to the device. True if there were any. */
bool submit_take(struct nic *nic);
/* [role] The receives alone: for a caller that is about to find none posted. True if there were any. */
bool submit_take_receives(struct nic *nic);

#endif
