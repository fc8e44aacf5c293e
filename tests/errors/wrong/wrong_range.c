/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_range.c - the last bytes of the write are past the end */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	pair_write(&p, p.addr + PAIR_BYTES - 4, 8, p.key);
	return pair_close(&p);
}
