/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_closed.c - the target closes the region before its peer is done */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_close(&p.target.mr->fid));
	p.target.mr = NULL;
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
