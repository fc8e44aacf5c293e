/* SPDX-License-Identifier: BSD-2-Clause */
/* test_spin.c - when it pays to wait awake. */
#include <criterion/criterion.h>

#include "emu/net/os/spin.h"

static uint64_t now_ns = 1000000;

/* A wait that ends after so long. True if it began awake. */
static bool waits(struct spin *spin, uint64_t for_ns)
{
	uint64_t until_ns = spin_begin(spin, now_ns);
	bool awake = until_ns != now_ns;

	cr_assert(until_ns == now_ns || until_ns == now_ns + SPIN_NS);
	now_ns += for_ns;
	spin_end(spin, now_ns);
	return awake;
}

/* How many waits that end soon are asleep before one is awake. */
static unsigned until_awake(struct spin *spin)
{
	unsigned asleep = 0;

	while (asleep < 10000 && !waits(spin, SPIN_NS))
		asleep++;
	return asleep;
}

Test(spin, awake_behind_what_came_soon)
{
	struct spin spin = { 0 };

	cr_assert_eq(until_awake(&spin), 1);
	for (int i = 0; i < 1000; i++)
		cr_assert(waits(&spin, SPIN_NS));
}

Test(spin, asleep_behind_what_came_late)
{
	struct spin spin = { 0 };

	cr_assert_not(waits(&spin, SPIN_NS + 1));
	cr_assert_not(waits(&spin, SPIN_NS));
	cr_assert(waits(&spin, SPIN_NS));
}

/* Each time in vain it is tried less often, but never no more. */
Test(spin, seldom_awake_where_it_is_in_vain)
{
	static const unsigned least[] = { 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024 };
	struct spin spin = { 0 };

	cr_assert_eq(until_awake(&spin), 1);
	for (size_t i = 0; i < sizeof(least) / sizeof(least[0]); i++) {
		cr_assert(waits(&spin, SPIN_NS + 1));
		for (unsigned asleep = 0; asleep < least[i]; asleep++)
			cr_assert_not(waits(&spin, SPIN_NS), "wait %u of round %zu", asleep, i);
	}
	cr_assert(waits(&spin, SPIN_NS));
	cr_assert(waits(&spin, SPIN_NS + 1));
	cr_assert_eq(until_awake(&spin), 2, "what came soon while it was awake makes good again");
}

/* Nothing came: a thread that looks every few milliseconds does not spin each time. */
Test(spin, asleep_behind_what_did_not_come)
{
	struct spin spin = { 0 };

	cr_assert_eq(until_awake(&spin), 1);
	cr_assert_eq(spin_begin(&spin, now_ns), now_ns + SPIN_NS);
	now_ns += 10 * SPIN_NS;
	cr_assert_eq(until_awake(&spin), 2);
}
