/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hmem_fault.c - the CPU on memory of a device: it faults, a line says where, and the program's own handlers stay in force. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/emu/hmem.h"

static sigjmp_buf land;
static void *volatile faulted_at;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	faulted_at = info->si_addr;
	siglongjmp(land, 1);
}

static void handler_put(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
}

static char *device_memory(size_t size)
{
	void *at = NULL;

	setenv("FI_EMU_HMEM", "cuda:1", 1);
	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, size, &at), 0);
	return at;
}

/* Reads, or writes, and comes back by the handler; false: it did not fault. */
static bool faults(volatile char *at, bool write)
{
	faulted_at = NULL;
	if (!sigsetjmp(land, 1)) {
		if (write)
			*at = 1;
		else
			(void)*at;
		return false;
	}
	return faulted_at == at;
}

Test(hmem_fault, says_where_and_goes_on_to_the_handler_before, .init = cr_redirect_stderr)
{
	char *a, expected[600];

	handler_put();
	a = device_memory(100);
	cr_expect(faults(a, false));
	cr_expect(faults(a + 99, true));
	emu_hmem_free(a);
	cr_expect(faults(a + 5, true));
	cr_expect(faults(a + EMU_HMEM_PAGE, false));
	snprintf(expected, sizeof(expected),
		 "emu-hmem: SIGSEGV at %p: byte 0 of an allocation of 100 B at %p, memory of cuda:0, which the CPU cannot reach\n"
		 "emu-hmem: SIGSEGV at %p: byte 99 of an allocation of 100 B at %p, memory of cuda:0, which the CPU cannot reach\n"
		 "emu-hmem: SIGSEGV at %p: byte 5 of a freed allocation of 100 B at %p, memory of cuda:0, which the CPU cannot "
		 "reach\n"
		 "emu-hmem: SIGSEGV at %p: no allocation of cuda:0, whose addresses these are\n",
		 (void *)a, (void *)a, (void *)(a + 99), (void *)a, (void *)(a + 5), (void *)a, (void *)(a + EMU_HMEM_PAGE));
	cr_expect_stderr_eq_str(expected);
}

/* A fault of other memory is none of ours, and neither is a signal that was sent. */
Test(hmem_fault, silent_about_others, .init = cr_redirect_stderr)
{
	char *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	handler_put();
	device_memory(1);
	cr_expect(faults(hole, false));
	if (!sigsetjmp(land, 1))
		syscall(SYS_rt_sigqueueinfo, getpid(), SIGSEGV, &(siginfo_t){ .si_code = SI_QUEUE, .si_addr = device_memory(1) });
	cr_expect_neq(faulted_at, hole);
	cr_expect_stderr_eq_str("");
}

/* In a child; the status that it ends with. */
static int ends_by(void (*body)(void))
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		body();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static void touch(void)
{
	*(volatile char *)device_memory(8) = 1;
}

static void be_sent(void)
{
	device_memory(8);
	raise(SIGSEGV);
}

static void ignore_it(void)
{
	signal(SIGSEGV, SIG_IGN);
	device_memory(8);
	raise(SIGSEGV);
}

static void old_style(int sig)
{
	(void)sig;
	siglongjmp(land, 1);
}

/* The handler of one argument runs once, and the second fault has the default action. */
static void fault_twice(void)
{
	struct sigaction action = { .sa_handler = old_style, .sa_flags = (int)SA_RESETHAND };
	char *a;

	sigaction(SIGSEGV, &action, NULL);
	a = device_memory(8);
	if (!sigsetjmp(land, 1)) {
		*(volatile char *)a = 1;
		_exit(1);
	}
	if (!sigsetjmp(land, 1))
		*(volatile char *)a = 1;
	_exit(2);
}

Test(hmem_fault, without_a_handler_it_ends_the_process, .init = cr_redirect_stderr)
{
	int status = ends_by(touch);

	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%#x", (unsigned)status);
	status = ends_by(be_sent);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%#x", (unsigned)status);
	cr_expect_eq(ends_by(ignore_it), 0);
}

Test(hmem_fault, a_handler_that_runs_once, .init = cr_redirect_stderr)
{
	int status = ends_by(fault_twice);

	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%#x", (unsigned)status);
}
