/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_disabled.c - the key is used before fi_mr_enable */
#include "tests/errors/pair.h"

int main(void)
{
	struct fid_mr *mr;
	struct pair p;

	pair_open(&p, &(struct pair_want){ .mr_mode = FI_MR_ENDPOINT | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY });
	MUST(fi_mr_reg(p.domain, p.target.memory, 64, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	MUST(fi_mr_bind(mr, &p.target.ep->fid, 0));
	pair_write(&p, p.addr, 8, fi_mr_key(mr));
	MUST(fi_close(&mr->fid));
	return pair_close(&p);
}
