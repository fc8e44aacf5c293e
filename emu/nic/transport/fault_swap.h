/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_swap.h - the fault plan in force, which may be exchanged while the device runs (nic_fault_load()).
 * Owner: the nic. A plan that is exchanged is freed at once; if a thread reads one then, with the next exchange that none does. */
#ifndef EMU_NIC_FAULT_SWAP_H
#define EMU_NIC_FAULT_SWAP_H

#include "emu/nic/base/likely.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/transport/session.h"

struct nic;

/* When a nic begins: 0 or -ENOMEM. And when it ends. */
MUST_USE int fault_plan_begin(struct nic *nic, const struct fault_plan *plan);
void fault_plan_end(struct nic *nic);
/* [role] NULL: there is none. */
const struct fault_plan *fault_plan_of(const struct nic *nic);
/* Any thread: the same, which stays until it is released. After NULL there is nothing to release. */
const struct fault_plan *fault_plan_hold(struct nic *nic);
/* One more registration under a plan that is held; its number, from 1. */
uint64_t fault_plan_registers(const struct fault_plan *held);
void fault_plan_release(struct nic *nic);

/* A plan sees acknowledgements as frames, and nothing goes beside the stream; nor while answers are held back. */
static inline bool fault_bars_notes(const struct session *session)
{
	return unlikely(session->fault != NULL) && (session->fault != &fault_watching || session->rsp.open_seq);
}

#endif
