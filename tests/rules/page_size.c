/* SPDX-License-Identifier: BSD-2-Clause */
/* page_size.c - the size of pages that a registration may name. */
#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/newest.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int reg(struct peer *p, void *at, size_t len, size_t page_size, struct fid_mr **mr)
{
	struct iovec iov = { at, len };
	struct newest_attr attr = { .mr_iov = &iov,
				    .iov_count = 1,
				    .access = ALL_LOCAL | ALL_REMOTE,
				    .requested_key = region_fresh_key(p),
				    .page_size = page_size };

	return newest_reg(p->domain, &attr, 0, mr);
}

/* The lowest number that a file would be opened by. */
static int next_file(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* The base page is supported everywhere; 2 MiB where the kernel has such pages. */
PEER_TEST(page_size, S151_S152_sizes_of_the_system)
{
	static const size_t wrong[] = { 1, 3, 12345, 2048, 4097, 8192, (2 << 20) + 4096, SIZE_MAX, 1ul << 63 };
	size_t base = (size_t)sysconf(_SC_PAGESIZE);
	struct fid_mr *mr = NULL;
	static char bytes[256];
	int rc, next;

	if (FI_VERSION_LT(peer_api(), FI_VERSION(1, 22)))
		NOT_IN_THIS_MODE("the API version has no page_size");
	CHECK_RC(0, reg(p, bytes, sizeof(bytes), 0, &mr));
	CHECK_RC(0, fi_close(&mr->fid));
	CHECK_RC(0, reg(p, bytes, sizeof(bytes), base, &mr));
	CHECK_RC(0, fi_close(&mr->fid));
	next = next_file();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (wrong[i] == base)
			continue;
		rc = reg(p, bytes, sizeof(bytes), wrong[i], &mr);
		CHECK(rc == -FI_EINVAL || !peer_is_emu(), "page_size %zu: %d", wrong[i], rc);
		if (!rc) /* S154: it may be ignored */
			CHECK_RC(0, fi_close(&mr->fid));
	}
	CHECK(next_file() == next, "a registration left a file open");
	if (!access("/sys/kernel/mm/hugepages/hugepages-2048kB", F_OK)) {
		CHECK_RC(0, reg(p, bytes, sizeof(bytes), 2 << 20, &mr));
		CHECK_RC(0, fi_close(&mr->fid));
	}
}

/* Before 1.22 there is no such field: what lies there is not looked at. */
LONE_TEST(page_size, S12_S154_not_before_1_22)
{
	struct peer_want want = { .api = FI_VERSION(1, 17) };
	struct fid_mr *mr = NULL;
	struct fi_info *info = NULL;
	static char bytes[256];
	struct peer p;
	int rc;

	if (FI_VERSION_LT(peer_api(), want.api))
		want.api = peer_api();
	rc = peer_getinfo(&want, &info);
	fi_freeinfo(info);
	if (rc)
		NOT_APPLICABLE("no endpoint without mr_mode bits");
	peer_open(&p, &want);
	CHECK_RC(0, reg(&p, bytes, sizeof(bytes), 12345, &mr));
	CHECK_RC(0, fi_close(&mr->fid));
	peer_close(&p);
}

static struct {
	void *at;
	struct fid_mr *mr;
} held;

struct told {
	struct key_card card;
	uint64_t base;
};

static void step_reg(const void *arg, void *reply)
{
	struct told *told = reply;

	(void)arg;
	held.at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(held.at, 0, PAGE); /* there, for FI_MR_MMU_NOTIFY */
	CHECK_RC(0, reg(&target_peer, held.at, PAGE, (size_t)sysconf(_SC_PAGESIZE), &held.mr));
	mr_ready(&target_peer, held.mr, 0);
	key_show(&target_peer, held.mr, &told->card);
	told->base = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)held.at : 0;
}

static void step_close(const void *arg, void *reply)
{
	(void)arg;
	*(uint64_t *)reply = pattern_hash(held.at, PAGE);
	CHECK_RC(0, fi_close(&held.mr->fid));
	munmap(held.at, PAGE);
}

/* S153 asks for no more than that pages of the named size work. */
PAIR_TEST(page_size, S151_S153_a_region_with_a_size_is_as_any_other)
{
	uint64_t hash, seen;
	struct outcome out;
	struct told told;

	if (FI_VERSION_LT(peer_api(), FI_VERSION(1, 22)))
		NOT_IN_THIS_MODE("the API version has no page_size");
	target_do(&p->target, step_reg, NULL, 0, &told, sizeof(told));
	pattern_fill(p->local.iov[0].iov_base, PAGE, 3);
	out = pair_try(p, RMA_WRITE, told.base, key_learn(p, &told.card), PAGE);
	CHECK(!out.rc && !out.err, "a write failed: %s", out.text);
	hash = pattern_hash(p->local.iov[0].iov_base, PAGE);
	target_do(&p->target, step_close, NULL, 0, &seen, sizeof(seen));
	CHECK(seen == hash, "the target holds other bytes");
}
