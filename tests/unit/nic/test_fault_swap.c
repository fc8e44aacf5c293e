/* SPDX-License-Identifier: BSD-2-Clause */
/* test_fault_swap.c - plans that were exchanged are freed: at once, or when nobody reads them any more. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/fault_swap.h"
#include "tests/sim/harness/bed.h"

static struct bed bed;

static struct fault_plan plan_of(uint64_t entries)
{
	return (struct fault_plan){ .rules = 1, .rule = { { .sort = PLAN_QUEUE, .entries = entries } } };
}

static struct nic *open_nic(void)
{
	bed_open(&bed, 1, 1, &(struct nic_config){ 0 }, NULL);
	node_enter(bed.node[0]);
	return bed.node[0]->nic;
}

static void close_nic(void)
{
	node_leave(bed.node[0]);
	bed_close(&bed);
}

static void load(struct nic *nic, uint64_t entries)
{
	struct fault_plan plan = plan_of(entries);

	cr_assert_eq(nic_fault_load(nic, &plan), 0);
}

Test(fault_swap, a_plan_is_freed_when_another_one_is_loaded)
{
	struct nic *nic = open_nic();

	for (uint64_t entries = 1; entries < 4; entries++) {
		load(nic, entries);
		cr_expect_null(nic->plans_left);
		cr_expect_eq(nic_fault_queue(nic, 100), entries);
	}
	cr_assert_eq(nic_fault_load(nic, NULL), 0);
	cr_expect_null(nic->plans_left);
	cr_expect(!nic_fault_is_loaded(nic));
	cr_expect_eq(nic_fault_queue(nic, 100), 100);
	close_nic();
}

Test(fault_swap, a_plan_that_is_read_stays_until_it_is_not)
{
	struct nic *nic = open_nic();
	const struct fault_plan *held;

	cr_expect_null(fault_plan_hold(nic));
	load(nic, 7);
	held = fault_plan_hold(nic);
	cr_assert(held);
	load(nic, 8);
	cr_assert_eq(nic_fault_load(nic, NULL), 0);
	cr_expect_eq(fault_queue(held, 100), 7, "it is another one now");
	cr_expect_null(fault_plan_hold(nic));
	cr_expect(nic->plans_left);
	fault_plan_release(nic);
	load(nic, 9);
	cr_expect_null(nic->plans_left);
	cr_expect_eq(atomic_load(&nic->plan_readers), 0);
	close_nic();
}

/* One that began under the plan before is none of the next plan's. */
Test(fault_swap, registrations_count_for_the_plan_that_they_met)
{
	struct fault_plan second = {
		.rules = 1,
		.rule = { { .sort = PLAN_REGISTER,
			    .kinds = FAULT_ALL_KINDS,
			    .first = 2,
			    .every = 1,
			    .most = 1,
			    .chance = FAULT_CERTAIN,
			    .err = ENOMEM } },
	};
	struct nic *nic = open_nic();
	const struct fault_plan *held;

	cr_assert_eq(nic_fault_load(nic, &second), 0);
	cr_expect_eq(nic_fault_register(nic), 0);
	held = fault_plan_hold(nic);
	cr_assert(held);
	cr_assert_eq(nic_fault_load(nic, &second), 0);
	cr_expect_eq(fault_plan_registers(held), 2);
	fault_plan_release(nic);
	cr_expect_eq(nic_fault_register(nic), 0);
	cr_expect_eq(nic_fault_register(nic), -ENOMEM);
	cr_expect_eq(nic_fault_register(nic), 0);
	close_nic();
}
