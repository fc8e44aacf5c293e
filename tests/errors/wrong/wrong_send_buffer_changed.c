/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_send_buffer_changed.c - a buffer that is written to while it is being sent */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_send(p.initiator.ep, p.initiator.memory, PAIR_BYTES, p.initiator.desc, p.initiator.peer, NULL));
	p.initiator.memory[0] = 1;
	MUST(fi_recv(p.target.ep, p.target.memory, PAIR_BYTES, p.target.desc, FI_ADDR_UNSPEC, NULL));
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	return pair_close(&p);
}
