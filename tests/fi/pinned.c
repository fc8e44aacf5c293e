/* SPDX-License-Identifier: BSD-2-Clause */
/* pinned.c - FI_EMU_PINNED: where it holds, and how a program is told that it cannot be had (S81). */
#include "tests/fi/world.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/nic/sandbox.h"

enum { PAGE = 4096, LARGE = 1 << 20 };

/* As a container's profile does. */
static void forbid(int call)
{
	if (!sandbox_refuse(call, EPERM))
		cr_skip_test("no system call can be forbidden here");
}

static void need_io_uring(void)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);

	if (fd < 0)
		cr_skip_test("io_uring is not to be had here: %s", strerror(errno));
	close(fd);
}

/* Memory that a ring locks is not counted if its process has this right. */
static void drop_ipc_lock(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	cr_assert_eq(syscall(SYS_capget, &header, caps), 0);
	caps[0].effective &= ~(1u << CAP_IPC_LOCK);
	cr_assert_eq(syscall(SYS_capset, &header, caps), 0);
}

static int reg(struct world *w, void *at, size_t length, struct fid_mr **mr)
{
	return fi_mr_reg(w->domain, at, length, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 7, 0, mr, NULL);
}

static uint8_t *map(size_t length)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(at, MAP_FAILED);
	return at;
}

/* fi_domain for these rules. */
static int domain(int mr_mode)
{
	struct want want = { .mr_mode = mr_mode };
	struct fid_domain *opened = NULL;
	struct fid_fabric *fabric;
	struct fi_info *info;
	int rc;

	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_assert_eq(info->domain_attr->mr_mode, mr_mode);
	RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	rc = fi_domain(fabric, info, &opened, NULL);
	if (rc)
		cr_assert_null(opened);
	else
		RC(0, fi_close(&opened->fid));
	RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
	return rc;
}

/* Pinning that is asked for and cannot be had is refused; domains that pin nothing do not care. */
Test(fi_pinned, io_uring_is_forbidden)
{
	world_need_emu();
	forbid(SYS_io_uring_setup);
	RC(0, domain(FI_MR_ALLOCATED));
	setenv("FI_EMU_PINNED", "1", 1);
	RC(-FI_EOPNOTSUPP, domain(FI_MR_ALLOCATED));
	RC(-FI_EOPNOTSUPP, domain(FI_MR_ALLOCATED | FI_MR_VIRT_ADDR));
	RC(0, domain(0));
	RC(0, domain(FI_MR_ALLOCATED | FI_MR_MMU_NOTIFY));
	setenv("FI_EMU_PINNED", "0", 1);
	RC(0, domain(FI_MR_ALLOCATED));
}

/* Then no change is reported, and that is all. */
Test(fi_pinned, userfaultfd_is_forbidden)
{
	uint8_t word[8] = "1234567", *memory = map(PAGE);
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr = NULL;
	struct world w;

	need_io_uring();
	forbid(SYS_userfaultfd);
	setenv("FI_EMU_PINNED", "1", 1);
	world_open(&w, &(struct want){ .mr_mode = FI_MR_ALLOCATED });
	RC(0, reg(&w, memory, PAGE, &mr));
	RC(0, fi_write(w.ep, word, sizeof(word), NULL, w.self, 0, 7, NULL));
	RC(1, world_next(&w, &entry));
	cr_expect_str_eq((char *)memory, "1234567");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_pinned, too_little_may_be_locked)
{
	struct fid_mr *const none = (struct fid_mr *)&none;
	struct fid_mr *mr = none;
	struct rlimit limit;
	struct world w;
	uint8_t *memory;

	need_io_uring();
	drop_ipc_lock();
	setenv("FI_EMU_PINNED", "1", 1);
	world_open(&w, &(struct want){ .mr_mode = FI_MR_ALLOCATED });
	memory = map(LARGE);
	RC(0, reg(&w, memory, PAGE, &mr));
	RC(0, fi_close(&mr->fid));
	cr_assert_eq(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (limit.rlim_max >= LARGE / 2)
		cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ LARGE / 2, limit.rlim_max }), 0);
	mr = none;
	RC(-FI_ENOMEM, reg(&w, memory, LARGE, &mr));
	cr_expect_eq(mr, none);
	if (limit.rlim_cur >= 4 * LARGE) {
		cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
		RC(0, reg(&w, memory, LARGE, &mr)); /* the key is free */
		RC(0, fi_close(&mr->fid));
	}
	world_close(&w);
}

/* Memory that the program may not write cannot be pinned by io_uring; regions within regions need no pinning of their own,
 * and reach the old pages. */
Test(fi_pinned, what_is_pinned)
{
	struct fid_mr *const none = (struct fid_mr *)&none;
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr = none;
	uint8_t word[8] = "1234567", *memory;
	struct world w;

	need_io_uring();
	setenv("FI_EMU_PINNED", "1", 1);
	world_open(&w, &(struct want){ .mr_mode = FI_MR_ALLOCATED });
	memory = map(PAGE);
	mprotect(memory, PAGE, PROT_READ);
	RC(-FI_EFAULT, fi_mr_reg(w.domain, memory, PAGE, FI_REMOTE_READ, 0, 7, 0, &mr, NULL));
	cr_expect_eq(mr, none);
	mprotect(memory, PAGE, PROT_READ | PROT_WRITE);
	RC(0, reg(&w, memory, PAGE, &mr));
	munmap(memory, PAGE);
	RC(0, fi_write(w.ep, word, sizeof(word), NULL, w.self, 8, 7, NULL));
	RC(1, world_next(&w, &entry));
	memset(word, 0, sizeof(word));
	RC(0, fi_read(w.ep, word, sizeof(word), NULL, w.self, 8, 7, NULL));
	RC(1, world_next(&w, &entry));
	cr_expect_str_eq((char *)word, "1234567");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* The child's close is of its own object alone. */
Test(fi_pinned, a_forks_child_closes)
{
	uint8_t word[8] = "1234567", *memory;
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr = NULL;
	struct world w;
	int status;
	pid_t child;

	need_io_uring();
	setenv("FI_EMU_PINNED", "1", 1);
	world_open(&w, &(struct want){ .mr_mode = FI_MR_ALLOCATED });
	memory = map(PAGE);
	RC(0, reg(&w, memory, PAGE, &mr));
	child = fork();
	cr_assert_geq(child, 0);
	if (!child)
		_exit(fi_close(&mr->fid) ? 1 : 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	RC(0, fi_write(w.ep, word, sizeof(word), NULL, w.self, 0, 7, NULL));
	RC(1, world_next(&w, &entry));
	cr_expect_str_eq((char *)memory, "1234567");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}
