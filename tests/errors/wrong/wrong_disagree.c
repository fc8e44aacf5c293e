/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_disagree.c - one member calls a barrier, and the other a broadcast */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want){ .caps = FI_MSG | FI_COLLECTIVE });
	pair_join(&p);
	MUST(fi_barrier(p.initiator.ep, p.initiator.group, NULL));
	MUST(fi_broadcast(p.target.ep, p.target.memory, 8, p.target.desc, p.target.group, 0, FI_UINT8, 0, NULL));
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	return pair_close(&p);
}
