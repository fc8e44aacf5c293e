/* SPDX-License-Identifier: BSD-2-Clause */
/* page_step.c - single steps.
 *
 * While a thread steps, its signals are blocked but for faults: the program sees no context with the trap flag, unless the same
 * instruction faults by itself (page_step_cancel()). The handler of SIGTRAP may interrupt any code, this library's too: what holds
 * watched_lock then keeps the page lifted. */
#include "emu/process/races/page_step.h"

#include <signal.h>
#include <sys/syscall.h>

#include "emu/process/races/byte_watch.h"
#include "emu/process/races/memory_map.h"
#include "emu/process/races/string_step.h"

enum { STEPS = 256 /* of a page */, SA_RESTORED = 0x04000000, PATIENCE = 1000, TRAP_FLAG = 0x100, INT1 = 0xf1 };
enum { BY_BREAKPOINT = 6 /* si_code */ };

#define STEP_TICKS (UINT64_C(1) << 18) /* of the time stamp counter, a step: some 10,000 a second, */
#define SPARE_TICKS (STEP_TICKS << 10) /* and so many at once */

static atomic_bool on;
static atomic_uint under_way; /* threads in a step */
static struct exempt_action before;
static void (*breakpoint)(const siginfo_t *info, ucontext_t *interrupted);    /* constant after the start, */
static void (*step_made)(const struct touch *touch, ucontext_t *interrupted); /* as is this */

static void on_step(int sig, siginfo_t *info, void *context);

static bool handler_is_ours(void)
{
	struct exempt_action now;

	return !exempt_call(SYS_rt_sigaction, SIGTRAP, 0, (long)&now, sizeof(now.mask), 0, 0) && now.handler == (uintptr_t)on_step;
}

static bool may_step(void)
{
	static atomic_uint_fast64_t next; /* when the last step was made, if all were made evenly */
	uint64_t now = __builtin_ia32_rdtsc(), from = atomic_load(&next);

	if (from + SPARE_TICKS < now)
		from = now - SPARE_TICKS;
	if (from + STEP_TICKS > now)
		return false;
	atomic_store(&next, from + STEP_TICKS);
	return true;
}

/* As page_watch_begin() does it, if nothing has come between. */
static bool protect_again(struct watched_page *page) REQUIRES(watched_lock)
{
	uintptr_t at = atomic_load(&page->at);
	const struct memory_mapping *mapping = memory_map_find(at);

	if (!mapping || !mapping->watchable || atomic_load(&page->state) != WATCHED_LIFTED)
		return false;
	if (atomic_load(&system_calls_forbid) || atomic_load(&system_calls_ended) || system_calls_handlers_changed() ||
	    !watched_threads_settled())
		return false;
	exempt_fence();
	return watched_threads_use(at, mapping->start, mapping->end) == WATCHED_UNUSED &&
	       watched_protect(at, WATCHED_PAGE, page->now);
}

static void step_ends(uintptr_t at) REQUIRES(watched_lock)
{
	struct watched_page *page = watched_find(at);

	if (page && protect_again(page))
		atomic_fetch_sub(&page->lifts, 1);
}

/* An instruction for strings traps behind each element. */
static bool is_string_unfinished(const struct watched_thread *thread, const ucontext_t *interrupted)
{
	return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP] == thread->step_code;
}

static void leave_step(struct watched_thread *thread, ucontext_t *interrupted)
{
	interrupted->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	*(exempt_mask *)&interrupted->uc_sigmask = thread->step_mask;
	thread->steps = 0;
	atomic_fetch_sub(&under_way, 1);
}

static void end_step(struct watched_thread *thread, ucontext_t *interrupted)
{
	unsigned int count = thread->steps;
	bool over = !is_string_unfinished(thread, interrupted);
	exempt_mask mask;

	leave_step(thread, interrupted);
	for (unsigned int i = 0; i < count; i++)
		step_made(&thread->step[i], interrupted);
	if (!atomic_load(&on) || !watched_try(&mask))
		return;
	for (unsigned int i = 0; i < count && over; i++)
		step_ends(thread->step[i].at);
	watched_let_go(mask);
}

/* A breakpoint, or a signal that was sent. */
static void as_without_us(int sig)
{
	exempt_call(SYS_rt_sigaction, sig, (long)&before, 0, sizeof(before.mask), 0, 0);
	exempt_call(SYS_tgkill, exempt_call(SYS_getpid, 0, 0, 0, 0, 0, 0), exempt_thread(), sig, 0, 0, 0);
}

/* A virtual machine may lose what the trap was for (DR6), and then the kernel takes it for the program's INT1. That traps behind
 * itself, in some virtual machines before. */
