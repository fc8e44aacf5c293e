/* SPDX-License-Identifier: BSD-2-Clause */
/* refresh.c - pages that come and change after the registration: S106 to S114, S118 to S120. */
#include "tests/rules/harness/mapped.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTIFY_ONLY(p)                                                         \
	do {                                                                   \
		if (!peer_has(&(p)->peer, FI_MR_MMU_NOTIFY))                   \
			NOT_IN_THIS_MODE("FI_MR_MMU_NOTIFY is not asked for"); \
	} while (0)

static void ok_at(struct pair *p, uint64_t key, uint64_t addr, size_t from, size_t length)
{
	struct outcome out;

	pattern_fill(p->local.iov[0].iov_base, length, ++p->seed);
	out = pair_try(p, RMA_WRITE, addr + from, key, length);
	CHECK(!out.rc && !out.err, "a write of %zu B at %zu failed: %s", length, from, out.text ? out.text : "");
	mapped_holds(p, from, length);
}

static void deny_at(struct pair *p, uint64_t key, uint64_t addr, size_t from, size_t length, const char *rules)
{
	deny(p, RMA_WRITE, addr + from, key, length, rules);
	deny(p, RMA_READ, addr + from, key, length, rules);
}

/* S106, S120: pages that were there when the region was registered need no refresh. */
PAIR_TEST(rules, S106_S120_no_refresh_where_nothing_changed)
{
	uint64_t key, addr;

	NOTIFY_ONLY(p);
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	ok_at(p, key, addr, 0, MAPPED_LEN);
	ok_at(p, key, addr, PAGE - 3, 6);
	mapped_close(p);
}

/* S107: pages that came later are refused until the refresh. S109, S111, S112: it takes them all in. S119: whatever
 * FI_MR_ALLOCATED says. */
PAIR_TEST(rules, S107_S109_S111_S112_S119_new_pages_need_a_refresh)
{
	uint64_t key, addr;

	NOTIFY_ONLY(p);
	if (peer_has(&p->peer, FI_MR_ALLOCATED))
		NOT_IN_THIS_MODE("FI_MR_ALLOCATED: no page may come later");
	CHECK_RC(0, mapped_open(p, 0, &key, &addr));
	deny_at(p, key, addr, 0, 64, "S107");
	mapped_renew(p, 0, MAPPED_PAGES);
	mapped_fill(p, 0, MAPPED_PAGES, 3);
	deny_at(p, key, addr, PAGE, 64, "S107");
	deny_at(p, key, addr, PAGE - 32, 64, "S107");
	CHECK_RC(0, mapped_refresh(p, 0, 0));
	ok_at(p, key, addr, 0, MAPPED_LEN);
	mapped_close(p);
}

/* S108: a page that was replaced is not reached by the old knowledge; after the refresh the new one is. */
PAIR_TEST(rules, S108_S111_changed_pages_need_a_refresh)
{
	uint64_t key, addr;

	NOTIFY_ONLY(p);
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	mapped_renew(p, 1, 1);
	deny_at(p, key, addr, PAGE, 64, "S107|S108");
	deny_at(p, key, addr, 0, MAPPED_LEN, "S107|S108");
	ok_at(p, key, addr, 0, PAGE);
	CHECK_RC(0, mapped_refresh(p, PAGE, PAGE));
	ok_at(p, key, addr, 0, MAPPED_LEN);
	mapped_close(p);
}

/* Whether the kernel tells this process of its own memory at all (userfaultfd in user mode). */
static bool kernel_tells(void)
{
	enum { USER_MODE_ONLY = 1 };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* How the program puts another page in a page's place. */
static void step_replace(const void *arg, void *reply)
{
	enum { LAST_WAY = 2 };
	int way = *(const int *)arg;
	uint8_t *at = mapped_page(1), *other;

	*(bool *)reply = way < LAST_WAY;
	if (way == 0) {
		CHECK(!madvise(at, PAGE, MADV_DONTNEED), "madvise failed");
	} else if (way == 1) {
		CHECK(mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at, "mmap failed");
	} else {
		other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at, "mremap failed");
	}
	memset(at, way, PAGE);
}

