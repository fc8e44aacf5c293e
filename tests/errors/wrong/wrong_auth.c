/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_auth.c - a region with an authorization key that its peer does not show */
#include "tests/errors/pair.h"

int main(void)
{
	uint8_t secret[8] = "private";
	struct fid_mr *mr;
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_mr_regattr(p.domain,
			   &(struct fi_mr_attr){
				   .mr_iov = &(struct iovec){ p.target.memory, 64 },
				   .iov_count = 1,
				   .access = FI_REMOTE_WRITE,
				   .auth_key = secret,
				   .auth_key_size = sizeof(secret),
			   },
			   0, &mr));
	pair_write(&p, p.addr, 8, fi_mr_key(mr));
	MUST(fi_close(&mr->fid));
	return pair_close(&p);
}
