/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_not_persistent.c - FI_COMMIT_COMPLETE for memory that is not persistent */
#include "tests/errors/pair.h"

int main(void)
{
	struct fi_msg_rma write = { .iov_count = 1, .rma_iov_count = 1 };
	struct pair p;

	pair_open(&p, &(struct pair_want){ .caps = FI_RMA | FI_RMA_PMEM });
	write.msg_iov = &(struct iovec){ p.initiator.memory, 8 };
	write.desc = &p.initiator.desc;
	write.addr = p.initiator.peer;
	write.rma_iov = &(struct fi_rma_iov){ p.addr, 8, p.key };
	MUST(fi_writemsg(p.initiator.ep, &write, FI_COMMIT_COMPLETE | FI_COMPLETION));
	pair_wait(&p.initiator);
	return pair_close(&p);
}
