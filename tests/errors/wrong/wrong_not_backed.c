/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_not_backed.c - the target unmaps the memory, and leaves the region open */
#include "tests/errors/pair.h"

#include <sys/mman.h>

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	munmap(p.target.memory, PAIR_BYTES);
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
