/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_spent.c - a second write to a region that is for one */
#include "tests/errors/pair.h"

#define SINGLE_USE (1ULL << 41) /* FI_MR_SINGLE_USE, since 2.0 */

int main(void)
{
	struct fid_mr *mr;
	struct pair p;

	pair_open(&p, &(struct pair_want){ .api = FI_VERSION(2, 0) });
	mr = pair_register(&p, p.target.memory, 64, FI_REMOTE_WRITE, SINGLE_USE);
	pair_write(&p, p.addr, 8, fi_mr_key(mr));
	pair_write(&p, p.addr, 8, fi_mr_key(mr));
	MUST(fi_close(&mr->fid));
	return pair_close(&p);
}
