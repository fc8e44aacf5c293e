/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - the handler of faults. Only calls that a handler may make. */
#include "emu/kfi/insmod/fault.h"

#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 64, LINE = 256, FIRST_PAGES = 65536 };

static void say(const char *text)
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
	say(text);
}

static void say_what(int number, const siginfo_t *info)
{
	uintptr_t address = (uintptr_t)info->si_addr;

	switch (number) {
	case SIGABRT:
		say("emu_insmod: aborted: a BUG(), or the C library found an error.");
		return;
	case SIGFPE:
		say("emu_insmod: a division by zero, or another arithmetic fault.");
		return;
	case SIGILL:
		say("emu_insmod: an instruction that does not exist.");
		return;
	default:
		say("emu_insmod: a module reached for memory that is not there, or not its own: address ");
		say_address(address);
		if (address < FIRST_PAGES)
			say(", a NULL pointer dereference");
		if (address >= (uintptr_t)-FIRST_PAGES)
			say(", an ERR_PTR() that was taken for a pointer");
		say(".");
	}
}

static void report_fault(int number, siginfo_t *info, void *context)
{
	void *frames[FRAMES];

	(void)context;
	say_what(number, info);
	say(" Call trace:\n");
	backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
	signal(number, SIG_DFL);
	raise(number); /* blocked until this handler returns */
}

void fault_report_begin(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	struct sigaction action = { .sa_sigaction = report_fault, .sa_flags = SA_SIGINFO };
	void *frame[1];

	backtrace(frame, 1); /* loads what it needs, which a handler may not */
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}
