/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_right.c - a write to a region that may only be read */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want){ .access = FI_REMOTE_READ });
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
