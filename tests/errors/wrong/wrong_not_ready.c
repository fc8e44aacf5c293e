/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_not_ready.c - a receiver that is not ready, and no retries */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_writedata(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, 1, p.initiator.peer, p.addr, p.key, NULL));
	pair_wait(&p.initiator);
	return pair_close(&p);
}