/* S108: nor is one that was replaced and is in use again, by whatever call that was. */
PAIR_TEST(rules, S108_a_replaced_page_in_use)
{
	uint64_t key, addr;
	bool more = true;
	int way;

	NOTIFY_ONLY(p);
	if (!kernel_tells())
		NOT_APPLICABLE("userfaultfd is not to be had here");
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	for (way = 0; more; way++) {
		target_do(&p->target, step_replace, &way, sizeof(way), &more, sizeof(more));
		deny_at(p, key, addr, PAGE, 64, "S107|S108");
		deny_at(p, key, addr, 0, MAPPED_LEN, "S107|S108");
		ok_at(p, key, addr, 0, PAGE);
		ok_at(p, key, addr, 2 * PAGE, PAGE);
		CHECK_RC(0, mapped_refresh(p, PAGE, PAGE));
		ok_at(p, key, addr, 0, MAPPED_LEN);
	}
	mapped_close(p);
}

static struct filed {
	int fd;
	uint8_t *bytes;
	struct fid_mr *mr;
} filed;

struct filed_told {
	uint64_t addr;
	struct key_card card;
};

static void step_file_open(const void *arg, void *reply)
{
	struct filed_told *told = reply;
	struct iovec iov = { .iov_len = PAGE };
	struct mr_args args = {
		.attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE, .requested_key = region_fresh_key(&target_peer) }
	};

	(void)arg;
	filed.fd = memfd_create("emu_refresh", 0);
	CHECK(filed.fd >= 0 && !ftruncate(filed.fd, PAGE), "memfd_create failed");
	filed.bytes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, filed.fd, 0);
	CHECK(filed.bytes != MAP_FAILED, "mmap failed");
	memset(filed.bytes, 1, PAGE);
	iov.iov_base = filed.bytes;
	CHECK_RC(0, mr_register(target_peer.domain, REG_ATTR, &args, 0, &filed.mr));
	mr_ready(&target_peer, filed.mr, 0);
	key_show(&target_peer, filed.mr, &told->card);
	told->addr = region_base(&(struct region){ .iov = { iov }, .segs = 1 }, &target_peer, 0);
}

/* No mapping changes, but the file does, and with it the page. */
static void step_file_renew(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	CHECK(!ftruncate(filed.fd, 0) && !ftruncate(filed.fd, PAGE), "ftruncate failed");
}

static void step_file_close(const void *arg, void *reply)
{
	(void)arg;
	*(uint8_t *)reply = filed.bytes[0];
	CHECK_RC(0, fi_close(&filed.mr->fid));
	munmap(filed.bytes, PAGE);
	close(filed.fd);
}

/* S108: the kernel does not report that a file was cut short, but its page is not there. */
PAIR_TEST(rules, S108_a_file_with_new_pages)
{
	struct filed_told told;
	uint8_t first;
	uint64_t key;

	NOTIFY_ONLY(p);
	target_do(&p->target, step_file_open, NULL, 0, &told, sizeof(told));
	key = key_learn(p, &told.card);
	CHECK(!pair_try(p, RMA_READ, told.addr, key, 64).err, "a read failed: %s", p->peer.text);
	target_do(&p->target, step_file_renew, NULL, 0, NULL, 0);
	deny_at(p, key, told.addr, 0, 64, "S107|S108");
	target_do(&p->target, step_file_close, NULL, 0, &first, sizeof(first));
	CHECK(!first, "a refused write reached the new page");
}

static pid_t forked;

static void step_fork(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	forked = fork();
	CHECK(forked >= 0, "fork failed");
	while (!forked)
		pause();
}

static void step_reap(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	kill(forked, SIGKILL);
	CHECK(waitpid(forked, NULL, 0) == forked, "waitpid failed");
}

