/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_order.h - FI_EMU_ORDER: what the NIC does of all that the promised order leaves open, as rules behind those of the fault
 * plan. Any thread. */
#ifndef EMU_PROCESS_FAULT_ORDER_H
#define EMU_PROCESS_FAULT_ORDER_H

#include <stdbool.h>

#include "emu/nic/faults/fault_plan.h"

enum process_order {
	ORDER_STRONG, /* nothing: as posted */
	ORDER_RC,     /* what InfiniBand leaves to a queue pair of type RC: when writes are seen, and in which pieces */
	ORDER_WEAK,   /* all: ops pass each other, and completions come late, too */
};

/* From now on, for plans that are put in force later. */
void fault_order_set(enum process_order order);
/* Adds the rules. False: the plan has no room for them, and is as it was. */
bool fault_order_add(struct fault_plan *plan);

#endif
