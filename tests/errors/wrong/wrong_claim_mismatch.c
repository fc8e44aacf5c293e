/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_claim_mismatch.c - a message claimed by its tag, and fetched with tag 0 */
#include "tests/errors/pair.h"

int main(void)
{
	struct fi_context context;
	struct iovec buffer;
	struct fi_msg_tagged msg = { .msg_iov = &buffer, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 5, .context = &context };
	struct pair p;

	pair_open(&p, &(struct pair_want){ .mode = FI_CONTEXT });
	buffer = (struct iovec){ p.target.memory, 8 };
	msg.desc = &p.target.desc;
	MUST(fi_tsend(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, 5, NULL));
	pair_arrived(&p.target, 5);
	MUST(fi_trecvmsg(p.target.ep, &msg, FI_PEEK | FI_CLAIM | FI_COMPLETION));
	pair_wait(&p.target);
	msg.tag = 0;
	MUST(fi_trecvmsg(p.target.ep, &msg, FI_CLAIM | FI_COMPLETION));
	pair_wait(&p.target);
	pair_wait(&p.initiator);
	return pair_close(&p);
}
