/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_memory_unmapped.c - memory that is gone, and a region over it that is never closed */
#include "tests/errors/pair.h"

#include <sys/mman.h>

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_close(&p.initiator.mr->fid));
	MUST(fi_close(&p.initiator.ep->fid));
	MUST(fi_close(&p.target.ep->fid));
	munmap(p.target.memory, PAIR_BYTES);
	return 0;
}
