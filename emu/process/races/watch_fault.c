/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_fault.c - the handler's part: it tells the watches on the page, and gives the page back or steps over the instruction. */
#include "emu/process/races/watch_fault.h"

#include <setjmp.h>

#include "emu/nic/memory/guard.h"
#include "emu/process/races/byte_watch.h"
#include "emu/process/races/page_step.h"
#include "emu/process/races/string_step.h"
#include "emu/process/races/watched_pages.h"
#include "emu/process/races/watched_threads.h"

enum {
	SMALL_STACK = 32768, /* of a signal handler: too small for the unwinder */
	FRAME_REACH = 65536, /* a signal's frame is smaller */
	DEVICE_COST = 16     /* of a step, as it copies long ranges, and by short steps */
};

/* Where this thread goes on if the unwinder runs into memory that is not there: it follows stacks whose end nobody marks. */
static _Thread_local sigjmp_buf *volatile unwinding __attribute__((tls_model("initial-exec")));

/* The unwinder takes more than a handler's own stack may have. */
static void take_stack(struct call_stack *stack, const ucontext_t *interrupted)
{
	const stack_t *alternate = &interrupted->uc_stack;
	uintptr_t depth = (uintptr_t)__builtin_frame_address(0) - (uintptr_t)alternate->ss_sp;
	uintptr_t at = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
	bool deep = depth >= alternate->ss_size || alternate->ss_size >= SMALL_STACK;
	sigjmp_buf land;

	if (sigsetjmp(land, 0)) {
		unwinding = NULL;
		call_stack_take_interrupted(stack, at, false);
		return;
	}
	unwinding = &land;
	atomic_signal_fence(memory_order_seq_cst);
	call_stack_take_interrupted(stack, at, deep);
	atomic_signal_fence(memory_order_seq_cst);
	unwinding = NULL;
}

static struct touch touch_of(uintptr_t at, const ucontext_t *interrupted)
{
	return (struct touch){ .at = at,
			       .length = string_step_length(interrupted),
			       .is_store = interrupted->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_STORE };
}

/* The first byte of it that is touched; 0: none. */
static uintptr_t watch_meets(const struct page_watch *watch, const struct touch *touch)
{
	if (watch->kind == PAGE_WATCH_STORES && !touch->is_store)
		return 0;
	for (uint8_t i = 0; i < watch->count; i++) {
		uintptr_t first = (uintptr_t)watch->range[i].iov_base;

		if (touch->at - first < watch->range[i].iov_len)
			return touch->at;
		if (first - touch->at < touch->length)
			return first;
	}
	return 0;
}

/* Calls of the handler's are the program's to make untrapped: a trap would take the lock, whose holder may wait for this
 * handler. */
static unsigned char calls_open(void)
{
	struct watched_thread *thread = watched_thread_self();

	return thread ? atomic_exchange(&thread->selector, 0) : 0;
}

static void calls_trap(unsigned char selector)
{
	struct watched_thread *thread = watched_thread_self();

	if (thread)
		atomic_store(&thread->selector, selector);
}

/* True: it goes on. */
static bool watch_tells(struct page_watch *watch, const struct page_access *access)
{
	if (!watch_table.ops->accessed(watch->arg, access))
		return false;
	atomic_store(&watch->maker, (int)exempt_thread());
	atomic_store(&watch->told, false);
	return true;
}

/* True: a watch goes on. */
static bool tell_of_access(const struct watched_page *page, const struct touch *touch, const ucontext_t *interrupted)
{
	struct call_stack stack = { .count = 0 };
	struct page_access access = {
		.is_store = touch->is_store,
		.is_sure = true,
		.code = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP],
		.lifted = atomic_load(&page->lifts) - 1, /* for this one */
		.stack = &stack,
	};
	bool told = false, on = false;

	for (uint16_t n = atomic_load(&page->nodes); n; n = atomic_load(&watched.node[n].next)) {
		struct page_watch *watch = &watch_table.watch[watched.node[n].watch];

		access.at = watch_meets(watch, touch);
		if (watch->kind == PAGE_WATCH_PAUSES || !access.at || atomic_exchange(&watch->told, true))
			continue;
		if (!stack.count)
			take_stack(&stack, interrupted);
		watch_count(&watch_table.counts.accesses);
		on = watch_tells(watch, &access) || on;
		told = true;
	}
	if (!told)
		watch_count(&watch_table.counts.neighbours);
	return on;
}

/* This thread's access to the page is over, or its page is free. */
static void tell_made(const struct watched_page *page, bool is_free)
{
	for (uint16_t n = atomic_load(&page->nodes); n; n = atomic_load(&watched.node[n].next)) {
		struct page_watch *watch = &watch_table.watch[watched.node[n].watch];
		int maker = (int)exempt_thread();

		if (atomic_compare_exchange_strong(&watch->maker, &maker, 0))
			watch_table.ops->made(watch->arg, is_free);
	}
}

