/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_ready.h - what can get on, one after the other and a bounded part of it in each slice. No step runs inside another, so a
 * peer's messages never nest calls.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_COLL_READY_H
#define EMU_NIC_COLL_READY_H

#include <stdbool.h>
#include <stdint.h>

struct nic;

struct coll_ready {
	struct coll_ready *next;
	bool queued;
	/* Takes a step; *budget: bytes that may still be copied or reduced in this slice. It may queue itself again. */
	void (*step)(struct coll_ready *ready, uint64_t *budget);
};

/* Has it step in this slice or, outside of one, in the next. */
void coll_queue(struct nic *nic, struct coll_ready *ready);
/* It is about to go. */
void coll_unqueue(struct nic *nic, struct coll_ready *ready);
void coll_work(struct nic *nic); /* steps */
/* Something is queued, and this slice may not see it, as connections also break while it sends, at its end: has another slice
 * come at once. */
void coll_again(struct nic *nic);

#endif
