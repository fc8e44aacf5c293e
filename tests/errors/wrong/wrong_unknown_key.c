/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_unknown_key.c - a key that the target has never given out */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	pair_write(&p, p.addr, 8, p.key + 1);
	return pair_close(&p);
}
