/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_receive_buffer_used.c - one buffer for two receives */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_recv(p.target.ep, p.target.memory, 8, p.target.desc, FI_ADDR_UNSPEC, NULL));
	MUST(fi_recv(p.target.ep, p.target.memory, 8, p.target.desc, FI_ADDR_UNSPEC, NULL));
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, NULL));
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, NULL));
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	return pair_close(&p);
}
