/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_page_unknown.c - a page that comes after the registration, and no fi_mr_refresh */
#include "tests/errors/pair.h"

#include <sys/mman.h>

int main(void)
{
	char *late = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fid_mr *mr;
	struct pair p;

	pair_open(&p, &(struct pair_want){ .mr_mode = FI_MR_MMU_NOTIFY | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY });
	mr = pair_register(&p, late, 4096, FI_REMOTE_WRITE, 0);
	*late = 1;
	pair_write(&p, (uintptr_t)late, 8, fi_mr_key(mr));
	MUST(fi_close(&mr->fid));
	return pair_close(&p);
}
