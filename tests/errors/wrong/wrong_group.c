/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_group.c - a member leaves its group while it is in a collective */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want){ .caps = FI_MSG | FI_COLLECTIVE });
	pair_join(&p);
	MUST(fi_barrier(p.target.ep, p.target.group, NULL));
	MUST(fi_close(&p.target.mc->fid));
	p.target.mc = NULL;
	MUST(fi_barrier(p.initiator.ep, p.initiator.group, NULL));
	pair_wait(&p.initiator);
	return pair_close(&p);
}
