/* SPDX-License-Identifier: BSD-2-Clause */
/* mr.c - protection domains and memory regions: what may be registered, keys, changes, errors. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/verbs/world.h"

enum { BYTES = 8192, ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

static struct verbs verbs;
static char *bytes;

static void setup(void)
{
	verbs_open(&verbs);
	bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(bytes, MAP_FAILED);
}

static void teardown(void)
{
	verbs_close(&verbs);
}

TestSuite(verbs_mr, .init = setup, .fini = teardown, .timeout = 60);

/* Is registration refused so, with a word on it? */
static void refused(void *addr, size_t length, int access, int error, const char *word)
{
	said_begin();
	errno = 0;
	cr_assert_null(ibv_reg_mr(verbs.pd, addr, length, access));
	cr_assert_eq(errno, error, "errno is %d", errno);
	cr_assert(said_has(word), "no \"%s\" was said", word);
}

Test(verbs_mr, a_region_knows_what_it_is)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL);

	cr_assert_not_null(mr);
	cr_assert_eq(mr->context, verbs.context);
	cr_assert_eq(mr->pd, verbs.pd);
	cr_assert_eq(mr->addr, bytes);
	cr_assert_eq(mr->length, BYTES);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, local_and_remote_keys_differ)
{
	enum { MANY = 200 };
	struct ibv_mr *mr[MANY];

	for (int i = 0; i < MANY; i++) {
		mr[i] = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL);
		cr_assert_not_null(mr[i]);
		cr_assert_neq(mr[i]->lkey, mr[i]->rkey);
		cr_assert_neq(mr[i]->lkey, 0);
		cr_assert_neq(mr[i]->rkey, 0);
		for (int j = 0; j < i; j++) {
			cr_assert_neq(mr[i]->lkey, mr[j]->lkey);
			cr_assert_neq(mr[i]->rkey, mr[j]->rkey);
		}
	}
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(ibv_dereg_mr(mr[i]), 0);
}

Test(verbs_mr, a_key_is_not_given_again_at_once)
{
	uint32_t before = 0;

	for (int i = 0; i < 100; i++) {
		struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL);

		cr_assert_neq(mr->lkey, before);
		before = mr->lkey;
		cr_assert_eq(ibv_dereg_mr(mr), 0);
	}
}

Test(verbs_mr, all_access_flags_that_may_stand_alone)
{
	static const int alone[] = { 0,
				     IBV_ACCESS_LOCAL_WRITE,
				     IBV_ACCESS_REMOTE_READ,
				     IBV_ACCESS_MW_BIND,
				     IBV_ACCESS_ZERO_BASED,
				     IBV_ACCESS_ON_DEMAND,
				     IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB,
				     IBV_ACCESS_RELAXED_ORDERING };

	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, alone[i]);

		cr_assert_not_null(mr, "access %#x", (unsigned)alone[i]);
		cr_assert_eq(ibv_dereg_mr(mr), 0);
	}
}

Test(verbs_mr, remote_writes_need_local_write)
{
	refused(bytes, BYTES, IBV_ACCESS_REMOTE_WRITE, EINVAL, "IBV_ACCESS_REMOTE_WRITE without IBV_ACCESS_LOCAL_WRITE");
	refused(bytes, BYTES, IBV_ACCESS_REMOTE_ATOMIC, EINVAL, "IBV_ACCESS_REMOTE_ATOMIC without IBV_ACCESS_LOCAL_WRITE");
	refused(bytes, BYTES, IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ, EINVAL, "IBV_ACCESS_LOCAL_WRITE");
}

Test(verbs_mr, unknown_flags_are_refused_and_optional_ones_are_not)
{
	struct ibv_mr *mr;

	refused(bytes, BYTES, IBV_ACCESS_LOCAL_WRITE | 1 << 12, EINVAL, "0x1000");
	refused(bytes, BYTES, INT32_MIN, EINVAL, "0x80000000");
	refused(bytes, BYTES, IBV_ACCESS_HUGETLB, EINVAL, "IBV_ACCESS_ON_DEMAND");
	mr = ibv_reg_mr(verbs.pd, bytes, BYTES, 1 << 25);
	cr_assert_not_null(mr);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, lengths_and_addresses)
{
	refused((void *)(uintptr_t)-4096, 8192, ALL, EINVAL, "end of the address space");
	refused(NULL, 4096, ALL, EFAULT, "not backed");
}

