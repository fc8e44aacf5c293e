/* SPDX-License-Identifier: BSD-2-Clause */
/* cost.c - what a region and a completion queue take, all of their objects together. */
#include "world.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

enum { REGIONS = 100000, BYTES_A_REGION = 256, QUEUES = 1000, BYTES_A_QUEUE = 8192 };

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

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	cr_assert_not_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Its entries take memory as they come, and what a thread sleeps on is opened by the first that sleeps. */
Test(cost, a_queue_that_is_only_polled_takes_under_8_KiB_and_no_descriptor)
{
	static struct fid_cq *cq[QUEUES];
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cq_tagged_entry entry;
	size_t before, took;
	struct world w;
	int files;

	memset(cq, 1, sizeof(cq)); /* resident */
	world_open(&w, &(struct want){ 0 });
	files = descriptors();
	before = resident();
	for (int i = 0; i < QUEUES; i++) {
		cr_assert_eq(fi_cq_open(w.domain, &attr, &cq[i], NULL), 0);
		cr_assert_eq(fi_cq_read(cq[i], &entry, 1), -FI_EAGAIN);
	}
	took = (resident() - before) / QUEUES;
	cr_assert_eq(descriptors(), files);
	cr_assert_eq(fi_cq_sread(cq[0], &entry, 1, NULL, 1), -FI_EAGAIN);
	for (int i = 0; i < QUEUES; i++)
		cr_assert_eq(fi_close(&cq[i]->fid), 0);
	cr_assert_eq(descriptors(), files);
	world_close(&w);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	cr_skip_test("the sanitizer's own bytes count, too");
#endif
	cr_assert_lt(took, BYTES_A_QUEUE, "a queue takes %zu B", took);
}
