/* SPDX-License-Identifier: BSD-2-Clause */
/* test_uffd.c - what is told of the program's memory, and when. Skipped by name where the kernel refuses. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/net/memory/uffd.h"
#include "emu/nic/regions/mr_pages.h"
#include "tests/unit/nic/sandbox.h"

#ifndef UFFD_USER_MODE_ONLY /* Linux 5.11 */
#define UFFD_USER_MODE_ONLY 1
#endif

enum { PAGE = 4096, PAGES = 8, LENGTH = PAGES * PAGE, ROUNDS = 500 };

/* Remembers one range, and the last change that was told. Under the lock. */
struct memory {
	struct uffd_client client;
	uint64_t addr, length; /* held */
	uint64_t told_addr, told_length;
	unsigned told;
};

static struct memory memory;
static char *bytes;

static void changed(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	struct memory *mine = (struct memory *)client;

	mine->told++;
	mine->told_addr = addr;
	mine->told_length = length;
}

static bool holds(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	const struct memory *mine = (const struct memory *)client;

	return mine->length && addr < mine->addr + mine->length && mine->addr < addr + length;
}

static void *map(void)
{
	void *at = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(at, MAP_FAILED);
	memset(at, 1, LENGTH);
	return at;
}

static uint64_t watch(const void *at, uint64_t length)
{
	uint64_t ticket = 0;

	cr_assert_eq(uffd_watch((uintptr_t)at, length, &ticket), 0);
	return ticket;
}

static bool unchanged(uint64_t ticket)
{
	bool same;

	uffd_lock();
	same = uffd_unchanged(ticket);
	uffd_unlock();
	return same;
}

static void unwatch(const void *at, uint64_t length)
{
	uffd_lock();
	uffd_unwatch((uintptr_t)at, length);
	uffd_unlock();
}

static void hold(const void *at, uint64_t length)
{
	uffd_lock();
	memory.addr = (uintptr_t)at;
	memory.length = length;
	uffd_unlock();
}

static unsigned told(void)
{
	unsigned n;

	uffd_lock();
	n = memory.told;
	uffd_unlock();
	return n;
}

static void expect_told(unsigned times, const void *at, uint64_t length)
{
	cr_assert_eq(told(), times);
	cr_assert_eq(memory.told_addr, (uintptr_t)at);
	cr_assert_eq(memory.told_length, length);
}

static void begin(void)
{
	const char *why = NULL;

	if (!sandbox_allows_userfaultfd())
		cr_skip_test("there is no userfaultfd in user mode here");
	cr_assert_eq(uffd_start(&why), 0, "%s", why);
	memory.client.changed = changed;
	memory.client.holds = holds;
	uffd_add(&memory.client);
	bytes = map();
}

Test(uffd, ends_and_starts_again)
{
	const char *why = NULL;
	uint64_t ticket;

	begin();
	ticket = watch(bytes, LENGTH);
	uffd_end();
	uffd_end();
	cr_assert(!unchanged(ticket));
	cr_assert_eq(uffd_watch((uintptr_t)bytes, LENGTH, &ticket), -ENODEV);
	cr_assert_eq(munmap(bytes, LENGTH), 0, "nothing is watched, and nobody is waited for");
	cr_assert_eq(told(), 0);
	cr_assert_eq(uffd_start(&why), 0, "%s", why);
	bytes = map();
	hold(bytes, LENGTH);
	watch(bytes, LENGTH);
	cr_assert_eq(munmap(bytes, LENGTH), 0);
	expect_told(1, bytes, LENGTH);
}

/* Told when the call is back, with no wait. */
Test(uffd, tells_of_munmap_by_pages)
{
	begin();
	watch(bytes + 100, PAGE); /* two pages */
	munmap(bytes, LENGTH);
	expect_told(1, bytes, LENGTH);
}

Test(uffd, needs_no_privilege)
{
	if (!geteuid())
		cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	begin();
	watch(bytes, LENGTH);
	munmap(bytes, LENGTH);
	expect_told(1, bytes, LENGTH);
}

Test(uffd, tells_of_dropped_pages)
{
	begin();
	watch(bytes, LENGTH);
	cr_assert_eq(madvise(bytes + PAGE, PAGE, MADV_DONTNEED), 0);
	expect_told(1, bytes + PAGE, PAGE);
}

Test(uffd, tells_of_a_mapping_over_it)
{
	begin();
	watch(bytes, LENGTH);
	cr_assert_eq(mmap(bytes, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), bytes);
	expect_told(1, bytes, PAGE);
}