Test(verbs_mr, no_bytes_at_all)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, 0, ALL);

	cr_assert_not_null(mr);
	cr_assert_eq(mr->length, 0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, handles_that_were_overwritten)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL);
	struct verbs other;

	said_begin();
	mr->handle ^= 0x5a5a5a5a;
	cr_assert_eq(ibv_dereg_mr(mr), ENOENT);
	cr_assert(said_has("is no open region"));
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert(said_has("ibv_rereg_mr: handle"));
	mr->handle ^= 0x5a5a5a5a;
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	verbs.pd->handle ^= 0x5a5a5a5a;
	refused(bytes, BYTES, ALL, ENOENT, "is no open PD");
	cr_assert_null(ibv_alloc_null_mr(verbs.pd));
	cr_assert_eq(errno, ENOENT);
	cr_assert_eq(ibv_dealloc_pd(verbs.pd), ENOENT);
	verbs.pd->handle ^= 0x5a5a5a5a;
	verbs_open(&other);
	verbs.pd->context = other.context;
	cr_assert_eq(ibv_dealloc_pd(verbs.pd), ENOENT);
	verbs.pd->context = verbs.context;
	verbs_close(&other);
}

Test(verbs_mr, memory_that_is_not_there)
{
	struct ibv_mr *mr;

	munmap(bytes + 4096, 4096);
	refused(bytes, BYTES, ALL, EFAULT, "not backed by memory that could be written");
	refused(bytes, BYTES, 0, EFAULT, "read");
	mr = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL | IBV_ACCESS_ON_DEMAND);
	cr_assert_not_null(mr, "it may come later");
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, memory_that_may_only_be_read)
{
	struct ibv_mr *mr;

	mprotect(bytes, BYTES, PROT_READ);
	refused(bytes, BYTES, IBV_ACCESS_LOCAL_WRITE, EFAULT, "written");
	mr = ibv_reg_mr(verbs.pd, bytes, BYTES, IBV_ACCESS_REMOTE_READ);
	cr_assert_not_null(mr);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, all_memory_on_demand)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);

	cr_assert_not_null(mr);
	cr_assert_eq(mr->length, SIZE_MAX);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	refused(NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE, EFAULT, "IBV_ACCESS_ON_DEMAND");
}

Test(verbs_mr, addresses_of_its_own)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(verbs.pd, bytes, BYTES, 0x1000000, ALL);

	cr_assert_not_null(mr);
	cr_assert_eq(mr->addr, bytes);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova2(verbs.pd, bytes, BYTES, 0, ALL | IBV_ACCESS_RELAXED_ORDERING);
	cr_assert_not_null(mr);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	said_begin();
	errno = 0;
	cr_assert_null(ibv_reg_mr_iova(verbs.pd, bytes, BYTES, UINT64_MAX - 10, ALL));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has("past 2^64"));
	cr_assert_null(ibv_reg_mr_iova(verbs.pd, bytes + 100, 10, 0x1000, ALL));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has("as far behind the beginning of a page"));
	mr = ibv_reg_mr_iova(verbs.pd, bytes + 100, 10, 0x1000, ALL | IBV_ACCESS_ZERO_BASED);
	cr_assert_not_null(mr, "that begins at 0");
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, rereg_changes_the_translation)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, 4096, ALL), before = *mr;

	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, bytes + 4096, 100, 0), 0);
	cr_assert_eq(mr->addr, bytes + 4096);
	cr_assert_eq(mr->length, 100);
	cr_assert_eq(mr->lkey, before.lkey, "the keys stay");
	cr_assert_eq(mr->rkey, before.rkey);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, rereg_changes_the_pd)
{
	struct ibv_pd *other = ibv_alloc_pd(verbs.context);
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL | IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = BYTES, .lkey = mr->lkey };
	uint32_t rkey = mr->rkey;

	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	cr_assert_eq(mr->pd, other);
	cr_assert_eq(mr->rkey, rkey);
	cr_assert_eq(ibv_advise_mr(other, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0, "the lkey is the new PD's");
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EPERM);
	cr_assert_eq(ibv_dealloc_pd(other), EBUSY);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_dealloc_pd(other), 0);
}