/* S120: a fork alone changes no page of the program's, nor does the child's end. */
PAIR_TEST(rules, S120_a_fork_changes_nothing)
{
	uint64_t key, addr;

	NOTIFY_ONLY(p);
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	target_do(&p->target, step_fork, NULL, 0, NULL, 0);
	CHECK(!pair_try(p, RMA_READ, addr, key, MAPPED_LEN).err, "a read after a fork: %s", p->peer.text);
	ok_at(p, key, addr, 0, PAGE);
	target_do(&p->target, step_reap, NULL, 0, NULL, 0);
	ok_at(p, key, addr, 0, MAPPED_LEN);
	mapped_close(p);
}

/* S113: a refresh takes in the ranges given, and vouches for no others. */
PAIR_TEST(rules, S113_only_the_ranges_given)
{
	uint64_t key, addr;

	NOTIFY_ONLY(p);
	if (peer_has(&p->peer, FI_MR_ALLOCATED))
		NOT_IN_THIS_MODE("FI_MR_ALLOCATED: no page may come later");
	CHECK_RC(0, mapped_open(p, 0, &key, &addr));
	mapped_renew(p, 0, MAPPED_PAGES);
	mapped_fill(p, 0, MAPPED_PAGES, 3);
	CHECK_RC(0, mapped_refresh(p, PAGE + 100, 1));
	ok_at(p, key, addr, PAGE, PAGE);
	if (peer_is_emu()) {
		deny_at(p, key, addr, 0, 64, "S107");
		deny_at(p, key, addr, 2 * PAGE, 64, "S107");
		deny_at(p, key, addr, PAGE - 1, 2, "S107");
	}
	mapped_close(p);
}

/* S114: a range outside the region, or one that no memory backs, is an error, and nothing changes. */
PAIR_TEST(rules, S114_ranges_that_cannot_be_refreshed)
{
	uint64_t key, addr;
	int rc;

	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	rc = mapped_refresh(p, 0, 0);
	if (rc == -FI_ENOSYS) {
		mapped_close(p);
		NOT_IN_THIS_MODE("fi_mr_refresh is not offered (S110)");
	}
	CHECK_RC(0, rc);
	CHECK_RC(-FI_EINVAL, mapped_refresh(p, MAPPED_LEN - 1, 2));
	CHECK_RC(-FI_EINVAL, mapped_refresh(p, MAPPED_LEN, 1));
	CHECK_RC(-FI_EINVAL, mapped_refresh(p, 0, SIZE_MAX));
	mapped_drop(p, 1, 1);
	CHECK_REFUSED(mapped_refresh(p, PAGE, PAGE));
	CHECK_REFUSED(mapped_refresh(p, 0, 0));
	ok_at(p, key, addr, 0, PAGE);
	ok_at(p, key, addr, 2 * PAGE, PAGE);
	deny_at(p, key, addr, PAGE, 64, "S18|S107|S108");
	mapped_close(p);
}

/* S110: elsewhere it is there or -FI_ENOSYS. S118: there it shuts no peer out. */
PAIR_TEST(rules, S110_S118_refresh_without_notification)
{
	uint64_t key, addr;
	int rc;

	if (peer_has(&p->peer, FI_MR_MMU_NOTIFY))
		NOT_IN_THIS_MODE("FI_MR_MMU_NOTIFY is asked for");
	CHECK_RC(0, mapped_open(p, MAPPED_PAGES, &key, &addr));
	rc = mapped_refresh(p, 0, 0);
	CHECK(!rc || rc == -FI_ENOSYS, "fi_mr_refresh returned %d (%s)", rc, fi_strerror(-rc));
	ok_at(p, key, addr, 0, MAPPED_LEN);
	if (!rc && !peer_has(&p->peer, FI_MR_ALLOCATED)) {
		mapped_renew(p, 0, MAPPED_PAGES);
		CHECK_RC(0, mapped_refresh(p, PAGE, PAGE));
		ok_at(p, key, addr, 0, MAPPED_LEN);
	}
	mapped_close(p);
}
