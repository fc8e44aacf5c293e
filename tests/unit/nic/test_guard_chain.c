/* SPDX-License-Identifier: BSD-2-Clause */
/* test_guard_chain.c - the guard beside the program's own handlers: faults that are not ours go where they would have
 * gone without us. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/memory/guard.h"
#include "sandbox.h"

static volatile char *forbidden; /* one page that cannot be touched */
static sigjmp_buf land;
static volatile int calls;
static void *volatile fault_address;
static volatile int usr1_blocked, sig_blocked;
static struct sigaction passed_on;

static void setup(void)
{
	struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(forbidden, MAP_FAILED);
}

TestSuite(guard_chain, .init = setup, .timeout = 60);

static void note_mask(int sig)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	usr1_blocked = sigismember(&mask, SIGUSR1);
	sig_blocked = sigismember(&mask, sig);
	calls++;
}

static void on_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	fault_address = info->si_addr;
	note_mask(sig);
	siglongjmp(land, 1);
}

static void on_plain(int sig)
{
	note_mask(sig);
	siglongjmp(land, 1);
}

static void on_return(int sig)
{
	note_mask(sig);
}

static void on_pass(int sig, siginfo_t *info, void *context)
{
	calls++;
	passed_on.sa_sigaction(sig, info, context);
}

static void program_handler(void (*plain)(int), void (*full)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_flags = flags };

	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGUSR1);
	if (full) {
		action.sa_sigaction = full;
		action.sa_flags |= SA_SIGINFO;
	} else {
		action.sa_handler = plain;
	}
	cr_assert_eq(sigaction(SIGSEGV, &action, &passed_on), 0);
	cr_assert_eq(sigaction(SIGBUS, &action, NULL), 0);
}

static void touch(volatile char *at)
{
	if (!sigsetjmp(land, 1))
		*at = 'x';
}

Test(guard_chain, faults_of_the_program_reach_its_handler)
{
	program_handler(NULL, on_info, 0);
	cr_assert_eq(guard_install(), 0);
	for (int i = 1; i <= 3; i++) {
		cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
		cr_assert_eq(calls, i - 1, "a fault of ours");
		touch(forbidden + 8);
		cr_assert_eq(calls, i);
		cr_assert_eq(fault_address, forbidden + 8);
		cr_assert(usr1_blocked && sig_blocked, "its mask");
	}
}

Test(guard_chain, plain_handler)
{
	program_handler(on_plain, NULL, SA_NODEFER);
	cr_assert_eq(guard_install(), 0);
	touch(forbidden);
	cr_assert_eq(calls, 1);
	cr_assert(usr1_blocked && !sig_blocked);
}

/* A handler that returns gets its signal mask undone by the kernel. */
Test(guard_chain, mask_is_undone)
{
	sigset_t mask;

	program_handler(on_return, NULL, 0);
	cr_assert_eq(guard_install(), 0);
	raise(SIGSEGV);
	cr_assert_eq(calls, 1);
	cr_assert(usr1_blocked && sig_blocked);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	cr_assert(!sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGSEGV));
}

Test(guard_chain, one_shot_handler, .signal = SIGSEGV)
{
	program_handler(on_plain, NULL, (int)SA_RESETHAND);
	cr_assert_eq(guard_install(), 0);
	touch(forbidden);
	cr_assert_eq(calls, 1);
	touch(forbidden);
	cr_assert_fail("survived");
}

Test(guard_chain, default_action, .signal = SIGSEGV)
{
	signal(SIGSEGV, SIG_DFL);
	cr_assert_eq(guard_install(), 0);
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	touch(forbidden);
	cr_assert_fail("survived");
}

Test(guard_chain, default_action_of_a_sent_signal, .signal = SIGBUS)
{
	signal(SIGBUS, SIG_DFL);
	cr_assert_eq(guard_install(), 0);
	raise(SIGBUS);
	cr_assert_fail("survived");
}

Test(guard_chain, ignored_when_sent)
{
	signal(SIGSEGV, SIG_IGN);
	cr_assert_eq(guard_install(), 0);
	raise(SIGSEGV);
	kill(getpid(), SIGSEGV);
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1), "still ours");
}

Test(guard_chain, a_fault_cannot_be_ignored, .signal = SIGSEGV)
{
	signal(SIGSEGV, SIG_IGN);
	cr_assert_eq(guard_install(), 0);
	touch(forbidden);
	cr_assert_fail("survived");
}

/* The program puts its handler over ours, and takes it away again. */
Test(guard_chain, handler_replaced)
{
	struct sigaction segv, bus;
	char byte;

	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	cr_assert_eq(guard_install(), 0);
	sigaction(SIGSEGV, NULL, &segv);
	sigaction(SIGBUS, NULL, &bus);
	program_handler(NULL, on_info, 0);
	guard_check();
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_not(guard_copy(&byte, (void *)(uintptr_t)forbidden, 1));
	cr_assert(guard_copy(&byte, "y", 1));
	cr_assert_eq(byte, 'y');
	cr_assert_eq(calls, 0, "no fault happened at all");
	touch(forbidden);
	cr_assert_eq(calls, 1);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	guard_check();
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 1);
}

