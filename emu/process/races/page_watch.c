/* SPDX-License-Identifier: BSD-2-Clause */
/* page_watch.c - watches, and the faults on their pages.
 *
 * A page is entered into the table, then the calls under way are looked at, then it is protected; a call is noted, then it looks
 * at the table. So one of the two sees the other. */
#include "emu/process/races/page_watch.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "emu/net/os/spawn.h"
#include "emu/nic/base/tsan.h"
#include "emu/nic/memory/guard.h"
#include "emu/process/races/byte_watch.h"
#include "emu/process/races/memory_map.h"
#include "emu/process/races/page_step.h"
#include "emu/process/races/system_calls.h"
#include "emu/process/races/watched_pages.h"
#include "emu/process/races/watched_threads.h"

enum {
	WATCHES = 4096,
	RANGES = 8,          /* of a watch; the bytes of others are not watched */
	RANGE_PAGES = 256,   /* of a range; of a longer one, its first and its last pages */
	SMALL_STACK = 32768, /* of a signal handler: too small for the unwinder */
	FRAME_REACH = 65536, /* a signal's frame is smaller */
	DEVICE_COST = 16     /* of a step, as it copies long ranges, and by short steps */
};

struct page_watch {
	atomic_bool told;
	bool used;
	enum page_watch_kind kind;
	uint16_t first; /* of its nodes */
	uint16_t next;  /* of the free ones */
	uint8_t count;
	struct iovec range[RANGES];
	void *arg;
};

static struct page_watch watches[WATCHES];
static uint16_t free_watches GUARDED_BY(watched_lock); /* 0: none */
static const struct page_watch_ops *ops;               /* NULL: not started */
static atomic_bool started, ended_told;

/* Relaxed. */
static struct {
	atomic_uint_fast64_t watches, accesses, neighbours, off, threads, full, memory, busy, handler;
} counts;

