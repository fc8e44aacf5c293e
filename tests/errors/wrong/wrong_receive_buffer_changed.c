/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_receive_buffer_changed.c - a receive buffer that is written to while it waits for its message */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want){ .access = FI_REMOTE_READ });
	MUST(fi_recv(p.target.ep, p.target.memory, 8, p.target.desc, FI_ADDR_UNSPEC, NULL));
	p.target.memory[0] = 1;
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, NULL));
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	return pair_close(&p);
}
