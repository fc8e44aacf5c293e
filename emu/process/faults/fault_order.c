/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_order.c - the rules of each order. */
#include "emu/process/faults/fault_order.h"

#include <stdatomic.h>
#include <stdint.h>

static atomic_int chosen;

/* Long enough for another process to look in between, and drawn for half of the ops, so that some go on at once. */
static const struct fault_rule rules[] = {
	{ .sort = PLAN_HOLD,
	  .kinds = 1u << OP_WRITE | 1u << OP_ATOMIC | 1u << OP_READ,
	  .chance = FAULT_CERTAIN / 2,
	  .jitter_ns = TIME_MS(1) },
	{ .sort = PLAN_REORDER, .kinds = FAULT_ALL_KINDS, .chance = FAULT_CERTAIN / 2, .jitter_ns = TIME_MS(1) / 2 },
	{ .sort = PLAN_COMPLETION, .kinds = FAULT_ALL_KINDS, .chance = FAULT_CERTAIN / 4, .jitter_ns = TIME_MS(1) / 2 },
};

static const uint32_t counts[] = { [ORDER_STRONG] = 0, [ORDER_RC] = 1, [ORDER_WEAK] = 3 };

void fault_order_set(enum process_order order)
{
	atomic_store(&chosen, order);
}

bool fault_order_add(struct fault_plan *plan)
{
	uint32_t count = counts[atomic_load(&chosen)];

	if (count > LIMIT_FAULT_RULES - plan->rules)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct fault_rule *rule = &plan->rule[plan->rules++];

		*rule = rules[i];
		rule->first = rule->every = 1;
		rule->most = UINT64_MAX;
	}
	return true;
}
