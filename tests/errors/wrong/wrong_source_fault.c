/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_source_fault.c - the initiator unmaps the memory of a region, and writes from there */
#include "tests/errors/pair.h"

#include <sys/mman.h>

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	munmap(p.initiator.memory, PAIR_BYTES);
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