/* Pages that go away and leave their mapping behind. The new place is not watched, though the kernel moves the watch along. */
Test(uffd, tells_of_a_move)
{
	void *to;

	begin();
	watch(bytes, LENGTH);
	hold(bytes, LENGTH);
	to = mremap(bytes, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (to == MAP_FAILED)
		cr_skip_test("the kernel moves no pages out of a mapping that stays: %s", strerror(errno));
	expect_told(1, bytes, LENGTH);
	hold(NULL, 0);
	memory.told = 0;
	munmap(to, LENGTH);
	cr_assert_eq(told(), 0);
}

Test(uffd, tells_nothing_of_other_memory)
{
	char *other;

	begin();
	other = map();
	watch(bytes, LENGTH);
	munmap(other, LENGTH);
	mprotect(bytes, LENGTH, PROT_NONE); /* not told: a change that clients cannot hear of */
	cr_assert_eq(told(), 0);
}

static unsigned unregistered; /* ranges, so far */

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, void *arg);

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	unregistered += request == UFFDIO_UNREGISTER;
	return __real_ioctl(fd, request, arg);
}

/* Memory that the program watches itself, by a descriptor of its own: before 6.16 the kernel lets any other one end that. */
static int watch_by_the_program(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .range = { (uintptr_t)bytes, LENGTH }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	cr_assert(fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &all));
	return fd;
}

Test(uffd, leaves_the_programs_own_watch_alone)
{
	struct iovec parts[] = { { bytes, PAGE }, { NULL, PAGE } };
	struct mr_pages *pages;
	struct remap remap;
	const char *why;
	int fd;

	begin();
	fd = watch_by_the_program();
	parts[0].iov_base = bytes;
	parts[1].iov_base = map();
	cr_assert_eq(remap_start(&why), 0);
	cr_assert_eq(remap_begin(&remap, parts, 2), -EBUSY);
	remap_end(&remap);
	cr_assert_eq(unregistered, 0, "the first failed, and the second was not tried");
	if (mr_pages_open(&pages, parts, 2))
		cr_skip_test("the kernel does not tell which pages are there");
	cr_assert_null(mr_watch(pages, parts, 2));
	mr_pages_close(pages);
	cr_assert_eq(unregistered, 1, "the second alone was watched");
	close(fd);
}

/* Memory that comes under a table that is there: the watch of the one that it is refreshed by is the first one's then. */
Test(uffd, ends_what_a_refresh_began)
{
	struct mr_pages *pages, *fresh;
	struct iovec all;

	begin();
	all = (struct iovec){ bytes, LENGTH };
	munmap(bytes, LENGTH);
	if (mr_pages_open(&pages, &all, 1))
		cr_skip_test("the kernel does not tell which pages are there");
	cr_assert_null(mr_watch(pages, &all, 1));
	cr_assert_eq(mmap(bytes, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), bytes);
	cr_assert_eq(mr_pages_open(&fresh, &all, 1), 0);
	cr_assert_null(mr_watch(fresh, &all, 1));
	mr_pages_take(pages, fresh, (uintptr_t)bytes, LENGTH);
	mr_pages_close(fresh);
	cr_assert_eq(unregistered, 0, "another table holds it");
	mr_pages_close(pages);
	cr_assert_eq(unregistered, 1);
}

Test(uffd, tells_nothing_after_unwatch)
{
	uint64_t ticket;

	begin();
	ticket = watch(bytes, LENGTH);
	cr_assert(unchanged(ticket));
	unwatch(bytes, LENGTH);
	cr_assert_not(unchanged(ticket), "what was seen meanwhile is not watched");
	munmap(bytes, LENGTH);
	cr_assert_eq(told(), 0);
}

/* Memory held in the first and the last page keeps those watched, and no other. */
Test(uffd, shared_pages_stay_watched)
{
	begin();
	watch(bytes, LENGTH);
	hold(bytes, 10);
	unwatch(bytes + 20, LENGTH - 40);
	munmap(bytes + PAGE, PAGE);
	cr_assert_eq(told(), 0);
	madvise(bytes, PAGE, MADV_DONTNEED);
	expect_told(1, bytes, PAGE);

	watch(bytes + 2 * PAGE, 6 * PAGE);
	hold(bytes + LENGTH - 10, 10);
	unwatch(bytes + 2 * PAGE, 6 * PAGE);
	madvise(bytes + 2 * PAGE, 5 * PAGE, MADV_DONTNEED);
	cr_assert_eq(told(), 1);
	munmap(bytes + LENGTH - PAGE, PAGE);
	expect_told(2, bytes + LENGTH - PAGE, PAGE);

	watch(bytes + 2 * PAGE, 3 * PAGE);
	hold(bytes + 3 * PAGE, 10);
	unwatch(bytes + 2 * PAGE, 3 * PAGE);
	madvise(bytes + 3 * PAGE, PAGE, MADV_DONTNEED);
	expect_told(3, bytes + 3 * PAGE, PAGE);
}

Test(uffd, a_change_makes_tickets_void)
{
	uint64_t ticket;

	begin();
	ticket = watch(bytes, LENGTH);
	madvise(bytes, PAGE, MADV_DONTNEED);
	cr_assert_not(unchanged(ticket));
	cr_assert(unchanged(watch(bytes, LENGTH)));
}

