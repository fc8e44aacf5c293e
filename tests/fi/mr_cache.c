/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_cache.c - FI_EMU_MR_CACHE: what the program is told, where the cache cannot be had, and many threads at it. Its work
 * is tested in tests/rules/mr_cache.c. */
#include "tests/fi/world.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/emu/mr_cache.h"
#include "tests/unit/nic/sandbox.h"

enum { PAGE = 4096, LENGTH = 4 * PAGE, KEY = 77 };

static char *bytes; /* LENGTH bytes of the test's own */
static char there[PAGE];

static void map(void)
{
	bytes = mmap(bytes, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (bytes ? MAP_FIXED : 0), -1, 0);
	cr_assert_neq(bytes, MAP_FAILED);
}

static void open_with_cache(struct world *w, const struct want *want)
{
	world_need_emu();
	setenv("FI_EMU_MR_CACHE", "yes", 1);
	world_open(w, want);
	map();
}

static struct emu_mr_cache_ops *ops_of(struct world *w)
{
	struct emu_mr_cache_ops *ops = NULL;

	RC(0, fi_open_ops(&w->domain->fid, EMU_MR_CACHE_OPS, 0, (void **)&ops, NULL));
	cr_assert_geq(ops->size, sizeof(*ops));
	return ops;
}

static struct emu_mr_cache_counts counts_of(struct world *w)
{
	struct emu_mr_cache_counts counts;

	memset(&counts, 0xee, sizeof(counts));
	RC(0, ops_of(w)->counts(w->domain, &counts));
	return counts;
}

static void need_cache(struct world *w)
{
	if (!sandbox_allows_userfaultfd())
		cr_skip_test("there is no userfaultfd in user mode here");
	cr_assert(counts_of(w).on);
}

/* A write of the endpoint to itself; 0, or what the post said. */
static ssize_t write_from(struct world *w, const char *at, size_t length, void *desc)
{
	struct fi_cq_tagged_entry entry;
	ssize_t rc = fi_write(w->ep, at, length, desc, w->self, 0, KEY, NULL);

	if (!rc)
		RC(1, world_next(w, &entry));
	return rc;
}

static struct fid_mr *target(struct world *w)
{
	struct fid_mr *mr;

