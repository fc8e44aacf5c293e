/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_signals.c - programs that use signals. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/unit/races/watch_case.h"

static volatile unsigned char *page;
static volatile sig_atomic_t handled;
static sigjmp_buf out;

static void put_handler(int sig, void (*handler)(int sig), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, now;

	sigfillset(&action.sa_mask);
	NEED(!sigaction(sig, &action, NULL));
	NEED(!sigaction(sig, NULL, &now));
	NEED(now.sa_handler == handler);
}

static void touch_and_call(int sig)
{
	(void)sig;
	page[0]++;
	NEED(getppid() > 0);
	handled++;
}

static void all_blocked(void)
{
	struct told told = { 0 };
	struct page_watch *watch;
	sigset_t all, before, now;

	page = case_pages();
	sigfillset(&all);
	NEED(!pthread_sigmask(SIG_BLOCK, &all, &before));
	case_start();
	for (int i = 0; i < 3; i++) {
		watch = case_watch((void *)page, 10, PAGE_WATCH_ALL, &told);
		page[1] = 1;
		NEED(told.times == i + 1);
		page_watch_end(watch);
		NEED(!pthread_sigmask(SIG_SETMASK, NULL, &now));
		NEED(sigismember(&now, SIGUSR1));
		NEED(sigismember(&now, SIGSEGV) == (i != 1));
		NEED(!pthread_sigmask(i ? SIG_BLOCK : SIG_SETMASK, i ? &all : &before, NULL));
		if (!i) {
			sigdelset(&all, SIGSEGV);
			NEED(!pthread_sigmask(SIG_BLOCK, &all, NULL));
			sigaddset(&all, SIGSEGV);
		}
	}
	NEED(syscall(SYS_rt_sigprocmask, ~0, page, NULL, 8L) == -1 && errno == EINVAL);
	NEED(syscall(SYS_rt_sigprocmask, ~0, 8L, NULL, 8L) == -1 && errno == EFAULT);
	NEED(syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8L, NULL, 8L) == -1 && errno == EFAULT);
}

static void full_masks(void)
{
	struct timespec none = { 0 };
	struct told told = { 0 };
	struct page_watch *watch;
	sigset_t all;

	page = case_pages();
	put_handler(SIGUSR1, touch_and_call, 0);
	case_start();
	put_handler(SIGUSR2, touch_and_call, SA_RESTART);
	for (int i = 0; i < 2; i++) {
		watch = case_watch((void *)page, 10, PAGE_WATCH_ALL, &told);
		raise(i ? SIGUSR1 : SIGUSR2);
		NEED(handled == i + 1 && told.times == i + 1);
		page_watch_end(watch);
	}
	sigfillset(&all);
	sigdelset(&all, SIGUSR1);
	NEED(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	sigaddset(&all, SIGUSR1);
	sigdelset(&all, SIGUSR2);
	for (int i = 0; i < 5; i++) {
		watch = case_watch((void *)page, 10, PAGE_WATCH_ALL, &told);
		raise(SIGUSR2);
		NEED(handled == 2 + i);
		if (i == 0)
			NEED(sigsuspend(&all) == -1 && errno == EINTR);
		else if (i == 1)
			NEED(ppoll(NULL, 0, NULL, &all) == -1 && errno == EINTR);
		else if (i == 2)
			NEED(pselect(0, NULL, NULL, NULL, NULL, &all) == -1 && errno == EINTR);
		else if (i == 3)
			NEED(epoll_pwait(epoll_create1(0), &(struct epoll_event){ 0 }, 1, -1, &all) == -1 && errno == EINTR);
		else
			NEED(pselect(0, NULL, NULL, NULL, &none, &all) == -1 && errno == EINTR);
		NEED(handled == 3 + i && told.times == 3 + i);
		page_watch_end(watch);
	}
}

static void jump(int sig)
{
	page[0]++;
	siglongjmp(out, sig);
}

/* Out of a read, whose pages may be watched again after the next call. */
static void jumps_out_of_calls(void)
{
	struct itimerval soon = { .it_value = { .tv_usec = 2000 } };
	struct told told = { 0 };
	struct page_watch *watch;
	volatile int i;
	int ends[2];

	page = case_pages();
	put_handler(SIGALRM, jump, 0);
	case_start();
	NEED(!pipe(ends));
	for (i = 0; i < 20; i++) {
		if (!sigsetjmp(out, 1)) {
			NEED(!setitimer(ITIMER_REAL, &soon, NULL));
			(void)!read(ends[0], (void *)(page + PAGE), PAGE);
			NEED(0);
		}
		NEED(getppid() > 0);
		watch = case_try((void *)(page + PAGE), PAGE, PAGE_WATCH_ALL, &told);
		NEED(watch);
		page[PAGE + 3] = 1;
		NEED(told.times == i + 1);
		page_watch_end(watch);
	}
}

static void storm_of_signals(void)
{
	struct itimerval often = { { .tv_usec = 150 }, { .tv_usec = 150 } }, never = { 0 };
	unsigned char *pages = case_pages();
	struct told told = { 0 };
	int ends[2];

	page = pages + 8 * PAGE;
	put_handler(SIGALRM, touch_and_call, SA_RESTART);
	case_start();
	NEED(!pipe(ends));
	NEED(!setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; handled < 2000; i++) {
		struct page_watch *watch[3];
		size_t length = (size_t)(i % (2 * PAGE)) + 1;

		watch[0] = case_try(pages, length, PAGE_WATCH_ALL, &told);
		watch[1] = case_try(pages + 4 * PAGE, length, PAGE_WATCH_ALL, &told);
		watch[2] = case_try((void *)page, PAGE, PAGE_WATCH_STORES, &told);
		NEED(write(ends[1], pages, length) == (ssize_t)length);
		NEED(read(ends[0], pages + 4 * PAGE, length) == (ssize_t)length);
		NEED(!memcmp(pages, pages + 4 * PAGE, length));
		memset(pages + 4 * PAGE, 0, length);
		for (int k = 0; k < 3; k++)
			page_watch_end(watch[k]);
	}
	NEED(!setitimer(ITIMER_REAL, &never, NULL));
}

static void repair(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);

	(void)context;
	NEED(sig == SIGSEGV);
	NEED(at == (uintptr_t)page + 8 * PAGE);
	NEED(!mprotect((void *)at, PAGE, PROT_READ | PROT_WRITE));
	handled++;
}