Test(uffd, removed_clients_hear_nothing)
{
	begin();
	watch(bytes, LENGTH);
	uffd_remove(&memory.client);
	munmap(bytes, LENGTH);
	cr_assert_eq(told(), 0);
}

Test(uffd, refuses_bad_ranges)
{
	uint64_t ticket = 77;

	cr_assert_eq(uffd_watch(PAGE, PAGE, &ticket), -ENODEV, "not started");
	begin();
	cr_assert_eq(uffd_watch((uintptr_t)bytes, 0, &ticket), -EINVAL);
	cr_assert_eq(uffd_watch((uintptr_t)bytes + 1, 0, &ticket), -EINVAL);
	cr_assert_eq(uffd_watch((uintptr_t)bytes, 1, &ticket), 0, "a byte is one");
	unwatch(bytes + 1, 0);
	cr_assert(unchanged(ticket));
	unwatch(bytes, 1);
	ticket = 77;
	cr_assert_eq(uffd_watch(UINT64_MAX - 10, 100, &ticket), -EINVAL);
	cr_assert_eq(uffd_watch(UINT64_MAX, 1, &ticket), -EINVAL);
	cr_assert_eq(ticket, 77, "refused before anything is done");
	munmap(bytes, LENGTH);
	cr_assert_eq(uffd_watch((uintptr_t)bytes, LENGTH, &ticket), -EINVAL, "not mapped");
	unwatch(bytes, LENGTH);
	unwatch(bytes, 0);
}

/* A program that watches its memory itself keeps it. */
Test(uffd, leaves_the_programs_own_watch)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register own = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	uint64_t ticket;
	int fd;

	begin();
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	cr_assert(fd >= 0 && !ioctl(fd, UFFDIO_API, &api));
	own.range = (struct uffdio_range){ .start = (uintptr_t)bytes, .len = LENGTH };
	cr_assert_eq(ioctl(fd, UFFDIO_REGISTER, &own), 0);
	cr_assert_eq(uffd_watch((uintptr_t)bytes, LENGTH, &ticket), -EBUSY);
}

/* A child has no reader: it must not wait for one. */
Test(uffd, forked_children_do_not_wait)
{
	int status;
	pid_t child;

	begin();
	watch(bytes, LENGTH);
	child = fork();
	cr_assert(child >= 0);
	if (!child)
		_exit(munmap(bytes, LENGTH) != 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert_eq(told(), 0);
}

static void expect_refused(int call, int gives, int err, const char *word)
{
	const char *why = "";
	uint64_t ticket;

	if (!sandbox_refuse(call, gives))
		cr_skip_test("the kernel takes no filter");
	cr_assert_eq(uffd_start(&why), err);
	cr_assert(strstr(why, word), "%s", why);
	cr_assert_eq(uffd_watch((uintptr_t)&ticket, 1, &ticket), -ENODEV);
}

Test(uffd, says_that_it_is_forbidden)
{
	expect_refused(SYS_userfaultfd, EPERM, -EPERM, "forbidden");
}

Test(uffd, says_that_the_kernel_has_none)
{
	expect_refused(SYS_userfaultfd, ENOSYS, -ENOSYS, "no userfaultfd");
}

Test(uffd, says_that_the_kernel_is_too_old)
{
	expect_refused(SYS_userfaultfd, EINVAL, -EINVAL, "user mode");
}

Test(uffd, says_that_it_has_not_what_is_needed)
{
	if (!sandbox_allows_userfaultfd())
		cr_skip_test("there is no userfaultfd in user mode here");
	expect_refused(SYS_ioctl, EINVAL, -EOPNOTSUPP, "events");
}

Test(uffd, says_that_there_is_no_thread)
{
	if (!sandbox_allows_userfaultfd() || !sandbox_refuse(SYS_clone, EAGAIN))
		cr_skip_test("there is no userfaultfd in user mode here, or no filter");
	expect_refused(SYS_clone3, EAGAIN, -EAGAIN, "thread");
}

/* One thread maps and unmaps, another one looks with the lock held: every change that it sees has been reported. */
static atomic_bool done;

static void *looks(void *arg)
{
	while (!atomic_load(&done))
		told();
	return arg;
}

Test(uffd, many_changes_and_lookers)
{
	pthread_t looker;

	begin();
	munmap(bytes, LENGTH);
	cr_assert_eq(pthread_create(&looker, NULL, looks, NULL), 0);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		bytes = map();
		watch(bytes, LENGTH);
		hold(bytes, LENGTH);
		munmap(bytes, LENGTH);
		expect_told(i, bytes, LENGTH);
		hold(NULL, 0);
	}
	atomic_store(&done, true);
	pthread_join(looker, NULL);
}
