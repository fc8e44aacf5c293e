/* SPDX-License-Identifier: BSD-2-Clause */
/* test_spin.c - when it pays to wait awake. */
#include <criterion/criterion.h>

#include "emu/net/spin.h"

enum { START = 1000000 };

Test(spin, the_first_wait_is_asleep)
{
	struct spin spin = { 0 };

	cr_assert_eq(spin_begin(&spin, START), START);
}

Test(spin, awake_behind_what_came_soon)
{
	struct spin spin = { 0 };

	spin_begin(&spin, START);
	spin_end(&spin, START + SPIN_NS);
	cr_assert_eq(spin_begin(&spin, 2 * START), 2 * START + SPIN_NS);
}

Test(spin, asleep_behind_what_came_late)
{
	struct spin spin = { .soon = true };

	spin_begin(&spin, START);
	spin_end(&spin, START + SPIN_NS + 1);
	cr_assert_eq(spin_begin(&spin, 2 * START), 2 * START);
}

/* Nothing came: who looks every few milliseconds does not spin each time. */
Test(spin, asleep_behind_what_did_not_come)
{
	struct spin spin = { .soon = true };

	spin_begin(&spin, START);
	cr_assert_eq(spin_begin(&spin, START + 2 * SPIN_NS), START + 2 * SPIN_NS);
}