static void own_fault_handler(void)
{
	struct sigaction action = { .sa_sigaction = repair, .sa_flags = SA_SIGINFO };
	struct told told = { 0 };
	struct page_watch *watch;

	case_not_sanitized();
	page = case_pages();
	NEED(!sigaction(SIGSEGV, &action, NULL));
	case_start();
	for (int i = 0; i < 6; i++) {
		watch = case_watch((void *)page, PAGE, PAGE_WATCH_ALL, &told);
		NEED(!mprotect((void *)(page + 8 * PAGE), PAGE, PROT_NONE));
		page[8 * PAGE] = 1;
		NEED(handled == i + 1 && told.times == i);
		page[0] = 1;
		NEED(handled == i + 1 && told.times == i + 1);
		page_watch_end(watch);
		if (i >= 2 && i < 4)
			NEED(!sigaction(SIGSEGV, &action, NULL));
	}
}

static void alternate_stack(void)
{
	stack_t mine = { .ss_sp = malloc(16384), .ss_size = 16384 }, none = { .ss_flags = SS_DISABLE }, now;
	struct told told = { 0 }, beside = { 0 };
	struct page_watch *watch;

	case_not_sanitized();
	page = case_pages();
	case_start();
	NEED(!sigaltstack(&mine, &now));
	NEED(now.ss_flags & SS_DISABLE);
	put_handler(SIGUSR1, touch_and_call, SA_ONSTACK);
	for (int i = 0; i < 3; i++) {
		watch = case_watch((void *)page, PAGE, PAGE_WATCH_ALL, &told);
		page_watch_end(case_try(mine.ss_sp, 10, PAGE_WATCH_ALL, &beside)); /* its page is not protected */
		raise(SIGUSR1);
		NEED(told.times == i + 1 && handled == i + 1);
		page_watch_end(watch);
		NEED(!sigaltstack(NULL, &now));
		NEED(now.ss_sp == mine.ss_sp && now.ss_size == mine.ss_size);
	}
	NEED(!sigaltstack(&none, &now));
	NEED(now.ss_sp == mine.ss_sp);
	NEED(!sigaltstack(NULL, &now));
	NEED(now.ss_flags & SS_DISABLE);
}

static void count_signal(int sig)
{
	(void)sig;
	handled++;
}

static void own_trap_handler(void)
{
	struct sigaction before;
	struct told told = { 0 };

	page = case_pages();
	put_handler(SIGSYS, count_signal, 0);
	case_start();
	NEED(!sigaction(SIGSYS, NULL, &before));
	NEED(before.sa_handler == count_signal);
	raise(SIGSYS);
	NEED(handled == 1);
	put_handler(SIGSYS, SIG_IGN, 0);
	raise(SIGSYS);
	put_handler(SIGSYS, count_signal, 0);
	page_watch_end(case_watch((void *)page, PAGE, PAGE_WATCH_ALL, &told));
	raise(SIGSYS);
	NEED(handled == 2);
}

