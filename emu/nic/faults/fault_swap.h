/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_swap.h - the fault plan in force, which may be exchanged while the device runs (nic_fault_load()).
 * Owner: the nic. Thread: any may ask which is in force; it is exchanged under the driver role. A plan that was in force stays
 * until the nic ends, as a thread may still read it. */
#ifndef EMU_NIC_FAULT_SWAP_H
#define EMU_NIC_FAULT_SWAP_H

#include "emu/nic/faults/fault_plan.h"

struct nic;

struct fault_plans {
	struct fault_plans *before;
	bool none; /* faults were cleared: `plan` means nothing */
	struct fault_plan plan;
};

/* Puts it in force; NULL: none. 0 or -ENOMEM. */
MUST_USE int fault_plans_add(struct fault_plans *_Atomic *plans, const struct fault_plan *plan);
void fault_plans_free(struct fault_plans *_Atomic *plans);
/* NULL: there is none. */
const struct fault_plan *fault_plan_of(const struct nic *nic);

#endif