Test(verbs_mr, rereg_changes_the_access)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, 0);

	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL), 0);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, rereg_that_is_refused_changes_nothing)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL);
	struct ibv_mr before = *mr;
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION;

	said_begin();
	cr_assert_eq(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(ibv_rereg_mr(mr, 1 << 5, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, translation, NULL, NULL, 10, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, translation, NULL, bytes, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, translation, NULL, bytes, 10, ALL), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	munmap(bytes + 4096, 4096);
	cr_assert_eq(ibv_rereg_mr(mr, translation, NULL, bytes, BYTES, 0), IBV_REREG_MR_ERR_CMD);
	cr_assert_eq(errno, EFAULT);
	cr_assert_eq(memcmp(mr, &before, sizeof(before)), 0);
	cr_assert(said_has("ibv_rereg_mr: "));
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, a_region_of_a_descriptor)
{
	int fd = memfd_create("region", 0);
	struct ibv_mr *mr;

	cr_assert_eq(ftruncate(fd, BYTES), 0);
	mr = ibv_reg_dmabuf_mr(verbs.pd, 4096, 4096, 0x10000, fd, ALL);
	cr_assert_not_null(mr);
	cr_assert_eq(mr->length, 4096);
	close(fd);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, a_region_of_a_wrong_descriptor)
{
	int fd = memfd_create("region", 0);

	cr_assert_eq(ftruncate(fd, BYTES), 0);
	said_begin();
	cr_assert_null(ibv_reg_dmabuf_mr(verbs.pd, 0, BYTES, 0, -1, ALL));
	cr_assert_eq(errno, EBADF);
	cr_assert_null(ibv_reg_dmabuf_mr(verbs.pd, 4096, BYTES, 4096, fd, ALL));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has("past the end of its bytes"));
	cr_assert_null(ibv_reg_dmabuf_mr(verbs.pd, 0, BYTES, 100, fd, ALL));
	cr_assert_eq(errno, EINVAL);
	cr_assert_null(ibv_reg_dmabuf_mr(verbs.pd, 0, 0, 0, fd, ALL));
	cr_assert_eq(errno, EINVAL);
	cr_assert_null(ibv_reg_dmabuf_mr(verbs.pd, 0, BYTES, 0, fd, IBV_ACCESS_ON_DEMAND));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has("regions of a DMA-buf have no such flags"));
	cr_assert_null(ibv_reg_dmabuf_mr(verbs.pd, 0, BYTES, 0, fd, IBV_ACCESS_ZERO_BASED));
	cr_assert_eq(errno, EINVAL);
	close(fd);
}

Test(verbs_mr, the_null_region)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(verbs.pd);
	struct ibv_sge sge;

	cr_assert_not_null(mr);
	cr_assert_neq(mr->lkey, 0);
	cr_assert_eq(ibv_dealloc_pd(verbs.pd), EBUSY);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	sge = (struct ibv_sge){ .lkey = mr->lkey, .length = 10 };
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, advice)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = BYTES, .lkey = mr->lkey };
	struct ibv_pd *other = ibv_alloc_pd(verbs.context);

	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), 0);
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &sge, 1), 0);
	said_begin();
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1), EPERM);
	cr_assert_eq(ibv_advise_mr(other, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EPERM);
	cr_assert(said_has("region of another PD"));
	cr_assert_eq(ibv_advise_mr(verbs.pd, (enum ibv_advise_mr_advice)77, 0, &sge, 1), EOPNOTSUPP);
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 2, &sge, 1), EINVAL);
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 0), EINVAL);
	sge.length++;
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EFAULT);
	cr_assert(said_has("that range is not"));
	sge.lkey = mr->rkey;
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &sge, 1), ENOENT);
	cr_assert(said_has("names no region"));
	sge = (struct ibv_sge){ .addr = (uintptr_t)bytes, .length = BYTES, .lkey = mr->lkey };
	verbs.pd->handle ^= 0x5a5a;
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EINVAL);
	verbs.pd->handle ^= 0x5a5a;
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_advise_mr(verbs.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	cr_assert(said_has("was deregistered"));
	cr_assert_eq(ibv_dealloc_pd(other), 0);
}

Test(verbs_mr, a_pd_waits_for_its_regions)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL);

	said_begin();
	cr_assert_eq(ibv_dealloc_pd(verbs.pd), EBUSY);
	cr_assert(said_has("ibv_dealloc_pd: 1 "));
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_mr, a_child_of_a_fork_has_none_of_the_parents)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, BYTES, ALL);
	pid_t child;
	int status;

#if defined(__SANITIZE_THREAD__)
	cr_skip_test("the thread sanitizer lets no child of a fork start threads");
#endif
	child = fork();
	if (!child) {
		struct verbs own;

		if (ibv_reg_mr(verbs.pd, bytes, BYTES, ALL) || errno != ENODEV)
			_exit(1);
		if (ibv_dereg_mr(mr))
			_exit(2);
		verbs_open(&own);
		mr = ibv_reg_mr(own.pd, bytes, BYTES, ALL);
		_exit(mr && !ibv_dereg_mr(mr) ? 0 : 3);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", (unsigned)status);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}
