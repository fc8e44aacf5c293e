/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_peer_gone.c - a write to an endpoint that was closed */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_close(&p.target.ep->fid));
	p.target.ep = NULL;
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
