/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_unreachable.c - the network is down for longer than the retry budget */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
