/* SPDX-License-Identifier: BSD-2-Clause */
/* cost.c - the memory that a region takes, all of its objects together. */
#include "world.h"

#include <stdio.h>
#include <unistd.h>

enum { REGIONS = 100000, BYTES_A_REGION = 256 };

static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	cr_assert_not_null(file);
	cr_assert_eq(fscanf(file, "%*u %zu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

Test(cost, a_region_takes_under_256_bytes)
{
	static struct fid_mr *mr[REGIONS];
	static char byte[1];
	struct world w;
	size_t before, took;

	memset(mr, 1, sizeof(mr)); /* resident */
	world_open(&w, &(struct want){ 0 });
	before = resident();
	for (uint64_t i = 0; i < REGIONS; i++)
		cr_assert_eq(fi_mr_reg(w.domain, byte, 1, FI_REMOTE_WRITE, 0, i, 0, &mr[i], NULL), 0);
	took = (resident() - before) / REGIONS;
	for (uint64_t i = 0; i < REGIONS; i++)
		cr_assert_eq(fi_close(&mr[i]->fid), 0);
	world_close(&w);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	cr_skip_test("the sanitizer's own bytes count, too");
#endif
	cr_assert_lt(took, BYTES_A_REGION, "a region takes %zu B", took);
}
