/* SPDX-License-Identifier: BSD-2-Clause */
/* test_slow.c - a NIC thread that a fault plan has wait before each slice: the end of the process does not wait for it. */
#include <criterion/criterion.h>

#include "emu/net/thread/net.h"
#include "fake.h"

Test(slow, stops_in_the_middle_of_a_wait)
{
	struct net_config config = { .slow_ns = 3600 * 1000000000ull };
	struct nic *nic;

	cr_assert_eq(net_start(&nic, &config), 0);
	net_stop();
}
