/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_no_message.c - a peek for a message that nobody has sent */
#include "tests/errors/pair.h"

int main(void)
{
	struct fi_msg_tagged peek = { .addr = FI_ADDR_UNSPEC, .tag = 1 };
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_trecvmsg(p.target.ep, &peek, FI_PEEK | FI_COMPLETION));
	pair_wait(&p.target);
	return pair_close(&p);
}
