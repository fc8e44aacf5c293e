/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_calls.c - trapped calls about signals.
 *
 * The kernel kills a process that faults, or traps a call, while the signal of that is blocked. So these two are in no mask,
 * neither of a thread nor of a handler nor of a call that waits with a mask of its own; the program is told what it has asked
 * for. */
#include "emu/process/races/system_calls.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "emu/process/races/page_step.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

enum { SIGNALS = 64, SA_RESTORED = 0x04000000 };

/* The action that the program believes to be that of SIGSYS. */
static struct exempt_action pretended;
static atomic_bool pretends;

/* --- masks --- */

static void hide(struct watched_thread *thread, long how, exempt_mask set)
{
	set &= WATCHED_SIGNALS;
	if (how == SIG_BLOCK)
		thread->hidden |= set;
	else if (how == SIG_UNBLOCK)
		thread->hidden &= ~set;
	else
		thread->hidden = set;
}

static long change_mask(struct trap *trap)
{
	exempt_mask set = 0, now = 0, hidden = trap->thread->hidden;
	long at = trap->arg[1], old = trap->arg[2], result;
	bool known = trap->arg[3] == sizeof(set) && trap->arg[0] >= SIG_BLOCK && trap->arg[0] <= SIG_SETMASK;

	if (!known || (at && !exempt_peek(&set, (void *)at, sizeof(set))))
		return trap_plain(trap);
	if (at) {
		now = set & ~WATCHED_SIGNALS;
		trap->arg[1] = (long)&now;
	}
	result = trap_plain(trap);
	if (result)
		return result;
	if (old)
		*(exempt_mask *)old |= hidden;
	if (at)
		hide(trap->thread, trap->arg[0], set);
	exempt_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&now, sizeof(now), 0, 0);
	*(exempt_mask *)&trap->context->uc_sigmask = now & ~WATCHED_SIGNALS;
	return 0;
}

/* A call that waits under a mask, argument `number`. */
static long wait_masked(struct trap *trap, int number)
{
	exempt_mask mask;

	if (!trap->arg[number] || !exempt_peek(&mask, (void *)trap->arg[number], sizeof(mask)))
		return trap_plain(trap);
	mask &= ~WATCHED_SIGNALS;
	trap->arg[number] = (long)&mask;
	return trap_plain(trap);
}

/* ppoll */
static long wait_masked_3(struct trap *trap)
{
	return wait_masked(trap, 3);
}

/* epoll_pwait, epoll_pwait2 */
static long wait_masked_4(struct trap *trap)
{
	return wait_masked(trap, 4);
}

/* rt_sigsuspend */
static long wait_masked_0(struct trap *trap)
{
	return wait_masked(trap, 0);
}

/* pselect6, io_pgetevents: the mask stands in a structure. */
static long wait_masked_5(struct trap *trap)
{
	struct {
		long at;
		size_t size;
	} where;
	exempt_mask mask;

	if (!trap->arg[5] || !exempt_peek(&where, (void *)trap->arg[5], sizeof(where)) || !where.at ||
	    !exempt_peek(&mask, (void *)where.at, sizeof(mask)))
		return trap_plain(trap);
	mask &= ~WATCHED_SIGNALS;
	where.at = (long)&mask;
	trap->arg[5] = (long)&where;
	return trap_plain(trap);
}

/* --- actions --- */

void signal_calls_pretend(const struct exempt_action *action)
{
	pretended = *action;
	atomic_store(&pretends, true);
}

/* The kernel judges both pointers. The program's own handler gets what is not ours. */
static long pretend_action(struct trap *trap)
{
	struct exempt_action before = pretended, next;
	long at = trap->arg[1], old = trap->arg[2], result;

	if (at && !exempt_peek(&next, (void *)at, sizeof(next)))
		return -EFAULT;
	trap->arg[1] = 0;
	result = trap_plain(trap);
	if (result)
		return result;
	if (old)
		*(struct exempt_action *)old = before;
	if (at)
		signal_calls_pretend(&next);
	return 0;
}

