/* SPDX-License-Identifier: BSD-2-Clause */
/* test_check_budget.c - what races mode takes of the run time of programs that wait for each other. */
#include <criterion/criterion.h>

#include "emu/process/check/check_budget.h"

#define MS UINT64_C(1000000)

enum { RANKS = 8, WORK_NS = 10000, HOLD_NS = 50000, TURNS = 200000 };

static const char session[RANKS];

/* Processes hand on a token, and each would hold it back each time. Returns how often its time all takes. */
static uint64_t times_of_ring(size_t ranks, uint64_t check_ns)
{
	struct check_budget budget[RANKS] = { 0 };
	uint64_t now_ns = MS, work_ns[RANKS] = { 0 }, plain_ns = 0;

	for (size_t turn = 0; turn < TURNS; turn++) {
		size_t rank = turn % ranks;

		for (size_t peer = 0; peer < ranks; peer++) /* by which it knows of the others */
			if (peer != rank && !turn)
				budget[rank].session[budget[rank].sessions++] = &session[peer];
		now_ns += WORK_NS + check_ns;
		plain_ns += WORK_NS;
		work_ns[rank] += check_ns;
		if (budget_take(&budget[rank], &session[(rank + 1) % ranks], now_ns, now_ns + HOLD_NS, work_ns[rank]))
			now_ns += HOLD_NS;
	}
	return (now_ns - MS) * 10 / plain_ns;
}

Test(check_budget, two_that_wait_for_each_other_take_four_times_as_long)
{
	uint64_t tenths = times_of_ring(2, 0);

	cr_assert(tenths > 30 && tenths <= 42, "%lu tenths", tenths);
}

Test(check_budget, work_of_checks_is_taken_from_the_waits)
{
	uint64_t tenths = times_of_ring(2, 10000);

	cr_assert(tenths > 30 && tenths <= 42, "%lu tenths", tenths);
}

Test(check_budget, checks_that_take_it_all_leave_nothing_to_wait)
{
	cr_assert_eq(times_of_ring(2, 50000), 60);
}

Test(check_budget, what_is_held_back_at_one_time_counts_once)
{
	struct check_budget budget = { .left_ns = MS };

	for (size_t i = 0; i < 100; i++)
		cr_assert(budget_take(&budget, session, MS, 2 * MS, 0));
	cr_assert(!budget_take(&budget, session, MS, 2 * MS + 1, 0));
}

Test(check_budget, a_debt_is_paid_back_by_and_by)
{
	struct check_budget budget = { 0 };

	cr_assert(!budget_take(&budget, session, MS, 2 * MS, 0));
	cr_assert(!budget_take(&budget, session, 2 * MS, 3 * MS, 1000 * UINT64_C(100000000)));
	cr_assert(!budget_take(&budget, session, 2 * MS + BUDGET_DEBT_NS, 2 * MS + BUDGET_DEBT_NS + 1, 1000 * UINT64_C(100000000)));
	cr_assert(budget_take(&budget, session, 2 * MS + 3 * BUDGET_DEBT_NS, 2 * MS + 3 * BUDGET_DEBT_NS + 1,
			      1000 * UINT64_C(100000000)));
}

/* As a server has that runs for long: they would leave it nothing. */
Test(check_budget, sessions_that_have_ended_do_not_count)
{
	static const char gone[2 * BUDGET_SESSIONS];
	struct check_budget budget = { 0 };

	for (size_t i = 0; i < sizeof(gone); i++) {
		cr_assert(budget_take(&budget, &gone[i], MS, MS, 0));
		budget_forget(&budget, &gone[i]);
	}
	budget_forget(&budget, gone); /* it is not there any more */
	cr_assert(budget_take(&budget, session, 9 * MS, 12 * MS, 0));
	cr_assert_eq(budget.sessions, 1);
}