	RC(0, fi_mr_reg(w->domain, there, sizeof(there), FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	return mr;
}

static void expect_logged(int log, const char *words)
{
	const char *text = world_logged(log);

	cr_assert(strstr(text, words), "no \"%s\" in the log: %s", words, text);
}

/* The cache is off, says why, and all works. */
static void expect_off(const char *words)
{
	int log = world_catch_log("warn");
	struct fid_mr *mr;
	struct world w;

	open_with_cache(&w, &(struct want){ 0 });
	expect_logged(log, words);
	cr_assert_not(counts_of(&w).on);
	mr = target(&w);
	RC(0, write_from(&w, bytes, 64, NULL));
	cr_assert_eq(counts_of(&w).misses, 0);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_mr_cache, says_that_userfaultfd_is_forbidden)
{
	world_need_emu();
	if (!sandbox_refuse(SYS_userfaultfd, EPERM))
		cr_skip_test("no system call can be forbidden here");
	expect_off("registration cache is off: userfaultfd is forbidden");
}

Test(fi_mr_cache, says_that_there_are_no_memhooks)
{
	setenv("FI_MR_CACHE_MONITOR", "memhooks", 1);
	expect_off("registration cache is off: FI_MR_CACHE_MONITOR=memhooks is not to be had");
}

Test(fi_mr_cache, says_that_there_is_no_kdreg2)
{
	setenv("FI_MR_CACHE_MONITOR", "kdreg2", 1);
	expect_off("registration cache is off: FI_MR_CACHE_MONITOR=kdreg2 is not to be had");
}

Test(fi_mr_cache, says_that_it_is_disabled)
{
	setenv("FI_MR_CACHE_MONITOR", "disabled", 1);
	expect_off("registration cache is off: FI_MR_CACHE_MONITOR=disabled");
}

Test(fi_mr_cache, says_that_it_may_hold_nothing)
{
	setenv("FI_MR_CACHE_MAX_COUNT", "0", 1);
	expect_off("registration cache is off: FI_MR_CACHE_MAX_COUNT=0");
}

/* More than there can be is as many as there can be. */
Test(fi_mr_cache, says_how_many_there_can_be)
{
	int log = world_catch_log("info");
	struct world w;

	setenv("FI_MR_CACHE_MAX_COUNT", "100000000", 1);
	open_with_cache(&w, &(struct want){ 0 });
	need_cache(&w);
	expect_logged(log, "100000000 regions are asked for, it holds at most 65536");
	world_close(&w);
}

/* Where the program registers its buffers, there is nothing to cache. */
Test(fi_mr_cache, is_off_under_mr_local)
{
	struct world w;

	open_with_cache(&w, &(struct want){ .mr_mode = FI_MR_LOCAL });
	if (!(w.info->domain_attr->mr_mode & FI_MR_LOCAL))
		cr_skip_test("FI_MR_LOCAL is not asked for");
	cr_assert_not(counts_of(&w).on);
	world_close(&w);
}

Test(fi_mr_cache, needs_no_privilege)
{
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ 0 }); /* libraries and folders may be for nobody else to read */
	world_close(&w);
	if (!geteuid())
		cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	open_with_cache(&w, &(struct want){ 0 });
	need_cache(&w);
	mr = target(&w);
	RC(0, write_from(&w, bytes, 64, NULL));
	RC(0, write_from(&w, bytes, 64, NULL));
	map();
	RC(0, write_from(&w, bytes, 64, NULL));
	cr_assert(counts_of(&w).hits == 1 && counts_of(&w).misses == 2 && counts_of(&w).changed == 1);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* Its counts are in the log when the domain closes. */
Test(fi_mr_cache, logs_its_counters)
{
	int log = world_catch_log("info");
	struct fid_mr *mr;
	struct world w;

	open_with_cache(&w, &(struct want){ 0 });
	need_cache(&w);
	mr = target(&w);
	for (int i = 0; i < 3; i++)
		RC(0, write_from(&w, bytes, 64, NULL));
	map();
	RC(0, fi_close(&mr->fid));
	world_close(&w);
	expect_logged(log, "registration cache: 2 hits, 1 misses, 0 regions evicted, 0 merged, 1 changed");
}

/* A refusal at the post names the buffer and the rules. */
Test(fi_mr_cache, logs_what_it_refuses)
{
	int log = world_catch_log("warn");
	char words[128];
	struct fid_mr *mr;
	struct world w;

	open_with_cache(&w, &(struct want){ 0 });
	need_cache(&w);
	mr = target(&w);
	/* No hole, in which another thread may map something. */
	cr_assert_eq(mmap(bytes, LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), bytes);
	RC(-FI_EFAULT, write_from(&w, bytes, 64, NULL));
	snprintf(words, sizeof(words), "local buffer %p, 64 B: not backed by memory that could be read", (void *)bytes);
	expect_logged(log, words);
	RC(-FI_EFAULT, fi_write(w.ep, (void *)(UINTPTR_MAX - 10), 64, NULL, w.self, 0, KEY, NULL)); /* wraps */
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_mr_cache, ops_of_other_names_are_not_there)
{
	void *ops = &ops;
	struct world w;

	world_need_emu();
	world_open(&w, &(struct want){ 0 });
	RC(-FI_ENOSYS, fi_open_ops(&w.domain->fid, "emu_mr_cash", 0, &ops, NULL));
	RC(-FI_EBADFLAGS, fi_open_ops(&w.domain->fid, EMU_MR_CACHE_OPS, 1, &ops, NULL));
	RC(-FI_EINVAL, fi_open_ops(&w.domain->fid, EMU_MR_CACHE_OPS, 0, NULL, NULL));
	RC(-FI_EINVAL, fi_open_ops(&w.domain->fid, NULL, 0, &ops, NULL));
	RC(-FI_ENOSYS, fi_open_ops(&w.ep->fid, EMU_MR_CACHE_OPS, 0, &ops, NULL));
	cr_assert_eq(ops, &ops);
	RC(-FI_EINVAL, ops_of(&w)->counts(w.domain, NULL));
	RC(-FI_EINVAL, ops_of(&w)->counts(NULL, ops));
	cr_assert_not(counts_of(&w).on);
	world_close(&w);
}

/* From API 1.22 on a descriptor means that the program registered the buffer. */
Test(fi_mr_cache, registered_buffers_are_not_registered_again)
{
	struct fid_mr *mr, *local;
	struct world w;

	if (!world_has(FI_VERSION(1, 22)))
		cr_skip_test("this libfabric is older");
	open_with_cache(&w, &(struct want){ .api = FI_VERSION(1, 22) });
	need_cache(&w);
	mr = target(&w);
	RC(0, fi_mr_reg(w.domain, bytes, LENGTH, FI_WRITE, 0, KEY + 1, 0, &local, NULL));
	RC(0, write_from(&w, bytes, 64, fi_mr_desc(local)));
	cr_assert_eq(counts_of(&w).misses, 0);
	RC(0, write_from(&w, bytes, 64, NULL));
	cr_assert_eq(counts_of(&w).misses, 1);
	RC(0, fi_close(&local->fid));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* Caches do not share what they know, nor keep what they watched from each other. */
Test(fi_mr_cache, each_domain_has_its_own)
{
	struct fid_mr *mr, *other_mr;
	struct world w, other;

	open_with_cache(&w, &(struct want){ 0 });
	need_cache(&w);
	world_open(&other, &(struct want){ 0 });
	mr = target(&w);
	other_mr = target(&other);
	RC(0, write_from(&w, bytes, 64, NULL));
	RC(0, write_from(&other, bytes, 64, NULL));
	cr_assert(counts_of(&w).misses == 1 && counts_of(&other).misses == 1);
	RC(0, fi_close(&other_mr->fid));
	world_close(&other);
	map();
	RC(0, write_from(&w, bytes, 64, NULL));
	cr_assert(counts_of(&w).hits == 0 && counts_of(&w).changed == 1, "the other's end ended the watch");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* In a fork's child no thread reads the kernel's notices. */
Test(fi_mr_cache, a_forks_child_unmaps_and_closes)
{
	struct emu_mr_cache_counts counts;
	struct fid_domain *idle;
	struct fid_mr *mr;
	struct world w;
	int status;
	pid_t child;

	open_with_cache(&w, &(struct want){ 0 });
	need_cache(&w);
	RC(0, fi_domain(w.fabric, w.info, &idle, NULL));
	mr = target(&w);
	RC(0, write_from(&w, bytes, 64, NULL));
	child = fork();
	cr_assert_geq(child, 0);
	if (!child) {
		if (munmap(bytes, LENGTH) || ops_of(&w)->counts(w.domain, &counts) != -FI_ENODEV)
			_exit(1);
		if (fi_write(w.ep, there, 64, NULL, w.self, 0, KEY, NULL) != -FI_ENODEV)
			_exit(2);
		_exit(fi_close(&idle->fid) ? 3 : 0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0, "status %#x", status);
	RC(0, write_from(&w, bytes, 64, NULL));
	cr_assert_eq(counts_of(&w).hits, 1);
	RC(0, fi_close(&idle->fid));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* ---- many threads ---- */

enum { THREADS = 4, ROUNDS = 300 };

static struct world shared;
static atomic_ulong posted;

static void drain(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };

	if (fi_cq_read(shared.cq, &entry, 1) == -FI_EAVAIL)
		fi_cq_readerr(shared.cq, &error, 0);
}

static void write_some(const void *at)
{
	while (fi_write(shared.ep, at, 64, NULL, shared.self, 0, KEY, NULL) == -FI_EAGAIN)
		drain();
	atomic_fetch_add(&posted, 1);
	drain();
}

/* Posts from memory that it maps and unmaps; a large free() is an unmap, too. */
static void *churn(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *mine = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *heap = malloc(1 << 20);
		unsigned long all;

		for (int k = 0; k < 2; k++) {
			write_some(mine);
			write_some(heap);
		}
		all = atomic_load(&posted);
		while (fi_cntr_read(shared.cntr) + fi_cntr_readerr(shared.cntr) < all)
			drain();
		munmap(mine, LENGTH);
		free(heap);
	}
	return arg;
}

Test(fi_mr_cache, many_threads)
{
	pthread_t threads[THREADS];
	struct fid_mr *mr;

	setenv("FI_MR_CACHE_MAX_COUNT", "5", 1);
	open_with_cache(&shared, &(struct want){ 0 });
	need_cache(&shared);
	mr = target(&shared);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	cr_assert_leq(counts_of(&shared).regions, 5);
	cr_assert_geq(counts_of(&shared).hits + counts_of(&shared).misses, (uint64_t)THREADS * ROUNDS * 4);
	cr_assert_eq(fi_cntr_readerr(shared.cntr), 0);
	RC(0, fi_close(&mr->fid));
	world_close(&shared);
}
