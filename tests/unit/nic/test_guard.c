/* SPDX-License-Identifier: BSD-2-Clause */
/* test_guard.c - touching memory that may not be there. test_guard_chain.c has what concerns the program's handlers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/nic/memory/guard.h"
#include "sandbox.h"

static size_t page;

static void setup(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	cr_assert_eq(guard_install(), 0);
}

TestSuite(guard, .init = setup, .timeout = 60);

/* Pages of which the middle one has `prot`; PROT_NONE all three to begin with would hide overruns. */
static char *three_pages(int prot)
{
	char *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(at, MAP_FAILED);
	memset(at, 'a', 3 * page);
	cr_assert_eq(mprotect(at + page, page, prot), 0);
	return at;
}

/* Every way in which a copy can fault, and that good copies work before and after. */
static void copies_and_faults(void)
{
	char buffer[64] = "some bytes", other[64] = "";
	char *none = three_pages(PROT_NONE), *fixed = three_pages(PROT_READ), *gone = three_pages(PROT_NONE);

	munmap(gone + page, page);
	cr_assert(guard_copy(other, buffer, sizeof(buffer)));
	cr_assert_str_eq(other, "some bytes");
	cr_assert(guard_copy(NULL, NULL, 0));
	for (int i = 0; i < 3; i++) {
		cr_assert_not(guard_copy(none + page, buffer, 8));
		cr_assert_not(guard_copy(buffer, none + page, 8));
		cr_assert_not(guard_copy(gone + page, buffer, 8));
		cr_assert_not(guard_copy(buffer, gone + page, 8));
		cr_assert_not(guard_copy(fixed + page, buffer, 8), "read-only");
		cr_assert(guard_copy(buffer, fixed + page, 8));
		cr_assert_not(guard_copy(NULL, buffer, 8));
		cr_assert_not(guard_copy(buffer, NULL, 8));
		cr_assert_not(guard_copy((void *)(UINT64_C(1) << 63), buffer, 8), "not canonical");
		cr_assert_not(guard_copy(buffer, (void *)(UINT64_C(1) << 63), 8), "not canonical");
		cr_assert_not(guard_copy((void *)-8, buffer, 8), "the kernel's");
		cr_assert_not(guard_copy(none + page - 4, buffer, 8), "half way");
		cr_assert_not(guard_copy(none, none + 2 * page - 4, 8));
		cr_assert(guard_copy(none + 2 * page, none, page));
	}
	cr_assert_eq(fixed[page], 'a', "never through a read-only page");
	cr_assert_eq(mprotect(none + page, page, PROT_READ | PROT_WRITE), 0);
	cr_assert(guard_copy(none + page, "back", 4));
	cr_assert_eq(memcmp(none + page, "back", 4), 0);
}

/* Where any byte of either side is missing, and where none is, up to the length from which copies are made in another way. */
static void few_bytes(void)
{
	char own[64] = "0123456789abcdefghijklmnopqrstuvwxyz", copy[64], *none = three_pages(PROT_NONE), *after = none + 2 * page;

	for (size_t length = 1; length <= 40; length++) {
		for (size_t missing = 1; missing <= length; missing++) {
			cr_assert_not(guard_copy(none + page + missing - length, own, length), "%zu of %zu", missing, length);
			cr_assert_not(guard_copy(own, none + page + missing - length, length));
			cr_assert_not(guard_copy(after - missing, own, length));
			cr_assert_not(guard_copy(copy, after - missing, length));
		}
		memset(none, 'a', page);
		memset(after, 'a', page);
		cr_assert(guard_copy(none + page - length, own, length));
		cr_assert(guard_copy(after, none + page - length, length));
		cr_assert(guard_copy(copy, after, length));
		cr_assert_eq(memcmp(copy, own, length), 0);
		cr_assert_eq(none[page - length - 1], 'a');
		cr_assert_eq(after[length], 'a');
	}
}

static void without_our_handler(void)
{
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	guard_check();
}

