/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_steps.c - what comes after an access beside watched bytes: the page is watched again (page_step.h). */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "emu/nic/memory/guard.h"
#include "emu/process/races/exempt_call.h"
#include "tests/unit/races/watch_case.h"

enum { MANY = 5000 /* more than a page has steps */, STEPS_OF_A_PAGE = 256, STEPS_AT_ONCE = 1024, ROUNDS = 20 };
enum { TRAP_FLAG = 0x100 };

/* Faults beside watched bytes. */
static uint64_t neighbours(void)
{
	struct page_watch_counts counts;

	page_watch_count(&counts);
	return counts.neighbours;
}

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
	NEED(neighbours() <= STEPS_OF_A_PAGE + 2);
	NEED(pages[0] == case_byte(0) && !told.times);
	NEED(pages[100] == (unsigned char)(MANY - 1));
	page_watch_end(watch);
}

/* Of all pages together, too. Those that are watched anew have all their steps again. */
static void too_many_a_second(void)
{
	const uint64_t ticks = UINT64_C(1) << 18; /* a step */
	volatile unsigned char *pages = case_pages();
	struct page_watch *watch[PAGES];
	struct told told = { 0 };
	uint64_t start, refused = 0;

	case_start();
	start = __builtin_ia32_rdtsc();
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < PAGES; i++)
			watch[i] = case_watch((void *)(pages + i * PAGE), 10, PAGE_WATCH_ALL, &told);
		for (size_t i = 0; i < (size_t)PAGES * STEPS_OF_A_PAGE; i++)
			pages[i % PAGES * PAGE + 100] = 1;
		for (size_t i = 0; i < PAGES; i++)
			page_watch_end(watch[i]);
		refused += PAGES;
	}
	NEED(neighbours() > STEPS_AT_ONCE);
	NEED(neighbours() <= STEPS_AT_ONCE + (__builtin_ia32_rdtsc() - start) / ticks + refused + 1);
}

/* A step's flags go into memory, and come back later. */
static void flags_stored(void)
{
	unsigned char *pages = case_pages(), *stack = pages + PAGE / 2;
	struct told told = { 0 };
	struct page_watch *watch;
	unsigned long flags;
	sigset_t later;

	case_start();
	watch = case_watch(pages, 10, PAGE_WATCH_ALL, &told);
	__asm__ volatile("mov %%rsp, %%r12\n\tmov %1, %%rsp\n\tpushf\n\tpop %0\n\tmov %%r12, %%rsp"
			 : "=r"(flags)
			 : "r"(stack)
			 : "r12", "memory");
	NEED(flags & TRAP_FLAG);
	NEED(!sigemptyset(&later) && !sigaddset(&later, SIGUSR2) && !sigprocmask(SIG_BLOCK, &later, NULL));
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %0\n\tpopf\n\tlea 128(%%rsp), %%rsp" : : "r"(flags) : "cc", "memory");
	NEED(!sigprocmask(SIG_BLOCK, NULL, &later) && sigismember(&later, SIGUSR2));
	NEED(!told.times);
	*(volatile unsigned char *)pages = 1;
	NEED(told.times == 1);
	page_watch_end(watch);
}

/* --- signals --- */

static sigjmp_buf out;
static volatile bool traced;
static sigset_t masked;

static void leave(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	(void)sig;
	(void)info;
	traced = interrupted->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG;
	masked = interrupted->uc_sigmask;
	siglongjmp(out, 1);
}

/* Watches the page, and tells whether an access to it is seen after one beside it. */
static bool seen_behind_neighbour(volatile unsigned char *pages)
{
	struct told told = { 0 };
	struct page_watch *watch = case_watch((void *)pages, 10, PAGE_WATCH_ALL, &told);

	pages[100] = 0;
	pages[0] = 1;
	page_watch_end(watch);
	return told.times == 1;
}

/* The instruction has a fault of its own, and the program's handler does not return. */
static void divides_by_zero(void)
{
	struct sigaction action = { .sa_sigaction = leave, .sa_flags = SA_SIGINFO };
	unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;
	sigset_t later;

	case_not_sanitized();
	NEED(!sigaction(SIGFPE, &action, NULL) && !sigaction(SIGSEGV, &action, NULL));
	case_start();
	memset(pages, 0, PAGE);
	watch = case_watch(pages, 10, PAGE_WATCH_ALL, &told);
	if (!sigsetjmp(out, 1))
		__asm__ volatile("xor %%edx, %%edx\n\tmov $1, %%eax\n\tdivl %0" : : "m"(pages[100]) : "eax", "edx", "cc");
	NEED(!told.times);
	if (!sigsetjmp(out, 1)) { /* another fault, and no step */
		NEED(!sigemptyset(&later) && !sigaddset(&later, SIGUSR1) && !sigprocmask(SIG_BLOCK, &later, NULL));
		*(volatile unsigned char *)(pages + (size_t)PAGES * PAGE) = 1;
	}
	NEED(sigismember(&masked, SIGUSR1));
	page_watch_end(watch);
	NEED(seen_behind_neighbour(pages));
}