static bool is_trap(const siginfo_t *info, const ucontext_t *interrupted)
{
	const unsigned char *at = (const unsigned char *)interrupted->uc_mcontext.gregs[REG_RIP];
	unsigned char behind = 0, next = 0;

	if (info->si_code != TRAP_BRKPT)
		return info->si_code == TRAP_TRACE || info->si_code == TRAP_HWBKPT;
	(void)exempt_peek(&behind, at - 1, 1);
	(void)exempt_peek(&next, at, 1);
	return behind != INT1 && next != INT1;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	struct watched_thread *thread = watched_thread_self();
	ucontext_t *interrupted = context;

	if (info->si_code == BY_BREAKPOINT)
		breakpoint(info, interrupted);
	else if (!is_trap(info, interrupted))
		as_without_us(sig);
	else if (thread && thread->steps && is_string_unfinished(thread, interrupted) && may_step())
		return;
	else if (thread && thread->steps)
		end_step(thread, interrupted);
	else
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG; /* flags that a step has stored, and come back */
}

bool page_steps_stand(void)
{
	return atomic_load(&on) && handler_is_ours();
}

void page_steps_start(void (*event)(const siginfo_t *info, ucontext_t *interrupted),
		      void (*made)(const struct touch *touch, ucontext_t *interrupted))
{
	const struct exempt_action action = {
		.handler = (uintptr_t)on_step,
		.flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART | SA_RESTORED,
		.restorer = (uintptr_t)exempt_restorer,
	};
	struct exempt_action now;

	breakpoint = event;
	step_made = made;
	if (exempt_call(SYS_rt_sigaction, SIGTRAP, 0, (long)&now, sizeof(now.mask), 0, 0))
		return;
	if (now.handler == (uintptr_t)SIG_DFL) {
		before = now;
		atomic_store(&on, !exempt_call(SYS_rt_sigaction, SIGTRAP, (long)&action, 0, sizeof(action.mask), 0, 0));
	} else {
		atomic_store(&on, now.handler == action.handler);
	}
}

static exempt_mask step_mask(exempt_mask of_program)
{
	const exempt_mask faults = EXEMPT_BIT(SIGBUS) | EXEMPT_BIT(SIGFPE) | EXEMPT_BIT(SIGILL);

	return (~(WATCHED_SIGNALS | EXEMPT_BIT(SIGTRAP)) & ~faults) | (of_program & faults);
}

bool page_step_left(const struct watched_page *page)
{
	return atomic_load(&page->spent) <= STEPS;
}

bool page_step(struct watched_page *page, const struct touch *touch, ucontext_t *interrupted, unsigned int cost)
{
	struct watched_thread *thread = watched_thread_self();
	greg_t *flags = &interrupted->uc_mcontext.gregs[REG_EFL];
	exempt_mask *mask = (exempt_mask *)&interrupted->uc_sigmask;
	unsigned int spent;

	if (!thread || !atomic_load(&on))
		return false;
	if (thread->steps && !(*flags & TRAP_FLAG)) { /* it has left one by a jump */
		thread->steps = 0;
		atomic_fetch_sub(&under_way, 1);
	}
	if (thread->steps == WATCHED_STEPS || !may_step() || !handler_is_ours())
		return false;
	spent = atomic_fetch_add(&page->spent, cost);
	if (spent > STEPS)
		return false;
	if (!thread->steps) {
		atomic_fetch_add(&under_way, 1);
		thread->step_mask = *mask;
		thread->step_code = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
		*mask = step_mask(*mask);
		*flags |= TRAP_FLAG;
	}
	thread->step[thread->steps++] = *touch;
	return true;
}

bool page_step_string(struct watched_page *page, ucontext_t *interrupted)
{
	exempt_mask mask;

	if (interrupted->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG || !may_step())
		return false;
	if (atomic_fetch_add(&page->spent, 1) > STEPS || !string_step_make(interrupted))
		return false;
	if (watched_try(&mask)) {
		step_ends(atomic_load(&page->at));
		watched_let_go(mask);
	}
	return true;
}

void page_step_cancel(ucontext_t *interrupted)
{
	struct watched_thread *thread = watched_thread_self();

	if (thread && thread->steps && interrupted->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG)
		leave_step(thread, interrupted);
}

/* Other threads end their steps first. No breakpoint begins from here on (page_steps_stand()). */
void page_steps_end(void)
{
	exempt_mask mask;

	if (!atomic_exchange(&on, false))
		return;
	mask = watched_take();
	byte_watch_end_all();
	watched_let_go(mask);
	for (int i = 0; i < PATIENCE && atomic_load(&under_way); i++)
		exempt_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	if (handler_is_ours())
		exempt_call(SYS_rt_sigaction, SIGTRAP, (long)&before, 0, sizeof(before.mask), 0, 0);
}

long page_steps_asked(struct trap *trap)
{
	long old = trap->arg[2], result = trap_plain(trap);

	if (!result && old && ((struct exempt_action *)old)->handler == (uintptr_t)on_step)
		*(struct exempt_action *)old = before;
	return result;
}

void page_steps_forked(void)
{
	atomic_store(&under_way, 0);
}
