/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_ready.c - the queue of what can get on. */
#include "emu/nic/collectives/coll_impl.h"

#include <stddef.h>

#include "emu/nic/device/nic_impl.h"

void coll_queue(struct nic *nic, struct coll_ready *ready)
{
	nic_role(nic);
	if (ready->queued)
		return;
	ready->queued = true;
	ready->next = NULL;
	*nic->ready_end = ready;
	nic->ready_end = &ready->next;
	nic->pace.urgent = true;
	nic_kick(nic);
}

void coll_unqueue(struct nic *nic, struct coll_ready *ready)
{
	struct coll_ready **at = &nic->ready;

	nic_role(nic);
	if (!ready->queued)
		return;
	while (*at != ready)
		at = &(*at)->next;
	*at = ready->next;
	if (!ready->next)
		nic->ready_end = at;
	ready->queued = false;
}

void coll_work(struct nic *nic)
{
	uint64_t budget = SLICE_COLL_BYTES;

	nic_role(nic);
	for (int i = 0; i < SLICE_COLLECTIVES && budget && nic->ready; i++) {
		struct coll_ready *ready = nic->ready;

		coll_unqueue(nic, ready);
		ready->step(ready, &budget);
	}
}

void coll_again(struct nic *nic)
{
	nic_role(nic);
	nic->pace.urgent = true;
	nic_arm_timer(nic, nic_now(nic));
}
