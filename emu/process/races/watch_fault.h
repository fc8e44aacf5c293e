/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_fault.h - faults on watched pages, and breakpoints of watched bytes: what they tell, and how the thread goes on. */
#ifndef EMU_PROCESS_WATCH_FAULT_H
#define EMU_PROCESS_WATCH_FAULT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "emu/process/races/page_watch.h"
#include "emu/process/races/watched_threads.h"

enum { WATCHES = 4096 };

struct page_watch {
	atomic_bool told;
	atomic_int maker; /* the thread that makes the access of which accessed() said true; 0: none */
	bool used;
	enum page_watch_kind kind;
	uint16_t first; /* of its nodes */
	uint16_t next;  /* of the free ones */
	uint8_t count;
	struct iovec range[WATCH_RANGES];
	void *arg;
};

/* Static, as watched_pages.h says. */
struct watch_table {
	struct page_watch watch[WATCHES];
	const struct page_watch_ops *ops; /* NULL: not started */
	struct {                          /* relaxed */
		atomic_uint_fast64_t watches, accesses, neighbours, off, threads, full, memory, busy, handler;
	} counts;
};

extern struct watch_table watch_table;

static inline void watch_count(atomic_uint_fast64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* In the handler of SIGSEGV and SIGBUS, first of all (guard_first). True: the thread goes on. */
bool watch_fault(const siginfo_t *info, void *context, bool guarded);
/* In the handler of a trapped call, which has loaded or stored these bytes. */
void watch_fault_by_call(const struct touch *touch, ucontext_t *interrupted);
/* For page_steps_start(). */
void watch_fault_at_breakpoint(const siginfo_t *info, ucontext_t *interrupted);
void watch_fault_stepped(const struct touch *touch, ucontext_t *interrupted);

#endif
