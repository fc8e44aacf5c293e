/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_closed_in_flight.c - an endpoint that is closed before its send has completed */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_send(p.initiator.ep, p.initiator.memory, PAIR_BYTES, p.initiator.desc, p.initiator.peer, NULL));
	MUST(fi_close(&p.initiator.ep->fid));
	p.initiator.ep = NULL;
	return pair_close(&p);
}
