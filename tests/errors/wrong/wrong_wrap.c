/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_wrap.c - an address that a negative offset has made huge */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	pair_write(&p, (uint64_t)-4, 8, p.key);
	return pair_close(&p);
}
