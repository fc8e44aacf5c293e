/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_memory.c - programs that change their mappings, and kinds of memory. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unit/races/watch_case.h"

#ifndef UFFD_USER_MODE_ONLY /* Linux 5.11 */
#define UFFD_USER_MODE_ONLY 1
#endif

static void taken_away(void)
{
	unsigned char *pages = case_pages();
	struct page_watch *watch;

	case_start();
	for (int i = 0; i < 4; i++) {
		struct told told = { 0 };

		watch = case_watch(pages, 3 * PAGE, PAGE_WATCH_ALL, &told);
		if (i == 0)
			NEED(mmap(pages, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
			     pages);
		else if (i == 1)
			NEED(!mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE));
		else if (i == 2)
			NEED(!munmap(pages, 3 * PAGE) && mmap(pages, 3 * PAGE, PROT_READ | PROT_WRITE,
							      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == pages);
		else
			NEED(!madvise(pages, 3 * PAGE, MADV_DONTNEED));
		NEED(pages[PAGE] == 0 || i == 1);
		memset(pages, 7, 3 * PAGE);
		NEED(!told.times || i == 1);
		page_watch_end(watch);
		NEED(pages[PAGE] == 7);
	}
}

static void moved(void)
{
	unsigned char *pages = case_pages(), *to = case_pages(), *now;
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch(pages, 3 * PAGE, PAGE_WATCH_ALL, &told);
	now = mremap(pages, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	NEED(now == to);
	for (size_t i = 0; i < 4 * PAGE; i++)
		NEED(now[i] == case_byte(i));
	page_watch_end(watch);
	now[0] = 1;
}

/* The program's own protection is what counts afterwards. */
static void protected_by_the_program(void)
{
	unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;
	int status;
	pid_t child;

	case_start();
	watch = case_watch(pages, 3 * PAGE, PAGE_WATCH_ALL, &told);
	NEED(!mprotect(pages, PAGE, PROT_READ));
	NEED(pages[0] == case_byte(0));
	child = fork();
	if (!child) {
		*(volatile unsigned char *)pages = 1;
		_exit(0);
	}
	NEED(waitpid(child, &status, 0) == child);
	NEED(status); /* a sanitizer makes an exit of the signal */
	page_watch_end(watch);
	child = fork();
	if (!child) {
		case_start();
		watch = case_watch(pages + PAGE, 10, PAGE_WATCH_ALL, &told);
		*(volatile unsigned char *)pages = 1;
		_exit(0);
	}
	NEED(waitpid(child, &status, 0) == child);
	NEED(status); /* a sanitizer makes an exit of the signal */
}

static void shared_memory(void)
{
	int fd = memfd_create("shared", 0);
	volatile unsigned char *one, *two;
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	NEED(fd >= 0 && !ftruncate(fd, 4 * PAGE));
	one = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	two = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(one != MAP_FAILED && two != MAP_FAILED);
	watch = case_watch((void *)one, 2 * PAGE, PAGE_WATCH_ALL, &told);
	two[PAGE] = 9; /* another way to the same bytes */
	NEED(!told.times);
	NEED(one[PAGE] == 9);
	NEED(told.times == 1);
	page_watch_end(watch);
}

static void huge_pages(void)
{
	size_t length = (size_t)4 << 20;
	unsigned char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *hugetlb;
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	(void)madvise(pages, length, MADV_HUGEPAGE);
	memset(pages, 3, length);
	watch = case_watch(pages, length, PAGE_WATCH_ALL, &told);
	NEED(pages[length - 1] == 3);
	NEED(told.times == 1);
	memset(pages, 4, length);
	page_watch_end(watch);
	hugetlb = mmap(NULL, (size_t)2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (hugetlb == MAP_FAILED)
		return;
	memset(hugetlb, 1, 100);
	NEED(!case_try(hugetlb, 100, PAGE_WATCH_ALL, &told));
	memset(hugetlb, 2, 100);
}

static void heap(void)
{
	enum { BLOCKS = 64, ROUNDS = 2000 };
	unsigned char *block[BLOCKS] = { 0 };
	struct page_watch *watch[BLOCKS] = { 0 };
	struct told told = { 0 };

	case_start();
	for (int i = 0; i < ROUNDS; i++) {
		int k = i * 31 % BLOCKS;

		page_watch_end(watch[k]);
		watch[k] = NULL;
		for (int n = 0; block[k] && n < 40; n++)
			NEED(block[k][n] == (unsigned char)(k + n));
		block[k] = realloc(block[k], (size_t)(i * 977 % 50000) + 40);
		NEED(block[k]);
		for (int n = 0; n < 40; n++)
			block[k][n] = (unsigned char)(k + n);
		if (i % 3)
			watch[k] = case_try(block[k], 40, i % 2 ? PAGE_WATCH_ALL : PAGE_WATCH_STORES, &told);
	}
	for (int k = 0; k < BLOCKS; k++) {
		page_watch_end(watch[k]);
		free(block[k]);
	}
	(void)malloc_trim(0);
}

/* What comes to the heap is watched, and what goes is not. */
static void end_of_the_heap(void)
{
	for (int i = 0; i < 3; i++) {
		struct told told = { 0 };
		struct page_watch *watch;
		unsigned char *more;

		if (i == 0)
			case_start();
		more = sbrk(4 * PAGE);
		NEED(more != (void *)-1);
		watch = case_watch(more + PAGE, PAGE, PAGE_WATCH_ALL, &told);
		more[PAGE] = 7;
		NEED(told.times == 1);
		page_watch_end(watch);
		watch = case_watch(more + PAGE, PAGE, PAGE_WATCH_ALL, &told);
		NEED(sbrk(-4 * PAGE) != (void *)-1 && sbrk(4 * PAGE) == more);
		NEED(more[PAGE] == 0);
		page_watch_end(watch);
		more[PAGE] = 1;
		NEED(told.times == 1);
	}
}

static void library_loaded(void)
{
	unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;
	void *library;

	case_start();
	watch = case_watch(pages, PAGE, PAGE_WATCH_ALL, &told);
	strcpy((char *)pages, "libm.so.6");
	page_watch_end(watch);
	watch = case_watch(pages, PAGE, PAGE_WATCH_ALL, &told);
	library = dlopen((char *)pages, RTLD_NOW);
	NEED(library && dlsym(library, "cos"));
	NEED(!dlclose(library));
	page_watch_end(watch);
}

static ucontext_t main_context, other_context;
static volatile int turns;

static void other(void)
{
	volatile unsigned char bytes[300];

	for (;;) {
		bytes[turns % 300] = (unsigned char)turns;
		NEED(getppid() > 0);
		NEED(bytes[turns % 300] == (unsigned char)turns);
		turns++;
		swapcontext(&other_context, &main_context);
	}
}

/* Its stack is memory like other, and may be watched while it does not run. */
static void stack_of_a_coroutine(void)
{
	unsigned char *pages = case_pages();
	struct told told = { 0 };

	case_start();
	NEED(!getcontext(&other_context));
	other_context.uc_stack = (stack_t){ .ss_sp = pages, .ss_size = PAGES / 2 * PAGE };
	other_context.uc_link = &main_context;
	makecontext(&other_context, other, 0);
	for (int i = 0; i < 5; i++) {
		struct page_watch *watch;

		NEED(getppid() > 0);
		watch = case_watch(pages, PAGES * PAGE, i % 2 ? PAGE_WATCH_ALL : PAGE_WATCH_STORES, &told);
		NEED(!swapcontext(&main_context, &other_context));
		NEED(turns == i + 1);
		page_watch_end(watch);
	}
}

/* A descriptor of the kernel's events; -1: there is none here. */
static int uffd_events_of(void *at, size_t length)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE };
	struct uffdio_register range = { .range = { (uintptr_t)at, length }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	return fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &range) ? fd : -1;
}

struct leaver {
	void *at;
	bool unmaps;
	atomic_int id;
};

static void *leave_memory(void *arg)
{
	struct leaver *leaver = arg;

	atomic_store(&leaver->id, gettid());
	NEED(!(leaver->unmaps ? munmap(leaver->at, 3 * PAGE) : madvise(leaver->at, 3 * PAGE, MADV_DONTNEED)));
	return NULL;
}

/* The call waits until its event is read. Other calls, and other watches, do not wait for it. */
static void taken_away_with_events(void)
{
	unsigned char *pages = case_pages(), *other = case_pages();
	int events = uffd_events_of(pages, (size_t)PAGES * PAGE), ends[2];
	struct told told = { 0 };

	if (events < 0)
		return;
	case_start();
	NEED(!pipe(ends));
	for (int i = 0; i < 2; i++) {
		struct page_watch *watch = case_watch(pages, PAGE, PAGE_WATCH_ALL, &told), *second;
		struct leaver leaver = { .at = pages, .unmaps = i };
		struct uffd_msg message;
		pthread_t thread;

		NEED(!pthread_create(&thread, NULL, leave_memory, &leaver));
		while (!atomic_load(&leaver.id))
			;
		case_wait_in_call(leaver.id, i ? SYS_munmap : SYS_madvise);
		second = case_watch(other, PAGE, PAGE_WATCH_ALL, &told);
		NEED(!case_try(pages + PAGE, PAGE, PAGE_WATCH_ALL, &told));
		NEED(write(ends[1], other, 10) == 10);
		NEED(read(events, &message, sizeof(message)) == sizeof(message));
		NEED(!pthread_join(thread, NULL));
		page_watch_end(watch);
		page_watch_end(second);
		NEED(told.times == i + 1); /* by the write */
	}
}

const struct watch_case watch_memory_cases[] = {
	{ "taken_away", taken_away },
	{ "taken_away_with_events", taken_away_with_events },
	{ "moved", moved },
	{ "protected_by_the_program", protected_by_the_program },
	{ "shared_memory", shared_memory },
	{ "huge_pages", huge_pages },
	{ "heap", heap },
	{ "end_of_the_heap", end_of_the_heap },
	{ "library_loaded", library_loaded },
	{ "stack_of_a_coroutine", stack_of_a_coroutine },
	{ NULL, NULL },
};
