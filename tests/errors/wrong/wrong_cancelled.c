/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_cancelled.c - a receive that its program takes back */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_recv(p.target.ep, p.target.memory, 4, p.target.desc, FI_ADDR_UNSPEC, &p));
	MUST(fi_cancel(&p.target.ep->fid, &p));
	pair_wait(&p.target);
	return pair_close(&p);
}