/* S18. After the first fault the kernel copies for a while, where it may. */
Test(guard, by_handler)
{
	if (!sandbox_refuse_process_vm() || !sandbox_refuse(SYS_pipe2, EPERM))
		cr_skip_test("no seccomp filters here");
	copies_and_faults();
	few_bytes();
}

Test(guard, by_kernel)
{
	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	without_our_handler();
	copies_and_faults();
	few_bytes();
}

Test(guard, by_pipe)
{
	if (!sandbox_refuse_process_vm())
		cr_skip_test("no seccomp filters here");
	without_our_handler();
	copies_and_faults();
	few_bytes();
}

Test(guard, after_a_fault)
{
	copies_and_faults();
	few_bytes();
}

Test(guard, all_lengths)
{
	static unsigned char from[4096], to[4096 + 2];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + 1);
	for (size_t length = 0; length <= sizeof(from); length += length < 300 ? 1 : 379) {
		memset(to, 0, sizeof(to));
		cr_assert(guard_copy(to + 1, from, length));
		cr_assert_eq(memcmp(to + 1, from, length), 0, "%zu", length);
		cr_assert(!to[0] && !to[length + 1], "%zu", length);
	}
}

/* A peer may write where the program has freed memory: wrong of the program, but what hardware would do. Under asan the
 * copy must not be reported. */
Test(guard, freed_memory)
{
	volatile uintptr_t at = (uintptr_t)malloc(64); /* the compiler must not see that it is freed */
	char bytes[64];

	free((void *)at);
	cr_assert(guard_copy(bytes, (void *)at, sizeof(bytes)));
}

Test(guard, overlapping)
{
	char text[] = "0123456789abcdef";

	cr_assert(guard_copy(text + 2, text, 10));
	cr_assert_str_eq(text, "010123456789cdef");
	cr_assert(guard_copy(text, text + 2, 10));
	cr_assert_str_eq(text, "012345678989cdef");
}

/* SIGBUS: a file that became shorter under its mapping. */
Test(guard, truncated_file)
{
	int fd = memfd_create("guard", 0);
	char byte = 'x', *at;

	cr_assert_eq(ftruncate(fd, (off_t)(2 * page)), 0);
	at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(guard_copy(at + page, &byte, 1));
	cr_assert_eq(ftruncate(fd, (off_t)page), 0);
	cr_assert_not(guard_copy(at + page, &byte, 1));
	cr_assert_not(guard_copy(&byte, at + page, 1));
	cr_assert(guard_copy(at, &byte, 1));
	cr_assert_eq(guard_populate(at, 2 * page, true), -EFAULT);
	cr_assert_eq(guard_populate(at, page, true), 0);
	close(fd);
}

/* Landing leaves no signal blocked and errno alone. */
Test(guard, leaves_no_trace)
{
	char *none = three_pages(PROT_NONE);
	sigset_t mask;

	errno = 12345;
	cr_assert_not(guard_copy(none + page, "x", 1));
	cr_assert_eq(errno, 12345);
	cr_assert_eq(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
	cr_assert_not(sigismember(&mask, SIGSEGV));
	cr_assert_not(sigismember(&mask, SIGBUS));
}

/* The program may have given its thread a stack for signals: landing from there leaves it usable. */
Test(guard, alternate_stack)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	char *none = three_pages(PROT_NONE);

	cr_assert_eq(sigaltstack(&alternate, NULL), 0);
	for (int i = 0; i < 1000; i++)
		cr_assert_not(guard_copy(none + page, "x", 1));
	cr_assert_eq(sigaltstack(NULL, &alternate), 0);
	cr_assert_not(alternate.ss_flags & SS_ONSTACK);
}

static bool resident(void *at)
{
	unsigned char present;

	cr_assert_eq(mincore(at, page, &present), 0);
	return present & 1;
}

