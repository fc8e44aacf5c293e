/* SPDX-License-Identifier: BSD-2-Clause */
/* big.c - the target's half of large transfers. */
#include "tests/process/big.h"

struct region big;

void step_big(const void *arg, void *reply)
{
	static const struct region_want want = { .len = { BIG }, .access = ALL_LOCAL | ALL_REMOTE };
	struct big_told *told = reply;

	(void)arg;
	region_open(&big, &target_peer, &want, 1);
	memset(big.iov[0].iov_base, 0x11, BIG);
	told->key = fi_mr_key(big.mr);
	told->addr = region_base(&big, &target_peer, 0);
}

void step_wait_touched(const void *arg, void *reply)
{
	volatile uint8_t *first = big.iov[0].iov_base;
	struct deadline guard = deadline_start();

	(void)arg;
	(void)reply;
	while (*first == 0x11) {
		peer_idle();
		deadline_check(&guard, "the first byte of a large write");
	}
}
