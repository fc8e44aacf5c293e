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
#include "emu/process/races/watch_fault.h"
#include "emu/process/races/watched_pages.h"
#include "emu/process/races/watched_threads.h"

enum {
	RANGE_PAGES = 256 /* of a range; of a longer one, its first and its last pages */
};

struct watch_table watch_table;
static uint16_t free_watches GUARDED_BY(watched_lock); /* 0: none */
static atomic_bool started, ended_told;

/* --- the start and the end --- */

static void reset(void) UNCHECKED
{
	watched_reset();
	for (unsigned int i = 1; i < WATCHES; i++)
		watch_table.watch[i] = (struct page_watch){ .next = (uint16_t)(i + 1 < WATCHES ? i + 1 : 0) };
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
	atomic_store(&watch_table.counts.neighbours, 0);
}

const char *page_watch_start(const struct page_watch_ops *with)
{
	static const struct guard_kernel kernel = { .begin = page_watch_lift, .end = page_watch_lifted };
	const char *why;

	if (tsan_is_there())
		return "the program runs under the thread sanitizer";
	if (!cancels_any_call())
		return "this C library ends a thread in a system call only where it has made the call itself (pthread_cancel)";
	if (system_calls_gave_way())
		return "another library of emu's watches in this process";
	if (atomic_load(&started))
		return NULL;
	if (!watched_threads_possible())
		return "this kernel cannot trap system calls (PR_SET_SYSCALL_USER_DISPATCH)";
	reset();
	watch_table.ops = with;
	memory_map_start();
	if (!system_calls_start(with->heard))
		return "this kernel does not let the handler of trapped system calls be put in place";
	page_steps_start(watch_fault_at_breakpoint, watch_fault_stepped);
	guard_ask_first(watch_fault);
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

/* They wait for any access, and would have the page lifted before one of others is watched. */
static bool pauses_alone(const struct watched_page *page) REQUIRES(watched_lock)
{
	for (uint16_t n = atomic_load(&page->nodes); n; n = atomic_load(&watched.node[n].next))
		if (watch_table.watch[watched.node[n].watch].kind != PAGE_WATCH_PAUSES)
			return false;
	return true;
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
		return &watch_table.counts.busy;
	mapping = memory_map_find(at);
	if (!mapping || !mapping->watchable || (page && atomic_load(&page->state) == WATCHED_GONE))
		return &watch_table.counts.memory;
	if (page && watch->kind != PAGE_WATCH_PAUSES && pauses_alone(page))
		atomic_store(&page->spent, 0);
	node = watched_add(at, mapping->protection, (uint16_t)(watch - watch_table.watch));
	if (!node)
		return &watch_table.counts.full;
	node->more = watch->first;
	watch->first = (uint16_t)(node - watched.node);
	exempt_fence();
	use = watched_threads_use(at, mapping->start, mapping->end);
	if (use != WATCHED_UNUSED)
		return use == WATCHED_STACK ? &watch_table.counts.memory : &watch_table.counts.busy;
	if (!page)
		run_add(run, at);
	else if (atomic_load(&page->state) == WATCHED_LIFTED && page_step_left(page))
		watched_protect(at, WATCHED_PAGE, page->now == run->now ? run->now : PROT_NONE), run->any = true;
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
	struct page_watch *watch = &watch_table.watch[free_watches];

	if (!free_watches)
		return NULL;
	free_watches = watch->next;
	watch->used = true;
	watch->kind = kind;
	watch->arg = arg;
	watch->first = 0;
	watch->count = 0;
	atomic_store(&watch->maker, 0);
	for (size_t i = 0; i < count_of && i < WATCH_RANGES; i++)
		watch->range[watch->count++] = iov[i];
	atomic_store(&watch->told, false);
	return watch;
}

static void watch_free(struct page_watch *watch) REQUIRES(watched_lock)
{
	if (byte_watch_end((uint16_t)(watch - watch_table.watch)))
		watched_wait_for_handlers();
	watch->used = false;
	watched_remove(watch->first);
	watch->next = free_watches;
	free_watches = (uint16_t)(watch - watch_table.watch);
}

/* Of a stack, say, or of a page that is lifted for its neighbours; memory that the program cannot write to will fault by itself. */
static bool watch_bytes(const struct page_watch *watch) REQUIRES(watched_lock)
{
	const struct memory_mapping *mapping = watch->count ? memory_map_find((uintptr_t)watch->range[0].iov_base) : NULL;

	return mapping && mapping->protection == (PROT_READ | PROT_WRITE) && page_steps_stand() &&
	       byte_watch_begin((uint16_t)(watch - watch_table.watch), &watch->range[0], watch->kind == PAGE_WATCH_STORES,
				watch->kind == PAGE_WATCH_BYTES);
}

static struct page_watch *watch_try(const struct iovec *iov, size_t count_of, enum page_watch_kind kind, void *arg,
				    atomic_uint_fast64_t **why) REQUIRES(watched_lock)
{
	struct page_run run = { .now = kind == PAGE_WATCH_STORES ? PROT_READ : PROT_NONE };
	struct page_watch *watch;

	*why = &watch_table.counts.threads;
	if (atomic_load(&system_calls_forbid) || !watched_threads_trap())
		return NULL;
	*why = &watch_table.counts.handler;
	if (system_calls_handlers_changed())
		return NULL;
	*why = &watch_table.counts.full;
	watch = watch_new(iov, count_of, kind, arg);
	if (!watch)
		return NULL;
	*why = &watch_table.counts.busy; /* its pages are lifted as long as others watch them */
	for (uint8_t i = 0; i < watch->count && kind != PAGE_WATCH_BYTES; i++)
		range_add(watch, &watch->range[i], &run, why);
	run_protect(&run);
	if (run.any)
		return watch;
	if ((kind == PAGE_WATCH_BYTES || (kind != PAGE_WATCH_PAUSES && *why == &watch_table.counts.memory)) && watch_bytes(watch))
		return watch;
	watch_free(watch);
	return NULL;
}

bool page_watch_ready(void)
{
	exempt_mask mask;
	bool ready;

	if (!atomic_load(&started) || atomic_load(&system_calls_ended))
		return false;
	mask = watched_take();
	ready = watched_threads_trap();
	watched_let_go(mask);
	return ready;
}

struct page_watch *page_watch_begin(const struct iovec *iov, size_t count_of, enum page_watch_kind kind, void *arg)
{
	struct page_watch *watch;
	atomic_uint_fast64_t *why;
	exempt_mask mask;

	if (!atomic_load(&started) || atomic_load(&system_calls_ended)) {
		watch_count(&watch_table.counts.off);
		return NULL;
	}
	if (!system_calls_handlers_stand()) {
		watch_count(&watch_table.counts.handler);
		return NULL;
	}
	mask = watched_take();
	watch = watch_try(iov, count_of, kind, arg, &why);
	watched_let_go(mask);
	if (watch || kind != PAGE_WATCH_PAUSES)
		watch_count(watch ? &watch_table.counts.watches : why);
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

bool page_watch_stands(const struct page_watch *watch)
{
	exempt_mask mask = watched_take();
	bool stands = watch->used && watch->first;

	for (uint16_t n = watch->first; n && stands; n = watched.node[n].more)
		stands = atomic_load(&watched.page[watched.node[n].page].state) == WATCHED_PROTECTED;
	watched_let_go(mask);
	return stands;
}

static bool range_is_worn(const struct page_watch *watch, const struct iovec *range) REQUIRES(watched_lock)
{
	for (uint16_t n = watch->first; n; n = watched.node[n].more) {
		const struct watched_page *page = &watched.page[watched.node[n].page];
		uintptr_t at = atomic_load(&page->at), first = (uintptr_t)range->iov_base;

		if (!page_step_left(page) && (at - first < range->iov_len || first - at < WATCHED_PAGE))
			return true;
	}
	return false;
}

size_t page_watch_worn(const struct page_watch *watch, uintptr_t starts[WATCH_RANGES])
{
	exempt_mask mask = watched_take();
	size_t count = 0;

	for (uint8_t i = 0; watch->used && i < watch->count; i++)
		if (range_is_worn(watch, &watch->range[i]))
			starts[count++] = (uintptr_t)watch->range[i].iov_base;
	watched_let_go(mask);
	return count;
}

void page_watch_renew(void)
{
	exempt_mask mask = watched_take();

	byte_watch_renew();
	watched_let_go(mask);
}

uint64_t page_watch_renewals(void)
{
	return byte_watch_renewals();
}

uint64_t page_watch_lifted_so_far(uintptr_t at)
{
	exempt_mask mask = watched_take();
	const struct watched_page *page = watched_find(at);
	uint64_t lifts = page ? atomic_load(&page->lifts) : 0;

	watched_let_go(mask);
	return lifts;
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
		.watches = watch_table.counts.watches,
		.accesses = watch_table.counts.accesses,
		.neighbours = watch_table.counts.neighbours,
		.lifted = system_calls_lifted,
		.traps = system_calls_traps,
		.refused_off = watch_table.counts.off,
		.refused_threads = watch_table.counts.threads,
		.refused_full = watch_table.counts.full,
		.refused_memory = watch_table.counts.memory,
		.refused_busy = watch_table.counts.busy,
		.refused_handler = watch_table.counts.handler,
	};
}