/* S79: "could be pinned". */
static void populating(void)
{
	char *at = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *fixed = three_pages(PROT_READ), *none = three_pages(PROT_NONE), *gone = three_pages(PROT_NONE);
	const char *constant = "in the text segment";

	munmap(gone + page, page);
	at[3 * page] = 'x';
	cr_assert_not(resident(at + page));
	cr_assert_eq(guard_populate(at + page + 1, page, true), 0, "unaligned");
	cr_assert_not(resident(at));
	cr_assert(resident(at + page) && resident(at + 2 * page), "rounded outward");
	cr_assert_not(resident(at + 4 * page));
	cr_assert_eq(guard_populate(at + 5 * page + 1, 1, true), 0, "one page");
	cr_assert(resident(at + 5 * page));
	cr_assert_not(resident(at + 4 * page) || resident(at + 6 * page));
	cr_assert_eq(guard_populate(at, 8 * page, true), 0);
	cr_assert_eq(at[3 * page], 'x', "contents unchanged");
	cr_assert_eq(at[7 * page], 0);
	cr_assert_eq(guard_populate(fixed, 3 * page, false), 0);
	cr_assert_eq(guard_populate(fixed, 3 * page, true), -EFAULT);
	cr_assert_eq(guard_populate((void *)(uintptr_t)constant, 1, false), 0);
	cr_assert_eq(guard_populate((void *)(uintptr_t)constant, 1, true), -EFAULT);
	for (int writable = 0; writable < 2; writable++) {
		cr_assert_eq(guard_populate(none, 3 * page, writable), -EFAULT);
		cr_assert_eq(guard_populate(none, page, writable), 0);
		cr_assert_eq(guard_populate(none + page - 1, 2, writable), -EFAULT);
		cr_assert_eq(guard_populate(gone, 3 * page, writable), -EFAULT, "a hole");
		cr_assert_eq(guard_populate(NULL, SIZE_MAX, writable), -EFAULT);
		cr_assert_eq(guard_populate(NULL, 1, writable), -EFAULT);
		cr_assert_eq(guard_populate((void *)-8, 8, writable), -EFAULT);
		cr_assert_eq(guard_populate((void *)-8, 9, writable), -EFAULT, "wraps");
		cr_assert_eq(guard_populate((void *)-8, 0, writable), 0);
	}
	cr_assert_eq(fixed[page], 'a');
}

Test(guard, populates)
{
	populating();
}

static long futex(uint32_t *word, int op, uint32_t value, uint32_t *to)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, 1L, to, 0);
}

/* Until the word at `arg` is 1; woken in vain it goes on waiting, and counts that in the next word. */
static void *wait_for_one(void *arg)
{
	uint32_t *word = arg;

	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE)) {
		syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
		__atomic_add_fetch(word + 1, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* The waiter sleeps on `at`: it was moved away and back. A wait that the kernel restarts begins at `at` anew. */
static void see_asleep(uint32_t *at)
{
	uint32_t elsewhere = 0;

	do {
		while (futex(at, FUTEX_REQUEUE, 0, &elsewhere) != 1)
			;
	} while (futex(&elsewhere, FUTEX_REQUEUE, 0, at) != 1);
}

/* A page may begin with a word that threads of the program sleep on. */
Test(guard, populating_wakes_nobody)
{
	uint32_t *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), woken;
	pthread_t waiter;

	cr_assert_eq(pthread_create(&waiter, NULL, wait_for_one, at), 0);
	see_asleep(at);
	woken = __atomic_load_n(at + 1, __ATOMIC_ACQUIRE);
	for (int writable = 0; writable < 2; writable++)
		cr_assert_eq(guard_populate(at, 1, writable), 0);
	/* One that was woken has counted that before it sleeps again. */
	see_asleep(at);
	cr_assert_eq(__atomic_load_n(at + 1, __ATOMIC_ACQUIRE), woken);
	__atomic_store_n(at, 1, __ATOMIC_RELEASE);
	futex(at, FUTEX_WAKE, 1, NULL);
	cr_assert_eq(pthread_join(waiter, NULL), 0);
}

Test(guard, populates_on_old_kernels)
{
	if (!sandbox_refuse_populate())
		cr_skip_test("no seccomp filters here");
	cr_assert_eq(madvise(three_pages(PROT_READ), page, 22), -1, "the filter works");
	populating();
}
