/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_atomic_unaligned.c - an atomic of 8 bytes, 4 bytes behind the begin of the region */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_atomic(p.initiator.ep, p.initiator.memory, 1, p.initiator.desc, p.initiator.peer, p.addr + 4, p.key, FI_UINT64,
		       FI_SUM, NULL));
	pair_wait(&p.initiator);
	return pair_close(&p);
}
