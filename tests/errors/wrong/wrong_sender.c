/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_sender.c - the sender closes its region while the rest of a long message is to come */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_tsend(p.initiator.ep, p.initiator.memory, PAIR_BYTES, p.initiator.desc, p.initiator.peer, 1, NULL));
	pair_arrived(&p.target, 1);
	MUST(fi_close(&p.initiator.mr->fid));
	p.initiator.mr = NULL;
	MUST(fi_trecv(p.target.ep, p.target.memory, PAIR_BYTES, p.target.desc, FI_ADDR_UNSPEC, 1, 0, NULL));
	pair_wait(&p.target);
	pair_wait(&p.initiator);
	return pair_close(&p);
}
