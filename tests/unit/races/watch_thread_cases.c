/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_thread_cases.c - programs with threads and children. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/process/races/watched_pages.h"
#include "tests/unit/races/watch_case.h"

enum { THREADS = 20, ROUNDS = 30 };

extern char **environ;
static volatile unsigned char *pages;
static atomic_int ready, let_go;

static void *touch_one(void *arg)
{
	volatile unsigned char *at = arg;
	sigset_t all;

	sigfillset(&all);
	NEED(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	NEED(getppid() > 0);
	*at = 1;
	return NULL;
}

static void threads_while_open(void)
{
	pthread_t thread[THREADS];

	pages = case_pages();
	case_start();
	for (int round = 0; round < ROUNDS; round++) {
		struct told told = { 0 };
		struct page_watch *watch = case_watch((void *)pages, PAGE, PAGE_WATCH_ALL, &told);

		for (int i = 0; i < THREADS; i++)
			NEED(!pthread_create(&thread[i], NULL, touch_one, (void *)(pages + (round % 2 ? i : PAGE + i))));
		NEED(round % 2 || !told.times);
		/* A thread does not end the watch. */
		NEED(round % 2 || case_try((void *)(pages + 3 * PAGE), 1, PAGE_WATCH_ALL, &told));
		for (int i = 0; i < THREADS; i++)
			NEED(!pthread_join(thread[i], NULL));
		NEED(told.times == round % 2);
		page_watch_end(watch);
	}
}

static void *block_and_wait(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	NEED(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	atomic_store(&ready, 1);
	while (!atomic_load(&let_go))
		sched_yield();
	return arg;
}

/* A thread that cannot be asked: nothing is protected until it has ended. */
static void deaf_thread(void)
{
	struct page_watch_counts counts;
	struct told told = { 0 };
	pthread_t thread;

	pages = case_pages();
	NEED(!pthread_create(&thread, NULL, block_and_wait, NULL));
	while (!atomic_load(&ready))
		;
	case_start();
	for (int i = 0; i < 1000; i++)
		NEED(!case_try((void *)pages, PAGE, PAGE_WATCH_ALL, &told));
	page_watch_count(&counts);
	NEED(counts.refused_threads == 1000);
	atomic_store(&let_go, 1);
	NEED(!pthread_join(thread, NULL));
	page_watch_end(case_watch((void *)pages, PAGE, PAGE_WATCH_ALL, &told));
}

static void *work(void *arg)
{
	while (!atomic_load(&let_go))
		NEED(getppid() > 0);
	return arg;
}

static void many_threads_before(void)
{
	static pthread_t thread[100];
	struct told told = { 0 };
	struct page_watch *watch;

	pages = case_pages();
	for (int i = 0; i < 100; i++)
		NEED(!pthread_create(&thread[i], NULL, work, NULL));
	case_start();
	watch = case_watch((void *)pages, PAGE, PAGE_WATCH_ALL, &told);
	atomic_store(&let_go, 1);
	for (int i = 0; i < 100; i++)
		NEED(!pthread_join(thread[i], NULL));
	pages[0] = 1;
	NEED(told.times == 1);
	page_watch_end(watch);
}

static int status_of(pid_t child)
{
	int status;

	NEED(waitpid(child, &status, 0) == child);
	return status;
}

static void children(void)
{
	struct told told = { 0 };
	struct page_watch *watch;

	pages = case_pages();
	case_start();
	for (int i = 0; i < 5; i++) {
		pid_t child;

		watch = case_watch((void *)pages, PAGE, PAGE_WATCH_ALL, &told);
		child = fork();
		NEED(child >= 0);
		if (!child) {
			pages[0] = 77;
			NEED(write(STDERR_FILENO, (void *)pages, 0) == 0);
			page_watch_forked();
			page_watch_end(watch);
			NEED(!case_try((void *)pages, PAGE, PAGE_WATCH_ALL, &told));
			case_start();
			watch = case_watch((void *)pages, PAGE, PAGE_WATCH_ALL, &told);
			pages[1] = 1;
			NEED(told.times == 1);
			_exit(0);
		}
		NEED(!status_of(child));
		NEED(pages[0] == case_byte(0));
		page_watch_end(watch);
		watch = case_watch((void *)pages, PAGE, PAGE_WATCH_STORES, &told);
		pages[3] = 1;
		NEED(told.times == 1);
		told.times = 0;
		page_watch_end(watch);
	}
}

/* Words of a command that stand on a watched page. */
static char **command_on(unsigned char *at, const char *text)
{
	char **words = (char **)at, *next = (char *)at + 256;
	const char *parts[] = { "/bin/sh", "-c", text };

	for (int i = 0; i < 3; i++) {
		words[i] = strcpy(next, parts[i]);
		next += strlen(next) + 1;
	}
	words[3] = NULL;
	return words;
}

static void programs_started(void)
{
	struct told told = { 0 };
	char **words, line[16];
	FILE *file;

	pages = case_pages();
	case_start();
	for (int i = 0; i < 4; i++) {
		struct page_watch *watch;
		pid_t child;

		words = command_on((unsigned char *)pages, "exit 7");
		watch = case_watch((void *)pages, PAGE, PAGE_WATCH_ALL, &told);
		if (i == 0) {
			child = vfork();
			if (!child) {
				execve(words[0], words, environ);
				_exit(1);
			}
			NEED(WEXITSTATUS(status_of(child)) == 7);
		} else if (i == 1) {
			NEED(!posix_spawn(&child, words[0], NULL, NULL, words, environ));
			NEED(WEXITSTATUS(status_of(child)) == 7);
		} else if (i == 2) {
			NEED(WEXITSTATUS(system("exit 7")) == 7);
		} else {
			file = popen("echo some; exit 7", "r");
			NEED(file && fgets(line, sizeof(line), file) && !strcmp(line, "some\n"));
			NEED(WEXITSTATUS(pclose(file)) == 7);
		}
		page_watch_end(watch);
	}
	words = command_on((unsigned char *)pages, "exit 0");
	(void)case_watch((void *)pages, PAGE, PAGE_WATCH_ALL, &told);
	execve("/no/such", words, environ);
	execve(words[0], words, environ);
	NEED(0);
}

static void note_end(void *arg)
{
	atomic_store((atomic_int *)arg, 1);
}

static void *read_for_ever(void *arg)
{
	char byte;

	pthread_cleanup_push(note_end, &let_go);
	atomic_store(&ready, gettid());
	(void)!read(*(int *)arg, &byte, 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancelled(void)
{
	struct told told = { 0 };
	int ends[2];

	pages = case_pages();
	case_start();
	NEED(!pipe(ends));
	for (int i = 0; i < 20; i++) {
		struct page_watch *watch = case_watch((void *)pages, PAGE, PAGE_WATCH_ALL, &told);
		pthread_t thread;
		void *result;

		atomic_store(&ready, 0);
		atomic_store(&let_go, 0);
		NEED(!pthread_create(&thread, NULL, read_for_ever, &ends[0]));
		while (!atomic_load(&ready))
			;
		case_wait_in_call(ready, SYS_read);
		NEED(!pthread_cancel(thread));
		NEED(!pthread_join(thread, &result));
		NEED(result == PTHREAD_CANCELED && atomic_load(&let_go));
		page_watch_end(watch);
	}
}

static void wait_to_tell(void)
{
	atomic_store(&ready, 1);
	while (!atomic_load(&let_go))
		;
}

static void *touch_byte(void *arg)
{
	*(volatile unsigned char *)arg = 1;
	return NULL;
}

/* What tells of an access may wait for a lock of the program's (of stderr), whose holder makes system calls. */
static void calls_while_one_tells(void)
{
	struct told told = { .wait = wait_to_tell }, other = { 0 };
	struct page_watch *watch, *second;
	unsigned char *mapped;
	pthread_t thread;
	int ends[2];

	pages = case_pages();
	mapped = case_pages();
	case_start();
	NEED(!pipe(ends));
	watch = case_watch((void *)pages, 1, PAGE_WATCH_ALL, &told);
	NEED(!pthread_create(&thread, NULL, touch_byte, (void *)pages));
	while (!atomic_load(&ready))
		;
	second = case_watch(mapped, 1, PAGE_WATCH_ALL, &other);
	NEED(write(ends[1], (void *)pages, 10) == 10);
	NEED(write(ends[1], mapped, 10) == 10);
	NEED(!munmap(mapped, (size_t)PAGES * PAGE));
	NEED(!told.times);
	atomic_store(&let_go, 1);
	NEED(!pthread_join(thread, NULL));
	NEED(told.times == 1 && other.times == 1);
	page_watch_end(watch);
	page_watch_end(second);
}

static void *end_told_watch(void *arg)
{
	page_watch_end(arg);
	NEED(atomic_load(&let_go));
	return NULL;
}

static void ends_while_one_tells(void)
{
	struct told told = { .wait = wait_to_tell }, other = { 0 };
	struct page_watch *watch;
	pthread_t thread[2];
	int ends[2];

	pages = case_pages();
	case_start();
	NEED(!pipe(ends));
	watch = case_watch((void *)pages, 1, PAGE_WATCH_ALL, &told);
	NEED(!pthread_create(&thread[0], NULL, touch_byte, (void *)pages));
	while (!atomic_load(&ready))
		;
	NEED(!pthread_create(&thread[1], NULL, end_told_watch, watch));
	while (atomic_load(&watched.pages))
		;
	watch = case_watch((void *)pages, 1, PAGE_WATCH_ALL, &other);
	NEED(write(ends[1], (void *)pages, 10) == 10);
	atomic_store(&let_go, 1);
	NEED(!pthread_join(thread[0], NULL) && !pthread_join(thread[1], NULL));
	NEED(told.times == 1 && other.times == 1);
	page_watch_end(watch);
}

const struct watch_case watch_thread_cases[] = {
	{ "threads_while_open", threads_while_open },
	{ "deaf_thread", deaf_thread },
	{ "many_threads_before", many_threads_before },
	{ "children", children },
	{ "programs_started", programs_started },
	{ "cancelled", cancelled },
	{ "calls_while_one_tells", calls_while_one_tells },
	{ "ends_while_one_tells", ends_while_one_tells },
	{ NULL, NULL },
};
