/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_address.c - an fi_addr_t that fi_av_insert has not returned */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, NULL);
	p.initiator.peer = 77;
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