/* Inside watched_enter(), behind the access. */
static void tell_of_bytes(const struct byte_access *found, ucontext_t *interrupted)
{
	struct page_watch *watch = &watch_table.watch[found->watch];
	struct call_stack stack;
	struct page_access access = {
		.at = found->at,
		.is_store = found->is_store,
		.is_sure = found->is_sure,
		.renewals = found->renewals,
		.code = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP],
		.stack = &stack,
	};

	if (guard_made(interrupted) || (watch_table.ops->inside && watch_table.ops->inside()) ||
	    atomic_exchange(&watch->told, true))
		return;
	take_stack(&stack, interrupted);
	watch_count(&watch_table.counts.accesses);
	if (watch_tells(watch, &access) && atomic_exchange(&watch->maker, 0))
		watch_table.ops->made(watch->arg, false);
}

/* Behind a step, for which the kernel raises one SIGTRAP, though there may be a breakpoint, too. */
void watch_fault_stepped(const struct touch *touch, ucontext_t *interrupted)
{
	unsigned char selector = calls_open();
	struct byte_access found;
	struct watched_page *page;

	watched_enter();
	page = watched_find(touch->at);
	watched_gave();
	if (page)
		tell_made(page, false);
	if (byte_watch_has(touch, &found))
		tell_of_bytes(&found, interrupted);
	watched_leave();
	calls_trap(selector);
}

/* A breakpoint tells it, behind the access (byte_watch.h). */
void watch_fault_at_breakpoint(const siginfo_t *info, ucontext_t *interrupted)
{
	exempt_mask mask = exempt_block();
	unsigned char selector = calls_open();
	struct byte_access found;

	watched_enter();
	watched_gave();
	if (byte_watch_find(info, &found))
		tell_of_bytes(&found, interrupted);
	watched_leave();
	calls_trap(selector);
	exempt_unblock(mask);
}

static bool one_waits(const struct watched_page *page, const struct touch *touch)
{
	for (uint16_t n = atomic_load(&page->nodes); n; n = atomic_load(&watched.node[n].next)) {
		const struct page_watch *watch = &watch_table.watch[watched.node[n].watch];

		if (watch->kind != PAGE_WATCH_PAUSES && !atomic_load(&watch->told) && watch_meets(watch, touch))
			return true;
	}
	return false;
}

/* The page was lifted for the call: what may come behind this is not seen. */
void watch_fault_by_call(const struct touch *touch, ucontext_t *interrupted)
{
	struct byte_access found;
	unsigned char selector;
	exempt_mask mask;

	if (watch_table.ops->inside && watch_table.ops->inside())
		return;
	mask = exempt_block();
	selector = calls_open();
	watched_enter();
	watched_gave();
	for (uintptr_t at = touch->at & ~(uintptr_t)(WATCHED_PAGE - 1); at - touch->at < touch->length || at < touch->at;
	     at += WATCHED_PAGE) {
		const struct watched_page *page = watched_find(at);

		if (page && one_waits(page, touch) && tell_of_access(page, touch, interrupted))
			tell_made(page, true);
	}
	if (byte_watch_has(touch, &found))
		tell_of_bytes(&found, interrupted);
	watched_leave();
	calls_trap(selector);
	exempt_unblock(mask);
}

/* The page may have had protection when the access was made, and be out of the table now. */
static bool was_watched(void)
{
	static _Thread_local unsigned int missed __attribute__((tls_model("initial-exec")));
	unsigned int ends = atomic_load(&watched.ends);

	if (missed == ends)
		return false;
	missed = ends;
	return true;
}

/* Does a watch on the page wait for an access to other bytes, or for more than this one? One of the device is none. */
static bool is_beside(const struct watched_page *page, const struct touch *touch, bool guarded)
{
	struct touch any = { touch->at, touch->length, true };

	for (uint16_t n = atomic_load(&page->nodes); n; n = atomic_load(&watched.node[n].next)) {
		const struct page_watch *watch = &watch_table.watch[watched.node[n].watch];

		if (!atomic_load(&watch->told) && (guarded || !watch_meets(watch, &any) || atomic_load(&watch->maker)))
			return true;
	}
	return false;
}

