/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_stranger.c - a message from a sender that is not in the address vector */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want){ .caps = FI_MSG | FI_SOURCE | FI_SOURCE_ERR });
	MUST(fi_av_remove(p.target.av, &p.target.peer, 1, 0));
	MUST(fi_recv(p.target.ep, p.target.memory, 64, p.target.desc, FI_ADDR_UNSPEC, NULL));
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, NULL));
	pair_wait(&p.target);
	pair_wait(&p.initiator);
	return pair_close(&p);
}
