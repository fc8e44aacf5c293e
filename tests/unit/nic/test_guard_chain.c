/* SPDX-License-Identifier: BSD-2-Clause */
/* test_guard_chain.c - the guard beside the program's own handlers: faults that are not ours go where they would have
 * gone without us. */
#include <criterion/criterion.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emu/nic/guard.h"
#include "sandbox.h"

static volatile char *forbidden;	/* one page that cannot be touched */
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

Test(guard_chain, remove_restores)
{
	struct sigaction now;

	program_handler(NULL, on_info, 0);
	cr_assert_eq(guard_install(), 0);
	cr_assert_eq(guard_install(), 0, "idempotent");
	guard_remove();
	cr_assert_eq(sigaction(SIGSEGV, NULL, &now), 0);
	cr_assert_eq(now.sa_sigaction, on_info);
	cr_assert_eq(sigaction(SIGBUS, NULL, &now), 0);
	cr_assert_eq(now.sa_sigaction, on_info);
	guard_remove();
	cr_assert_eq(guard_check(), 0);
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 0, "the kernel copied");
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
	cr_assert_eq(guard_check(), 0);
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_not(guard_copy(&byte, (void *)(uintptr_t)forbidden, 1));
	cr_assert(guard_copy(&byte, "y", 1));
	cr_assert_eq(byte, 'y');
	cr_assert_eq(calls, 0, "no fault happened at all");
	touch(forbidden);
	cr_assert_eq(calls, 1);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	cr_assert_eq(guard_check(), 0);
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
		cr_assert_eq(guard_check(), 0);
		cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
		cr_assert_eq(calls, 0, "the kernel copied");
		sigaction(each[i], &ours, NULL);
		cr_assert_eq(guard_check(), 0);
	}
}

/* Removing and installing again under a handler that passes faults on must not make a circle. */
Test(guard_chain, no_circle)
{
	if (!sandbox_allows_process_vm())
		cr_skip_test("process_vm_writev is forbidden here");
	program_handler(NULL, on_info, 0);
	cr_assert_eq(guard_install(), 0);
	program_handler(NULL, on_pass, 0);
	guard_remove();
	cr_assert_eq(guard_install(), 0);
	touch(forbidden);
	cr_assert_eq(calls, 2, "the later handler, ours, the first one");
	cr_assert_eq(fault_address, forbidden);
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 2);
}

/* No handler and no process_vm_writev: said so; what is there can still be copied, and a program that passes faults on
 * still gets our answer. */
Test(guard_chain, nothing_left)
{
	char byte = 0;

	cr_assert_eq(guard_install(), 0);
	program_handler(NULL, on_pass, SA_NODEFER);
	if (!sandbox_refuse_process_vm())
		cr_skip_test("no seccomp filters here");
	cr_assert_eq(guard_check(), -ENOSYS);
	cr_assert(guard_copy(&byte, "y", 1));
	cr_assert_eq(byte, 'y');
	cr_assert_not(guard_copy((void *)(uintptr_t)forbidden, "x", 1));
	cr_assert_eq(calls, 1);
}