static long change_action(struct trap *trap)
{
	struct exempt_action next;
	long at = trap->arg[1];

	if (trap->arg[3] != sizeof(next.mask))
		return trap_plain(trap);
	if (trap->arg[0] == SIGSYS)
		return pretend_action(trap);
	if (!at)
		return trap->arg[0] == SIGTRAP ? page_steps_asked(trap) : trap_plain(trap);
	if (!exempt_peek(&next, (void *)at, sizeof(next)))
		return trap_plain(trap);
	if (trap->arg[0] == SIGTRAP)
		page_steps_end();
	next.mask &= ~WATCHED_SIGNALS;
	trap->arg[1] = (long)&next;
	if (trap->arg[0] == SIGSEGV || trap->arg[0] == SIGBUS)
		return system_calls_fault_action(trap);
	return trap_plain(trap);
}

void signal_calls_start(void)
{
	struct exempt_action action;

	for (long sig = 1; sig <= SIGNALS; sig++) {
		if (exempt_call(SYS_rt_sigaction, sig, 0, (long)&action, sizeof(action.mask), 0, 0) ||
		    !(action.mask & WATCHED_SIGNALS))
			continue;
		action.mask &= ~WATCHED_SIGNALS;
		exempt_call(SYS_rt_sigaction, sig, (long)&action, 0, sizeof(action.mask), 0, 0);
	}
}

/* The program's handler returns to the kernel by its own way. */
void signal_calls_pass(int sig, siginfo_t *info, void *context)
{
	const struct exempt_action deadly = { .handler = (uintptr_t)SIG_DFL, .flags = SA_RESTORED };
	uintptr_t handler = atomic_load(&pretends) ? pretended.handler : (uintptr_t)SIG_DFL;

	if (handler == (uintptr_t)SIG_IGN && info->si_code <= 0)
		return;
	if (handler == (uintptr_t)SIG_DFL || handler == (uintptr_t)SIG_IGN) {
		exempt_call(SYS_rt_sigaction, sig, (long)&deadly, 0, sizeof(deadly.mask), 0, 0);
		exempt_call(SYS_tgkill, exempt_call(SYS_getpid, 0, 0, 0, 0, 0, 0), exempt_thread(), sig, 0, 0, 0);
	} else {
		((void (*)(int, siginfo_t *, void *))handler)(sig, info, context);
	}
}

/* --- the rest --- */

/* The frame that the program's handler has returned from. */
static long return_from_handler(struct trap *trap)
{
	uintptr_t stack = (uintptr_t)trap->registers[REG_RSP];
	ucontext_t *frame = (ucontext_t *)stack; /* NOLINT(performance-no-int-to-ptr): the kernel's */

	*(exempt_mask *)&frame->uc_sigmask &= ~WATCHED_SIGNALS;
	if (frame->uc_stack.ss_flags & SS_DISABLE)
		frame->uc_stack = trap->context->uc_stack; /* from before the thread was asked */
	exempt_sigreturn(stack);
}

/* This handler's return would undo what the kernel does in it. */
static long change_stack(struct trap *trap)
{
	bool gave = watched_thread_gave(trap->thread, &trap->context->uc_stack);
	stack_t *old = (stack_t *)trap->arg[1]; /* NOLINT(performance-no-int-to-ptr): an argument */
	long result = trap_plain(trap);

	if (result)
		return result;
	if (old && gave)
		*old = (stack_t){ .ss_flags = SS_DISABLE };
	if (trap->arg[0])
		watched_thread_alternate(trap->thread, &trap->context->uc_stack);
	return 0;
}

trap_handler *signal_call(long number)
{
	switch (number) {
	case SYS_rt_sigreturn:
		return return_from_handler;
	case SYS_rt_sigprocmask:
		return change_mask;
	case SYS_rt_sigaction:
		return change_action;
	case SYS_sigaltstack:
		return change_stack;
	case SYS_rt_sigsuspend:
		return wait_masked_0;
	case SYS_ppoll:
		return wait_masked_3;
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return wait_masked_4;
	case SYS_pselect6:
		return wait_masked_5;
	default:
		return NULL;
	}
}