struct sleeper {
	int fd;
	atomic_int id, done;
};

static void *sleep_in_poll(void *arg)
{
	struct sleeper *sleeper = arg;
	struct pollfd set = { .fd = sleeper->fd, .events = POLLIN };

	atomic_store(&sleeper->id, gettid());
	NEED(poll(&set, 1, -1) == 1);
	atomic_store(&sleeper->done, 1);
	return NULL;
}

/* poll() answers EINTR whatever a handler's flags are: the question to trap must not show. */
static void sleeper_sees_no_signal(void)
{
	struct sleeper sleeper = { 0 };
	struct told told = { 0 };
	pthread_t thread;
	int ends[2];

	page = case_pages();
	NEED(!pipe(ends));
	sleeper.fd = ends[0];
	NEED(!pthread_create(&thread, NULL, sleep_in_poll, &sleeper));
	while (!atomic_load(&sleeper.id))
		;
	case_wait_in_call(sleeper.id, SYS_poll);
	case_start();
	page_watch_end(case_watch((void *)page, PAGE, PAGE_WATCH_ALL, &told));
	case_wait_in_call(sleeper.id, SYS_poll);
	NEED(!atomic_load(&sleeper.done));
	NEED(write(ends[1], "", 1) == 1);
	NEED(!pthread_join(thread, NULL));
}

static void *interrupt_read(void *arg)
{
	struct sleeper *sleeper = arg;
	char byte;

	atomic_store(&sleeper->id, gettid());
	NEED(read(sleeper->fd, &byte, 1) == -1 && errno == EINTR);
	atomic_store(&sleeper->done, 1);
	NEED(read(sleeper->fd, &byte, 1) == 1);
	return NULL;
}

static void interrupts_as_ever(void)
{
	struct sleeper sleeper = { 0 };
	struct told told = { 0 };
	pthread_t thread;
	int ends[2];

	page = case_pages();
	case_start();
	NEED(!pipe(ends));
	sleeper.fd = ends[0];
	put_handler(SIGUSR1, count_signal, 0);
	put_handler(SIGUSR2, count_signal, SA_RESTART);
	NEED(!pthread_create(&thread, NULL, interrupt_read, &sleeper));
	while (!atomic_load(&sleeper.id))
		;
	page_watch_end(case_watch((void *)page, PAGE, PAGE_WATCH_ALL, &told));
	case_wait_in_call(sleeper.id, SYS_read);
	NEED(!pthread_kill(thread, SIGUSR1));
	while (!atomic_load(&sleeper.done))
		;
	case_wait_in_call(sleeper.id, SYS_read);
	NEED(!pthread_kill(thread, SIGUSR2));
	while (handled < 2)
		;
	case_wait_in_call(sleeper.id, SYS_read);
	NEED(write(ends[1], "", 1) == 1);
	NEED(!pthread_join(thread, NULL));
}

static void not_to_be_called(int sig)
{
	(void)sig;
	NEED(0);
}

/* Any handler of faults: of the bus, too. */
static void own_bus_handler(void)
{
	struct sigaction mine = { .sa_handler = not_to_be_called };
	struct told told = { 0 };

	case_not_sanitized();
	page = case_pages();
	case_start();
	page_watch_end(case_watch((void *)page, PAGE, PAGE_WATCH_ALL, &told));
	NEED(!sigaction(SIGBUS, &mine, NULL));
	NEED(!case_try((void *)page, PAGE, PAGE_WATCH_ALL, &told));
	page_watch_end(case_watch((void *)page, PAGE, PAGE_WATCH_ALL, &told)); /* when ours stands before it again */
}

const struct watch_case watch_signal_cases[] = {
	{ "all_blocked", all_blocked },
	{ "full_masks", full_masks },
	{ "jumps_out_of_calls", jumps_out_of_calls },
	{ "storm_of_signals", storm_of_signals },
	{ "own_fault_handler", own_fault_handler },
	{ "own_bus_handler", own_bus_handler },
	{ "alternate_stack", alternate_stack },
	{ "own_trap_handler", own_trap_handler },
	{ "sleeper_sees_no_signal", sleeper_sees_no_signal },
	{ "interrupts_as_ever", interrupts_as_ever },
	{ NULL, NULL },
};