static bool takes_pause(const struct watched_page *page, const struct touch *touch)
{
	struct touch any = { touch->at, touch->length, true };
	struct page_watch *pauses = NULL;

	for (uint16_t n = atomic_load(&page->nodes); n; n = atomic_load(&watched.node[n].next)) {
		struct page_watch *watch = &watch_table.watch[watched.node[n].watch];

		if (!watch_meets(watch, &any) || atomic_load(&watch->told))
			continue;
		if (watch->kind != PAGE_WATCH_PAUSES)
			return false; /* it tells */
		pauses = watch;
	}
	return pauses && !atomic_exchange(&pauses->told, true);
}

/* True: the page is as it was, and so is the thread. No watch waits for it meanwhile. */
static bool fault_pauses(const struct touch *touch)
{
	const struct watched_page *page;
	unsigned char selector;
	bool pauses;

	if (watch_table.ops->inside && watch_table.ops->inside())
		return false;
	watched_enter();
	page = watched_find(touch->at);
	pauses = page && atomic_load(&page->state) == WATCHED_PROTECTED && !byte_watch_on(touch) && takes_pause(page, touch);
	watched_gave();
	watched_leave();
	if (!pauses)
		return false;
	selector = calls_open();
	watch_table.ops->paused();
	calls_trap(selector);
	return true;
}

/* The page is given back. True: it is protected again behind this access, of which breakpoints tell then, as the kind of a stepped
 * one is known. */
static bool page_given(struct watched_page *page, const struct touch *touch, ucontext_t *interrupted, bool guarded)
{
	unsigned char selector = calls_open();
	bool on = false, made = false, steps = false;

	if (guarded || (watch_table.ops->inside && watch_table.ops->inside()))
		watch_count(&watch_table.counts.neighbours);
	else
		on = tell_of_access(page, touch, interrupted);
	if (byte_watch_on(touch)) {
		steps = page_step(page, touch, interrupted, guarded ? DEVICE_COST : 1);
	} else if (is_beside(page, touch, guarded)) {
		made = touch->length > 1 && page_step_string(page, interrupted);
		steps = !made && page_step(page, touch, interrupted, guarded ? DEVICE_COST : 1);
	}
	if (made || (on && !steps))
		tell_made(page, !made);
	calls_trap(selector);
	return steps;
}

static bool page_fault(uintptr_t at, ucontext_t *interrupted, bool guarded)
{
	struct touch touch = touch_of(at, interrupted);
	struct watched_page *page;
	exempt_mask mask = exempt_block();
	bool ours, steps;

	if (!guarded && fault_pauses(&touch)) {
		exempt_unblock(mask);
		return true;
	}
	watched_enter();
	page = watched_find(at);
	ours = page && atomic_load(&page->state) != WATCHED_GONE;
	steps = ours && watched_give_back(page);
	watched_gave();
	steps = steps && page_given(page, &touch, interrupted, guarded);
	watched_leave();
	if (!steps) /* else the handler's return does it, and a handler of the program's would fault in between */
		exempt_unblock(mask);
	return ours || was_watched();
}

/* The kernel could not enter the handler of a trapped call, since the stack is memory that was watched while another ran, as
 * those of coroutines. The call is made again. True: that was it. */
static bool stack_fault(ucontext_t *interrupted)
{
	greg_t *registers = interrupted->uc_mcontext.gregs;
	uintptr_t stack = (uintptr_t)registers[REG_RSP];
	exempt_mask mask = exempt_block();
	unsigned char instruction[2];
	bool lifted = false;

	watched_enter();
	for (uintptr_t i = 0; i < FRAME_REACH; i += WATCHED_PAGE) {
		struct watched_page *page = watched_find(stack - i);

		lifted = (page && watched_give_back(page)) || lifted;
	}
	watched_gave();
	watched_leave();
	exempt_unblock(mask);
	if (lifted && exempt_peek(instruction, (void *)(registers[REG_RIP] - 2), 2) && instruction[0] == 0x0f &&
	    instruction[1] == 5)
		registers[REG_RIP] -= 2; /* syscall */
	return lifted;
}

bool watch_fault(const siginfo_t *info, void *context, bool guarded)
{
	ucontext_t *interrupted = context;
	greg_t *at = &interrupted->uc_mcontext.gregs[REG_RIP];
	uintptr_t landing;

	if (info->si_code == SI_KERNEL && info->si_signo == SIGSEGV && watched_thread_self() && stack_fault(interrupted))
		return true;
	if (info->si_code <= 0) /* it was sent */
		return false;
	if (info->si_signo == SIGSEGV && info->si_code == SEGV_ACCERR && page_fault((uintptr_t)info->si_addr, interrupted, guarded))
		return true;
	if (unwinding)
		siglongjmp(*unwinding, 1);
	landing = exempt_peek_landing((uintptr_t)*at);
	if (landing)
		*at = (greg_t)landing;
	else
		page_step_cancel(interrupted);
	return landing;
}
