/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_watch.c - a client of the kernel's notices of memory (uffd.h), for regions. */
#include "emu/net/memory/uffd.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "emu/net/os/fork.h"
#include "emu/nic/memory/pagemap.h"
#include "emu/nic/regions/mr_pages.h"

static struct interval_tree watched GUARDED_BY(uffd_mutex);

struct change {
	uint64_t addr, length;
};

static struct mr_pages *mr_pages_of_span(struct interval *span)
{
	return (struct mr_pages *)((char *)span - offsetof(struct mr_pages, span));
}

static int mr_watch_forget(struct interval *span, void *arg)
{
	const struct change *change = arg;

	mr_pages_forget(mr_pages_of_span(span), change->addr, change->length);
	return 0;
}

static int touches(struct interval *span, void *arg)
{
	const struct change *range = arg;

	return mr_pages_touch(mr_pages_of_span(span), range->addr, range->length);
}

static int mr_watch_visit(uint64_t addr, uint64_t length, int (*see)(struct interval *span, void *arg)) REQUIRES(uffd_mutex)
{
	struct change range = { addr, length };

	return interval_tree_find(&watched, addr >> PAGE_SHIFT, (addr + (length - 1)) >> PAGE_SHIFT, see, &range);
}

static void mr_watch_changed(struct uffd_client *client, uint64_t addr, uint64_t length) REQUIRES(uffd_mutex)
{
	(void)client;
	mr_watch_visit(addr, length, mr_watch_forget);
}

static bool mr_watch_overlaps(struct uffd_client *client, uint64_t addr, uint64_t length) REQUIRES(uffd_mutex)
{
	(void)client;
	return mr_watch_visit(addr, length, touches);
}

static struct uffd_client client = { .changed = mr_watch_changed, .holds = mr_watch_overlaps };

/* Ends the watch on pages that no other table holds. */
static void mr_watch_end(struct mr_pages *pages)
{
	uffd_lock();
	interval_tree_remove(&watched, &pages->span);
	for (size_t i = 0; i < pages->runs; i++)
		if (pages->watched & 1u << i)
			uffd_unwatch(pages->run[i].first << PAGE_SHIFT, pages->run[i].count << PAGE_SHIFT);
	uffd_unlock();
}

static const struct mr_pages_watch watch = { .lock = uffd_lock, .unlock = uffd_unlock, .end = mr_watch_end };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *why_not; /* constant after once */

/* In a fork's child, which is one thread. */
static void start_over(void) UNCHECKED
{
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
	why_not = NULL;
	watched = (struct interval_tree){ 0 };
}

static struct fork_reset reset = { .in_child = start_over };

static void start_once(void)
{
	if (fork_register(&reset))
		why_not = "there is no memory for what a fork needs";
	else if (!uffd_start(&why_not))
		uffd_add(&client);
}

static_assert(LIMIT_IOV <= 8, "a bit a run");

const char *mr_watch(struct mr_pages *pages, const struct iovec *segments, size_t count)
{
	const char *why;
	uint64_t ticket;

	pthread_once(&once, start_once);
	if (why_not)
		return why_not;
	if (uffd_start(&why)) /* its thread may have ended since */
		return why;
	uffd_lock();
	interval_tree_add(&watched, &pages->span);
	pages->watch = &watch;
	uffd_unlock();
	for (size_t i = 0; i < count; i++) /* fails where nothing is mapped: then there is nothing to know either */
		if (!uffd_watch((uintptr_t)segments[i].iov_base, segments[i].iov_len, &ticket))
			pages->watched |= (uint8_t)(1u << i);
	return NULL;
}