/* Its handler sees what it would without steps. */
static void faults_in_a_step(void)
{
	struct sigaction action = { .sa_sigaction = leave, .sa_flags = SA_SIGINFO };
	unsigned char *pages = case_pages(), *hole = pages + (size_t)PAGES * PAGE;
	struct told told = { 0 };
	struct page_watch *watch;
	sigset_t later;

	case_not_sanitized();
	NEED(!sigaction(SIGSEGV, &action, NULL));
	case_start();
	for (volatile int beside = 0; beside < 3; beside++) {
		unsigned char *from = beside ? pages + 100 : pages + PAGE, *to = hole;

		if (beside == 2)
			NEED(!sigemptyset(&later) && !sigaddset(&later, SIGUSR1) && !sigprocmask(SIG_BLOCK, &later, NULL));
		watch = case_watch(pages, 10, PAGE_WATCH_ALL, &told);
		if (!sigsetjmp(out, 1)) {
			__asm__ volatile("movsb" : "+D"(to), "+S"(from) : : "memory");
			NEED(!"a fault");
		}
		NEED(!traced && sigismember(&masked, SIGUSR1) == (beside == 2) && !sigismember(&masked, SIGUSR2));
		NEED(!told.times);
		page_watch_end(watch);
		NEED(seen_behind_neighbour(pages));
	}
}

static volatile unsigned char *stormed;
static volatile sig_atomic_t heard;

static void touch_beside(int sig)
{
	unsigned long flags;

	(void)sig;
	stormed[PAGE + 200]++;
	__asm__ volatile("pushf\n\tpop %0" : "=r"(flags));
	NEED(!(flags & TRAP_FLAG));
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
	NEED(!sigaction(SIGTRAP, NULL, &was) && was.sa_handler == SIG_DFL && !sigaction(SIGTRAP, NULL, NULL));
	watch = case_watch((void *)pages, 10, PAGE_WATCH_ALL, &told);
	pages[100] = 1;
	NEED(!sigaction(SIGTRAP, &action, &was) && was.sa_handler == SIG_DFL);
	pages[101] = 1;
	pages[102] = 1;
	__asm__ volatile("int3");
	NEED(heard == 1);
	page_watch_end(watch);
	NEED(!sigaction(SIGTRAP, NULL, &action) && action.sa_handler == count_traps);
	NEED(!sigaction(SIGTRAP, &was, &action) && action.sa_handler == count_traps);
}

static void own_action_before(void)
{
	struct sigaction action = { .sa_handler = count_traps }, was;
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;

	NEED(!sigaction(SIGTRAP, &action, NULL));
	case_start();
	NEED(!sigaction(SIGTRAP, NULL, &was) && was.sa_handler == count_traps);
	watch = case_watch((void *)pages, 10, PAGE_WATCH_ALL, &told);
	pages[100] = 1;
	pages[101] = 1;
	__asm__ volatile("int3");
	NEED(heard == 1);
	page_watch_end(watch);
}

/* By a way that nobody has trapped. */
static void own_action_unseen(void)
{
	struct exempt_action action = { .handler = (uintptr_t)count_traps,
					.flags = 0x04000000 /* SA_RESTORER */,
					.restorer = (uintptr_t)exempt_restorer };
	volatile unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = case_watch((void *)pages, 10, PAGE_WATCH_ALL, &told);
	NEED(!exempt_call(SYS_rt_sigaction, SIGTRAP, (long)&action, 0, sizeof(action.mask), 0, 0));
	pages[100] = 1;
	NEED(!heard && !told.times);
	page_watch_end(watch);
}

static void steps_of_a_child(void)
{
	pid_t child;
	int status;

	case_start();
	NEED(seen_behind_neighbour(case_pages()));
	child = fork();
	if (!child) {
		page_watch_forked();
		case_start();
		NEED(seen_behind_neighbour(case_pages()));
		_exit(0);
	}
	NEED(child > 0 && waitpid(child, &status, 0) == child && !status);
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

/* As the kernel tells of a step or a breakpoint whose reason was lost. */
static void trap_without_a_reason(void)
{
	volatile unsigned char *pages = case_pages();
	siginfo_t trap = { .si_signo = SIGTRAP, .si_code = TRAP_BRKPT };
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	NEED(!syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGTRAP, &trap));
	watch = case_watch((void *)(pages + 150), 10, PAGE_WATCH_ALL, &told);
	pages[0] = 1;
	NEED(!told.times);
	pages[150] = 1;
	NEED(told.times == 1);
	page_watch_end(watch);
}

/* Which is the program's own. */
static void trap_of_int1(void)
{
	pid_t child;
	int status;

	case_start();
	child = fork();
	if (!child) {
		__asm__ volatile(".byte 0xf1");
		_exit(0);
	}
	NEED(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
}

const struct watch_case watch_step_cases[] = {
	{ "watched_behind_neighbours", watched_behind_neighbours },
	{ "two_on_a_page", two_on_a_page },
	{ "copies_between_two", copies_between_two },
	{ "device_beside", device_beside },
	{ "too_many", too_many },
	{ "too_many_a_second", too_many_a_second },
	{ "flags_stored", flags_stored },
	{ "divides_by_zero", divides_by_zero },
	{ "faults_in_a_step", faults_in_a_step },
	{ "storm_beside", storm_beside },
	{ "own_action", own_action },
	{ "own_action_before", own_action_before },
	{ "own_action_unseen", own_action_unseen },
	{ "steps_of_a_child", steps_of_a_child },
	{ "breakpoint", breakpoint },
	{ "trap_without_a_reason", trap_without_a_reason },
	{ "trap_of_int1", trap_of_int1 },
	{ NULL, NULL },
};
