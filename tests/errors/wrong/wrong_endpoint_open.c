/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_endpoint_open.c - endpoints that are never closed */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_close(&p.target.mr->fid));
	MUST(fi_close(&p.initiator.mr->fid));
	return 0;
}
