/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_steps.c - what comes after an access beside watched bytes: the page is watched again (page_step.h). */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/nic/memory/guard.h"
#include "tests/unit/races/watch_case.h"

enum { MANY = 5000 /* more than a page has steps */ };

static void watched_behind_neighbours(void)
{
	unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch(pages + 150, 10, PAGE_WATCH_STORES, &told);
	for (int i = 0; i < 160; i++)
		*(volatile unsigned char *)&pages[i] = 9;
	NEED(told.times == 1 && told.at == (uintptr_t)&pages[150]);
	page_watch_end(watch);
	NEED(pages[149] == 9 && pages[159] == 9);
}

static void two_on_a_page(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told[2] = { 0 };
	struct page_watch *one, *two;

	case_start();
	one = case_watch((void *)pages, 10, PAGE_WATCH_ALL, &told[0]);
	two = case_watch((void *)(pages + 100), 10, PAGE_WATCH_ALL, &told[1]);
	pages[3] = 1;
	NEED(told[0].times == 1 && !told[1].times);
	NEED(pages[50] == case_byte(50));
	pages[100] = 1;
	NEED(told[0].times == 1 && told[1].times == 1);
	page_watch_end(one);
	page_watch_end(two);
}

/* One instruction on two pages. */
static void copies_between_two(void)
{
	unsigned char *pages = case_pages(), *to = pages + 50, *from = pages + PAGE + 50;
	struct told told[2] = { 0 };
	struct page_watch *one, *two;
	size_t count = 10;

	case_start();
	one = case_watch(pages, 10, PAGE_WATCH_ALL, &told[0]);
	two = case_watch(pages + PAGE, 10, PAGE_WATCH_ALL, &told[1]);
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
	NEED(!told[0].times && !told[1].times);
	NEED(!memcmp(pages + 50, pages + PAGE + 50, 10));
	*(volatile unsigned char *)pages = 1;
	*(volatile unsigned char *)(pages + PAGE) = 1;
	NEED(told[0].times == 1 && told[1].times == 1);
	page_watch_end(one);
	page_watch_end(two);
}

static void device_beside(void)
{
	unsigned char *pages = case_pages(), bytes[8] = { 1 };
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch(pages, 10, PAGE_WATCH_ALL, &told);
	NEED(guard_copy(pages + 100, bytes, sizeof(bytes)) && !told.times);
	*(volatile unsigned char *)pages = 1;
	NEED(told.times == 1);
	page_watch_end(watch);
	NEED(!memcmp(pages + 100, bytes, sizeof(bytes)));
}

/* There is an end to it, and the program goes on. */
static void too_many(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch((void *)pages, 10, PAGE_WATCH_ALL, &told);
	for (int i = 0; i < MANY; i++)
		pages[100] = (unsigned char)i;
	NEED(pages[0] == case_byte(0) && !told.times);
	NEED(pages[100] == (unsigned char)(MANY - 1));
	page_watch_end(watch);
}

/* --- signals --- */

static volatile unsigned char *stormed;
static volatile sig_atomic_t heard;

static void touch_beside(int sig)
{
	unsigned long flags;

	(void)sig;
	stormed[PAGE + 200]++;
	__asm__ volatile("pushf\n\tpop %0" : "=r"(flags));
	NEED(!(flags & 0x100));
	heard++;
}

static void storm_beside(void)
{
	struct itimerval soon = { { 0, 5000 }, { 0, 5000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = touch_beside };
	struct told told[2] = { 0 };
	struct page_watch *one, *two;
	sigset_t mask;

	stormed = case_pages();
	case_start();
	NEED(!sigaction(SIGVTALRM, &action, NULL) && !setitimer(ITIMER_VIRTUAL, &soon, NULL));
	while (heard < 50) {
		one = case_watch((void *)stormed, 10, PAGE_WATCH_ALL, &told[0]);
		two = case_watch((void *)(stormed + PAGE), 10, PAGE_WATCH_ALL, &told[1]);
		for (int i = 0; i < 20; i++)
			stormed[200]++;
		page_watch_end(one);
		page_watch_end(two);
	}
	NEED(!setitimer(ITIMER_VIRTUAL, &never, NULL) && !sigprocmask(SIG_BLOCK, NULL, &mask));
	NEED(!sigismember(&mask, SIGVTALRM) && !sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGTRAP));
	NEED(!told[0].times && !told[1].times);
}

static void count_traps(int sig)
{
	(void)sig;
	heard++;
}

static void own_action(void)
{
	struct sigaction action = { .sa_handler = count_traps }, was;
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	NEED(!sigaction(SIGTRAP, NULL, &was) && was.sa_handler == SIG_DFL);
	watch = case_watch((void *)pages, 10, PAGE_WATCH_ALL, &told);
	pages[100] = 1;
	NEED(!sigaction(SIGTRAP, &action, &was) && was.sa_handler == SIG_DFL);
	pages[101] = 1;
	pages[102] = 1;
	__asm__ volatile("int3");
	NEED(heard == 1);
	page_watch_end(watch);
	NEED(!sigaction(SIGTRAP, &was, &action) && action.sa_handler == count_traps);
}

/* It ends the program, as it would. */
static void breakpoint(void)
{
	pid_t child;
	int status;

	case_start();
	child = fork();
	if (!child) {
		case_start();
		__asm__ volatile("int3");
		_exit(0);
	}
	NEED(child > 0 && waitpid(child, &status, 0) == child);
	NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
}

const struct watch_case watch_step_cases[] = {
	{ "watched_behind_neighbours", watched_behind_neighbours },
	{ "two_on_a_page", two_on_a_page },
	{ "copies_between_two", copies_between_two },
	{ "device_beside", device_beside },
	{ "too_many", too_many },
	{ "storm_beside", storm_beside },
	{ "own_action", own_action },
	{ "breakpoint", breakpoint },
	{ NULL, NULL },
};
