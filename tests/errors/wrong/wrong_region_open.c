/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_region_open.c - a region that is never closed */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_close(&p.target.ep->fid));
	MUST(fi_close(&p.initiator.ep->fid));
	MUST(fi_close(&p.initiator.mr->fid));
	return 0;
}