/* A handler of the program's for one of the two signals is enough. */
Test(guard_chain, one_handler_replaced)
{
	static const int each[] = { SIGSEGV, SIGBUS };

	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	cr_assert_eq(guard_install(), 0);
	for (int i = 0; i < 2; i++) {
		struct sigaction ours;

		sigaction(each[i], NULL, &ours);
		sigaction(each[i], &(struct sigaction){ .sa_sigaction = on_info, .sa_flags = SA_SIGINFO }, NULL);
		guard_check();
		cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
		cr_assert_eq(calls, 0, "the kernel copied");
		sigaction(each[i], &ours, NULL);
		guard_check();
	}
}

/* Installing again under a handler that passes faults on must not make a circle. */
Test(guard_chain, no_circle)
{
	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	program_handler(NULL, on_info, 0);
	cr_assert_eq(guard_install(), 0);
	program_handler(NULL, on_pass, 0);
	cr_assert_eq(guard_install(), 0);
	touch(forbidden);
	cr_assert_eq(calls, 2, "the later handler, ours, the first one");
	cr_assert_eq(fault_address, forbidden);
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 2);
}

static bool first_is(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction now;

	cr_assert_eq(sigaction(SIGSEGV, NULL, &now), 0);
	return (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handler;
}

/* Copies as the device does, until the program's handler stands no longer in front. */
static void copy_until_ours(void (*handler)(int, siginfo_t *, void *))
{
	char byte = 0;

	while (first_is(handler)) {
		guard_check();
		cr_assert(guard_copy(&byte, "y", 1));
	}
}

/* A handler that was put after ours costs nothing for long, and gets the faults that it would get without us. */
Test(guard_chain, ours_is_put_before_one_that_stays)
{
	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	cr_assert_eq(guard_install(), 0);
	program_handler(NULL, on_info, 0);
	copy_until_ours(on_info);
	for (int i = 1; i <= 3; i++) {
		cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
		cr_assert_eq(calls, i - 1, "a fault of ours");
		touch(forbidden + 8);
		cr_assert_eq(calls, i);
		cr_assert_eq(fault_address, forbidden + 8);
		cr_assert(usr1_blocked && sig_blocked, "its mask");
	}
}

/* It passes on to the action that it displaced, which is an earlier one of ours; that passes on to what stood there before. */
Test(guard_chain, one_that_stays_passes_on)
{
	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	program_handler(NULL, on_info, 0);
	cr_assert_eq(guard_install(), 0);
	program_handler(NULL, on_pass, 0);
	copy_until_ours(on_pass);
	for (int i = 1; i <= 3; i++) {
		touch(forbidden);
		cr_assert_eq(calls, 2 * i, "the later one, ours, the first one");
	}
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 6);
}

/* A library that finds another handler than its own puts its own once more, and then passes on to ours that stands behind it. */
Test(guard_chain, one_that_is_put_twice_makes_no_circle)
{
	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	program_handler(NULL, on_info, 0);
	cr_assert_eq(guard_install(), 0);
	for (int i = 0; i < 3; i++) {
		program_handler(NULL, on_pass, SA_NODEFER);
		copy_until_ours(on_pass);
	}
	touch(forbidden);
	cr_assert_gt(calls, 1);
	cr_assert_eq(fault_address, forbidden, "the first one had it");
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
}

Test(guard_chain, default_action_that_was_put_later, .signal = SIGSEGV)
{
	struct sigaction now = { .sa_handler = SIG_DFL };
	char byte = 0;

	cr_assert_eq(guard_install(), 0);
	for (signal(SIGSEGV, SIG_DFL); !(now.sa_flags & SA_SIGINFO); sigaction(SIGSEGV, NULL, &now)) {
		guard_check();
		cr_assert(guard_copy(&byte, "y", 1));
	}
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	touch(forbidden);
	cr_assert_fail("survived");
}

/* A program that puts its own again and again keeps it in front in the end, and is told once. */
Test(guard_chain, one_that_is_put_again_and_again_stays)
{
	char byte = 0;
	int times = 0;

	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	cr_assert_eq(guard_install(), 0);
	while (!guard_gave_up()) {
		if (!first_is(on_info)) {
			program_handler(NULL, on_info, 0);
			times++;
		}
		guard_check();
		cr_assert(guard_copy(&byte, "y", 1));
	}
	cr_assert_eq(times, LIMIT_HANDLERS);
	cr_assert(first_is(on_info));
	cr_assert_not(guard_gave_up());
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1), "the kernel copies");
	cr_assert_eq(calls, 0);
}

