/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_cases.c - runs each case by itself: unit_page_watch [NAME...]. A case ends with status 0, or says what was not so. */
#include "tests/unit/races/watch_case.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/nic/memory/guard.h"

enum { SKIPPED = 77, CASE_SECONDS = 60 };

static const struct watch_case *const groups[] = { watch_access_cases, watch_call_cases,   watch_signal_cases,
						   watch_thread_cases, watch_memory_cases, watch_step_cases,
						   watch_again_cases,  watch_byte_cases,   watch_stress_cases };

void case_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	_exit(1);
}

unsigned char case_byte(size_t place)
{
	return (unsigned char)(place * 7 + place / 251 + 1);
}

/* A mapping of their own: no page is watched of one in which a stack is, and the kernel joins those that meet. */
unsigned char *case_pages(void)
{
	unsigned char *pages = mmap(NULL, (size_t)(PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(pages != MAP_FAILED);
	pages += PAGE;
	NEED(!mprotect(pages, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE));
	for (size_t i = 0; i < (size_t)PAGES * PAGE; i++)
		pages[i] = case_byte(i);
	return pages;
}

static bool accessed(void *arg, const struct page_access *access)
{
	struct told *told = arg;

	told->at = access->at;
	told->is_store = access->is_store;
	told->is_sure = access->is_sure;
	told->code = access->code;
	told->lifted = access->lifted;
	told->stack = *access->stack;
	if (told->wait)
		told->wait();
	atomic_fetch_add(&told->times, 1);
	return told->goes_on;
}

static void made(void *arg, bool free)
{
	struct told *told = arg;

	atomic_fetch_add(free ? &told->made_free : &told->made, 1);
}

void (*case_paused)(void);

static void paused(void)
{
	case_paused();
}

void (*case_heard)(void);

static void heard(void)
{
	if (case_heard)
		case_heard();
}

void case_start(void)
{
	static const struct page_watch_ops ops = { .accessed = accessed, .made = made, .paused = paused, .heard = heard };
	const char *why;

	call_stack_prime();
	NEED(!guard_install());
	why = page_watch_start(&ops);
	if (why) {
		printf("not watched: %s\n", why);
		exit(SKIPPED);
	}
}

void case_not_sanitized(void)
{
#ifdef __SANITIZE_ADDRESS__
	exit(SKIPPED);
#endif
}

struct page_watch *case_try(void *at, size_t length, enum page_watch_kind kind, struct told *told)
{
	struct iovec iov = { at, length };

	return page_watch_begin(&iov, 1, kind, told);
}

struct page_watch *case_watch(void *at, size_t length, enum page_watch_kind kind, struct told *told)
{
	struct page_watch *watch;

	while (!(watch = case_try(at, length, kind, told)))
		sched_yield();
	return watch;
}

void case_wait_in_call(int id, int number)
{
	char path[64], text[32] = "", want[32];

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", id);
	snprintf(want, sizeof(want), "%d ", number);
	while (strncmp(text, want, strlen(want)) != 0) {
		int fd = open(path, O_RDONLY);

		NEED(fd >= 0);
		NEED(read(fd, text, sizeof(text) - 1) > 0);
		close(fd);
	}
}

/* --- running --- */

static const struct watch_case *find(const char *name)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const struct watch_case *one = groups[i]; one->name; one++)
			if (!strcmp(one->name, name))
				return one;
	return NULL;
}

/* By execve(), so that no case has what another left. */
static int run_apart(const char *self, const char *name)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execl(self, self, "--run", name, (char *)NULL);
		_exit(126);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SKIPPED))
		return 0;
	fprintf(stderr, "%s failed: status %#x\n", name, (unsigned int)status);
	return 1;
}

int main(int argc, char **argv)
{
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "--run")) {
		const struct watch_case *one = find(argv[2]);

		alarm(CASE_SECONDS);
		if (!one)
			return 2;
		one->run();
		return 0;
	}
	for (int i = 1; i < argc; i++)
		failed += run_apart("/proc/self/exe", argv[i]);
	for (size_t i = 0; argc == 1 && i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const struct watch_case *one = groups[i]; one->name; one++)
			failed += run_apart("/proc/self/exe", one->name);
	return failed != 0;
}
