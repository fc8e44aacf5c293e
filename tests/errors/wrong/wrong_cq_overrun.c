/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_cq_overrun.c - more completions than a queue has room for */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want){ .unmanaged = true, .queue = 4 });
	for (int i = 0; i < 8; i++)
		MUST(fi_write(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, p.addr, p.key, NULL));
	MUST(fi_recv(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, FI_ADDR_UNSPEC, NULL));
	MUST(fi_send(p.target.ep, p.target.memory, 8, p.target.desc, p.target.peer, NULL));
	pair_wait(&p.target);
	for (int i = 0; i < 9; i++)
		pair_wait(&p.initiator);
	return pair_close(&p);
}
