/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_progress_not_made.c - a post that is repeated without reading completions */
#include "tests/errors/pair.h"

int main(void)
{
	struct pair p;
	int tries = 0;

	pair_open(&p, NULL);
	while (tries < 100000)
		tries += fi_write(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, p.addr, p.key, NULL) ==
			 -FI_EAGAIN;
	return pair_close(&p);
}
