/* SPDX-License-Identifier: BSD-2-Clause */
/* page_watch_none.c - processors for which the kernel does not trap system calls: nothing is watched. */
#include "emu/process/races/page_watch.h"

#include <stdatomic.h>

static atomic_uint_fast64_t refused;

const char *page_watch_start(const struct page_watch_ops *ops)
{
	(void)ops;
	return "the kernel traps system calls on x86-64 alone";
}

const char *page_watch_ended_why(void)
{
	return NULL;
}

void page_watch_exempt(void) {}

bool page_watch_ready(void)
{
	return false;
}

struct page_watch *page_watch_begin(const struct iovec *iov, size_t count, enum page_watch_kind kind, void *arg)
{
	(void)iov, (void)count, (void)kind, (void)arg;
	atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
	return NULL;
}

void page_watch_end(struct page_watch *watch)
{
	(void)watch;
}

bool page_watch_stands(const struct page_watch *watch)
{
	(void)watch;
	return false;
}

size_t page_watch_worn(const struct page_watch *watch, uintptr_t starts[WATCH_RANGES])
{
	(void)watch, (void)starts;
	return 0;
}

void page_watch_renew(void) {}

uint64_t page_watch_renewals(void)
{
	return 0;
}

uint64_t page_watch_lifted_so_far(uintptr_t at)
{
	(void)at;
	return 0;
}

void page_watch_lift(const struct iovec *iov, size_t count)
{
	(void)iov, (void)count;
}

void page_watch_lifted(void) {}

void page_watch_forked(void) {}

void page_watch_count(struct page_watch_counts *counts)
{
	*counts = (struct page_watch_counts){ .refused_off = refused };
}
