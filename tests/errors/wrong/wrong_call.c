/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_call.c - a region of no bytes */
#include "tests/errors/pair.h"

int main(void)
{
	struct fid_mr *mr;
	struct pair p;

	pair_open(&p, NULL);
	fi_mr_reg(p.domain, p.target.memory, 0, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL);
	return pair_close(&p);
}
