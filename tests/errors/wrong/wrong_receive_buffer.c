/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_receive_buffer.c - the receiver unmaps the buffer of a posted receive */
#include "tests/errors/pair.h"

#include <sys/mman.h>

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_recv(p.target.ep, p.target.memory, 64, p.target.desc, FI_ADDR_UNSPEC, NULL));
	munmap(p.target.memory, PAIR_BYTES);
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, NULL));
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	return pair_close(&p);
}