static void count(atomic_uint_fast64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* --- the start and the end --- */

static void reset(void) UNCHECKED
{
	watched_reset();
	for (unsigned int i = 1; i < WATCHES; i++)
		watches[i] = (struct page_watch){ .next = (uint16_t)(i + 1 < WATCHES ? i + 1 : 0) };
	free_watches = 1;
}

static bool tsan_is_there(void)
{
#if TSAN_BUILD
	return true;
#else
	return __tsan_release;
#endif
}

/* Calls of a thread are made by the handler that traps them. From glibc 2.41 on a thread that waits in such a call would not be
 * cancelled: its signal looks whether the call is one of glibc's own, as musl's does. */
static bool cancels_any_call(void)
{
	static const char name[] = "glibc 2.";
	char version[64];
	size_t length = confstr(_CS_GNU_LIBC_VERSION, version, sizeof(version));

	return length && length <= sizeof(version) && !strncmp(version, name, strlen(name)) &&
	       strtoul(version + strlen(name), NULL, 10) < 41;
}

const char *page_watch_ended_why(void)
{
	const char *why = atomic_load(&system_calls_ended);

	return why && !atomic_exchange(&ended_told, true) ? why : NULL;
}

void page_watch_exempt(void)
{
	watched_thread_exempt();
}

void page_watch_forked(void)
{
	atomic_store(&started, false);
	atomic_store(&system_calls_forbid, 0);
	atomic_store(&system_calls_changing, 0);
	page_steps_forked();
	byte_watch_forked();
	reset();
	watched_threads_forked();
}

/* --- faults --- */

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

static bool watch_has(const struct page_watch *watch, uintptr_t at, bool is_store)
{
	if (watch->kind == PAGE_WATCH_STORES && !is_store)
		return false;
	for (uint8_t i = 0; i < watch->count; i++)
		if (at - (uintptr_t)watch->range[i].iov_base < watch->range[i].iov_len)
			return true;
	return false;
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

static void tell_of_access(const struct watched_page *page, uintptr_t at, const ucontext_t *interrupted)
{
	bool is_store = interrupted->uc_mcontext.gregs[REG_ERR] & 2, told = false;
	struct call_stack stack = { .count = 0 };
	unsigned char selector = calls_open();

	for (uint16_t n = atomic_load(&page->nodes); n; n = atomic_load(&watched.node[n].next)) {
		struct page_watch *watch = &watches[watched.node[n].watch];

		if (!watch_has(watch, at, is_store) || atomic_exchange(&watch->told, true))
			continue;
		if (!stack.count)
			take_stack(&stack, interrupted);
		count(&counts.accesses);
		ops->accessed(watch->arg, at, is_store, &stack);
		told = true;
	}
	if (!told)
		count(&counts.neighbours);
	calls_trap(selector);
}

/* A breakpoint tells it, behind the access (byte_watch.h). */
static void bytes_touched(const siginfo_t *info, ucontext_t *interrupted)
{
	exempt_mask mask = exempt_block();
	unsigned char selector = calls_open();
	struct byte_access access;
	struct call_stack stack;

	watched_enter();
	watched_gave();
	if (byte_watch_find(info, &access) && !guard_made(interrupted) && !(ops->inside && ops->inside()) &&
	    !atomic_exchange(&watches[access.watch].told, true)) {
		take_stack(&stack, interrupted);
		count(&counts.accesses);
		ops->accessed(watches[access.watch].arg, access.at, access.is_store, &stack);
	}
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

/* Does a watch on the page wait for an access to other bytes? */
static bool is_beside(const struct watched_page *page, uintptr_t at)
{
	for (uint16_t n = atomic_load(&page->nodes); n; n = atomic_load(&watched.node[n].next)) {
		const struct page_watch *watch = &watches[watched.node[n].watch];

		if (!atomic_load(&watch->told) && !watch_has(watch, at, true))
			return true;
	}
	return false;
}

static bool page_fault(uintptr_t at, ucontext_t *interrupted, bool guarded)
{
	struct watched_page *page;
	exempt_mask mask = exempt_block();
	bool ours, gave, steps = false;

	watched_enter();
	page = watched_find(at);
	ours = page && atomic_load(&page->state) != WATCHED_GONE;
	gave = ours && watched_give_back(page);
	watched_gave();
	if (gave) {
		bool inside = ops->inside && ops->inside();

		if (guarded || inside)
			count(&counts.neighbours);
		else
			tell_of_access(page, at, interrupted);
		if (!inside && is_beside(page, at))
			steps = page_step(page, interrupted, guarded ? DEVICE_COST : 1);
	}
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

static bool fault(const siginfo_t *info, void *context, bool guarded)
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

/* A fault before all others: the dynamic loader binds what the handlers call, as it can not where its own data is watched. */
static void rehearse(void)
{
	volatile unsigned char *page = mmap(NULL, WATCHED_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct watched_node *node;
	struct call_stack stack;
	sigjmp_buf land;
	exempt_mask mask;

	call_stack_take_interrupted(&stack, 0, true);
	if (!sigsetjmp(land, 0))
		siglongjmp(land, 1);
	if (page == MAP_FAILED || !system_calls_handlers_stand())
		return;
	mask = watched_take();
	node = watched_add((uintptr_t)page, PROT_READ | PROT_WRITE, 0);
	watched_protect((uintptr_t)page, WATCHED_PAGE, PROT_NONE);
	watched_let_go(mask);
	*page = 1;
	mask = watched_take();
	watched_remove((uint16_t)(node - watched.node));
	watched_let_go(mask);
	munmap((void *)page, WATCHED_PAGE);
	atomic_store(&counts.neighbours, 0);
}

const char *page_watch_start(const struct page_watch_ops *with)
{
	static const struct guard_kernel kernel = { .begin = page_watch_lift, .end = page_watch_lifted };
	const char *why;

	if (tsan_is_there())
		return "the program runs under the thread sanitizer";
	if (!cancels_any_call())
		return "this C library ends a thread in a system call only where it has made the call itself (pthread_cancel)";
	if (atomic_load(&started))
		return NULL;
	if (!watched_threads_possible())
		return "this kernel cannot trap system calls (PR_SET_SYSCALL_USER_DISPATCH)";
	reset();
	ops = with;
	memory_map_start();
	if (!system_calls_start())
		return "this kernel does not let the handler of trapped system calls be put in place";
	page_steps_start(bytes_touched);
	guard_ask_first(fault);
	guard_tell_kernel(&kernel);
	spawn_tell(page_watch_exempt);
	why = watched_threads_start();
	if (!why)
		rehearse();
	atomic_store(&started, !why);
	return why;
}

/* --- watches --- */

/* Pages that are protected by one call. */
struct page_run {
	uintptr_t at;
	size_t length;
	unsigned char now;
	bool any; /* page is protected */
};

static void run_protect(struct page_run *run) REQUIRES(watched_lock)
{
	if (run->length && watched_protect(run->at, run->length, run->now))
		run->any = true;
	run->length = 0;
}

static void run_add(struct page_run *run, uintptr_t page) REQUIRES(watched_lock)
{
	if (run->length && run->at + run->length != page)
		run_protect(run);
	if (!run->length)
		run->at = page;
	run->length += WATCHED_PAGE;
}

/* Why not; NULL: it is watched. */
static atomic_uint_fast64_t *page_add_watch(struct page_watch *watch, uintptr_t at, struct page_run *run) REQUIRES(watched_lock)
{
	struct watched_page *page = watched_find(at);
	const struct memory_mapping *mapping;
	struct watched_node *node;
	enum watched_use use;

	/* Before the look at the map, which a call marks as old before it ends. */
	if (atomic_load(&system_calls_changing) && watched_threads_use(at, at, at + WATCHED_PAGE) != WATCHED_UNUSED)
		return &counts.busy;
	mapping = memory_map_find(at);
	if (!mapping || !mapping->watchable || (page && atomic_load(&page->state) == WATCHED_GONE))
		return &counts.memory;
	node = watched_add(at, mapping->protection, (uint16_t)(watch - watches));
	if (!node)
		return &counts.full;
	node->more = watch->first;
	watch->first = (uint16_t)(node - watched.node);
	exempt_fence();
	use = watched_threads_use(at, mapping->start, mapping->end);
	if (use != WATCHED_UNUSED)
		return use == WATCHED_STACK ? &counts.memory : &counts.busy;
	if (!page)
		run_add(run, at);
	else if (atomic_load(&page->state) == WATCHED_PROTECTED && page->now != run->now)
		watched_protect(at, WATCHED_PAGE, PROT_NONE), run->any = true;
	else
		run->any = run->any || atomic_load(&page->state) == WATCHED_PROTECTED;
	return NULL;
}

static void range_add(struct page_watch *watch, const struct iovec *range, struct page_run *run, atomic_uint_fast64_t **why)
	REQUIRES(watched_lock)
{
	uintptr_t at = (uintptr_t)range->iov_base, first = at & ~(uintptr_t)(WATCHED_PAGE - 1);
	size_t pages;

	if (!range->iov_len || range->iov_len > UINTPTR_MAX - at)
		return;
	pages = (at + range->iov_len - 1 - first) / WATCHED_PAGE + 1;
	for (size_t i = 0; i < pages; i++) {
		atomic_uint_fast64_t * not ;

		if (pages > RANGE_PAGES && i == RANGE_PAGES / 2)
			i = pages - RANGE_PAGES / 2;
		not = page_add_watch(watch, first + i * WATCHED_PAGE, run);
		if (not )
			*why = not ;
	}
}

static struct page_watch *watch_new(const struct iovec *iov, size_t count_of, enum page_watch_kind kind, void *arg)
	REQUIRES(watched_lock)
{
	struct page_watch *watch = &watches[free_watches];

	if (!free_watches)
		return NULL;
	free_watches = watch->next;
	watch->used = true;
	watch->kind = kind;
	watch->arg = arg;
	watch->first = 0;
	watch->count = 0;
	for (size_t i = 0; i < count_of && i < RANGES; i++)
		watch->range[watch->count++] = iov[i];
	atomic_store(&watch->told, false);
	return watch;
}

static void watch_free(struct page_watch *watch) REQUIRES(watched_lock)
{
	if (byte_watch_end((uint16_t)(watch - watches)))
		watched_wait_for_handlers();
	watch->used = false;
	watched_remove(watch->first);
	watch->next = free_watches;
	free_watches = (uint16_t)(watch - watches);
}

/* Of a stack, say; memory that the program cannot write to will fault by itself. */
static bool watch_bytes(const struct page_watch *watch) REQUIRES(watched_lock)
{
	const struct memory_mapping *mapping = watch->count ? memory_map_find((uintptr_t)watch->range[0].iov_base) : NULL;

	return mapping && mapping->protection == (PROT_READ | PROT_WRITE) && page_steps_stand() &&
	       byte_watch_begin((uint16_t)(watch - watches), &watch->range[0], watch->kind == PAGE_WATCH_STORES);
}

static struct page_watch *watch_try(const struct iovec *iov, size_t count_of, enum page_watch_kind kind, void *arg,
				    atomic_uint_fast64_t **why) REQUIRES(watched_lock)
{
	struct page_run run = { .now = kind == PAGE_WATCH_ALL ? PROT_NONE : PROT_READ };
	struct page_watch *watch;

	*why = &counts.threads;
	if (atomic_load(&system_calls_forbid) || !watched_threads_trap())
		return NULL;
	*why = &counts.handler;
	if (system_calls_handlers_changed())
		return NULL;
	*why = &counts.full;
	watch = watch_new(iov, count_of, kind, arg);
	if (!watch)
		return NULL;
	*why = &counts.busy; /* its pages are lifted as long as others watch them */
	for (uint8_t i = 0; i < watch->count; i++)
		range_add(watch, &watch->range[i], &run, why);
	run_protect(&run);
	if (run.any)
		return watch;
	if (*why == &counts.memory && watch_bytes(watch))
		return watch;
	watch_free(watch);
	return NULL;
}

struct page_watch *page_watch_begin(const struct iovec *iov, size_t count_of, enum page_watch_kind kind, void *arg)
{
	struct page_watch *watch;
	atomic_uint_fast64_t *why;
	exempt_mask mask;

	if (!atomic_load(&started) || atomic_load(&system_calls_ended)) {
		count(&counts.off);
		return NULL;
	}
	if (!system_calls_handlers_stand()) {
		count(&counts.handler);
		return NULL;
	}
	mask = watched_take();
	watch = watch_try(iov, count_of, kind, arg, &why);
	watched_let_go(mask);
	count(watch ? &counts.watches : why);
	return watch;
}

void page_watch_end(struct page_watch *watch)
{
	exempt_mask mask;

	if (!watch)
		return;
	mask = watched_take();
	if (watch->used)
		watch_free(watch);
	watched_let_go(mask);
}

void page_watch_lift(const struct iovec *iov, size_t count_of)
{
	unsigned int lifted = 0;
	exempt_mask mask = watched_take();

	atomic_fetch_add(&system_calls_forbid, 1);
	for (size_t i = 0; i < count_of; i++)
		lifted += watched_lift((uintptr_t)iov[i].iov_base, iov[i].iov_len);
	watched_let_go(mask);
	atomic_fetch_add_explicit(&system_calls_lifted, lifted, memory_order_relaxed);
}

void page_watch_lifted(void)
{
	atomic_fetch_sub(&system_calls_forbid, 1);
}

void page_watch_count(struct page_watch_counts *to)
{
	*to = (struct page_watch_counts){
		.watches = counts.watches,
		.accesses = counts.accesses,
		.neighbours = counts.neighbours,
		.lifted = system_calls_lifted,
		.traps = system_calls_traps,
		.refused_off = counts.off,
		.refused_threads = counts.threads,
		.refused_full = counts.full,
		.refused_memory = counts.memory,
		.refused_busy = counts.busy,
		.refused_handler = counts.handler,
	};
}
