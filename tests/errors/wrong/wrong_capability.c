/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_capability.c - the target's endpoint has no FI_RMA */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want){ .target = FI_MSG | FI_SEND | FI_RECV });
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
