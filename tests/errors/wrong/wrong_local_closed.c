/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_local_closed.c - a local region that is closed while a send needs it */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_send(p.initiator.ep, p.initiator.memory, PAIR_BYTES, p.initiator.desc, p.initiator.peer, NULL));
	MUST(fi_close(&p.initiator.mr->fid));
	p.initiator.mr = NULL;
	pair_wait(&p.initiator);
	return pair_close(&p);
}
