/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - the handler of faults. Only calls that a handler may make. */
#include "emu/kfi/insmod/insmod.h"

#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { FRAMES = 64, LINE = 256, FIRST_PAGES = 65536, FAULT_STACK = 65536 };
enum { STACK_NEAR = 65536 }; /* how far below the stack pointer a call may begin to write */

static void fault_say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* there is nowhere to say so */
}

static void say_address(uintptr_t address)
{
	char text[2 + 2 * sizeof(address) + 1] = "0x";

	for (size_t i = 0; i < 2 * sizeof(address); i++)
		text[2 + i] = "0123456789abcdef"[address >> (4 * (2 * sizeof(address) - 1 - i)) & 15];
	text[sizeof(text) - 1] = 0;
	fault_say(text);
}

/* Is it the thread's own stack that ends there? Nothing else is missing so near to the stack pointer. */
static bool is_stack(uintptr_t address, const ucontext_t *context)
{
#if defined(__x86_64__)
	uintptr_t top = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
	uintptr_t top = (uintptr_t)context->uc_mcontext.sp;
#endif

	return address - (top - STACK_NEAR) < 2 * STACK_NEAR;
}

static void say_what(int number, const siginfo_t *info, const ucontext_t *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;

	switch (number) {
	case SIGABRT:
		fault_say("emu_insmod: aborted: a BUG(), or the C library found an error.");
		return;
	case SIGFPE:
		fault_say("emu_insmod: a division by zero, or another arithmetic fault.");
		return;
	case SIGILL:
		fault_say("emu_insmod: an instruction that does not exist.");
		return;
	default:
		if (number == SIGSEGV && info->si_code > 0 && is_stack(address, context)) {
			fault_say("emu_insmod: a stack overflow: a module's calls, or the arrays in them, took more than the stack "
				  "of this thread has, and a kernel's has 16 KiB.");
			return;
		}
		fault_say("emu_insmod: a module reached for memory that is not there, or not its own: address ");
		say_address(address);
		if (address < FIRST_PAGES)
			fault_say(", a NULL pointer dereference");
		if (address >= (uintptr_t)-FIRST_PAGES)
			fault_say(", an ERR_PTR() that was taken for a pointer");
		fault_say(".");
	}
}

static void report_fault(int number, siginfo_t *info, void *context)
{
	void *frames[FRAMES];

	say_what(number, info, context);
	fault_say(" Call trace:\n");
	backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
	signal(number, SIG_DFL);
	raise(number); /* blocked until this handler returns */
}

void fault_report_begin(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	struct sigaction action = { .sa_sigaction = report_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static char room[FAULT_STACK]; /* other threads have theirs from emu_kernel_start_thread() */
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	void *frame[1];

	sigaltstack(&stack, NULL);
	backtrace(frame, 1); /* loads what it needs, which a handler may not */
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}