/* No handler and no process_vm_writev: a pipe is left. */
Test(guard_chain, only_a_pipe_left)
{
	char byte = 0;

	cr_assert_eq(guard_install(), 0);
	program_handler(NULL, on_pass, SA_NODEFER);
	if (!sandbox_refuse_process_vm())
		cr_skip_test("no seccomp filters here");
	guard_check();
	cr_assert_eq(guard_install(), 0);
	cr_assert(guard_copy(&byte, "y", 1));
	cr_assert_eq(byte, 'y');
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_not(guard_copy(&byte, (void *)(uintptr_t)forbidden, 1));
	cr_assert(guard_copy(&byte, "z", 1));
	cr_assert_eq(byte, 'z', "nothing stays in the pipe");
	cr_assert_eq(calls, 0);
}

/* Nor a pipe: said so, and nobody is killed. */
Test(guard_chain, nothing_left)
{
	char byte = 0;

	cr_assert_eq(guard_install(), 0);
	program_handler(NULL, on_pass, SA_NODEFER);
	if (!sandbox_refuse_process_vm() || !sandbox_refuse(SYS_pipe2, EPERM))
		cr_skip_test("no seccomp filters here");
	guard_check();
	cr_assert_eq(guard_install(), -ENOSYS);
	cr_assert_not(guard_copy(&byte, "y", 1));
	cr_assert_eq(calls, 0);
}

static void touch_body(void *arg)
{
	(void)arg;
	(void)*forbidden;
}

static void block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
}

static void *copy_blocked(void *arg)
{
	char byte = 0;

	(void)arg;
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert(guard_copy(&byte, "y", 1));
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_not(guard_run((void *)(uintptr_t)forbidden, 1, false, touch_body, NULL));
	return NULL;
}

/* A thread that has all signals blocked, as workers do, from its start. Blocked, a fault would kill whatever the handler. */
Test(guard_chain, signals_blocked_in_a_new_thread)
{
	pthread_t thread;

	cr_assert_eq(guard_install(), 0);
	block_all();
	cr_assert_eq(pthread_create(&thread, NULL, copy_blocked, NULL), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

/* Longer than a thread believes what the kernel said. No event tells of that: it is the time itself. */
static void grow_stale(void)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000ll + (now.tv_nsec - from.tv_nsec) < 5000000);
}

/* The guard is not told: its knowledge is old. */
Test(guard_chain, signals_blocked_since)
{
	char byte;

	cr_assert_eq(guard_install(), 0);
	cr_assert(guard_copy(&byte, "y", 1));
	block_all();
	grow_stale();
	copy_blocked(NULL);
}

/* A slice believes its first look until its end, but not over a registration. */
Test(guard_chain, handler_put_before_a_registration_in_a_slice)
{
	char byte = 0;

	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	cr_assert_eq(guard_install(), 0);
	guard_slice_begin();
	for (int i = 0; i < 2; i++) /* the first one asks the kernel */
		cr_assert(guard_copy(&byte, "x", 1));
	program_handler(NULL, on_info, 0);
	guard_check();
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 0, "the kernel copied");
	guard_slice_end();
}

Test(guard_chain, handler_put_between_two_slices)
{
	char byte = 0;

	cr_assert_eq(guard_install(), 0);
	guard_slice_begin();
	for (int i = 0; i < 2; i++) /* the first one asks the kernel */
		cr_assert(guard_copy(&byte, "x", 1));
	guard_slice_end();
	program_handler(NULL, on_info, 0);
	grow_stale();
	guard_slice_begin();
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 0);
	guard_slice_end();
}

Test(guard_chain, handler_put_in_an_idle_time)
{
	char byte;

	cr_assert_eq(guard_install(), 0);
	cr_assert(guard_copy(&byte, "y", 1));
	program_handler(NULL, on_info, 0);
	grow_stale();
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 0);
	signal(SIGSEGV, SIG_DFL);
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
}

/* Where memory was missing once, the program may do what it likes at any time. */
Test(guard_chain, handler_put_between_faults)
{
	struct sigaction ours;

	cr_assert_eq(guard_install(), 0);
	sigaction(SIGSEGV, NULL, &ours);
	for (int i = 0; i < 1000; i++) {
		cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
		signal(SIGSEGV, SIG_DFL);
		cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
		sigaction(SIGSEGV, &ours, NULL);
	}
}

/* The parent's pipe is not the child's. */
Test(guard_chain, only_a_pipe_left_after_a_fork)
{
	char byte = 0;
	int status;
	pid_t child;

	if (!sandbox_refuse_process_vm())
		cr_skip_test("no seccomp filters here");
	cr_assert(guard_copy(&byte, "y", 1), "not installed: the kernel copies");
	child = fork();
	if (!child) {
		guard_forked();
		_exit(guard_copy(&byte, "z", 1) && byte == 'z' ? 0 : 1);
	}
	cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}
