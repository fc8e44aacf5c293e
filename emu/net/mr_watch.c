/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_watch.c - a client of the kernel's notices of memory (uffd.h), for regions. */
#include "emu/net/mr_watch.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "emu/net/uffd.h"
#include "emu/nic/mr_pages.h"
#include "emu/nic/pagemap.h"

static struct spans watched;	/* guarded by uffd_lock() */

struct change {
	uint64_t addr, length;
};

static struct mr_pages *pages_of(struct span *span)
{
	return (struct mr_pages *)((char *)span - offsetof(struct mr_pages, span));
}

static int forget(struct span *span, void *arg)
{
	const struct change *change = arg;

	mr_pages_forget(pages_of(span), change->addr, change->length);
	return 0;
}

static int touches(struct span *span, void *arg)
{
	const struct change *range = arg;

	return mr_pages_touch(pages_of(span), range->addr, range->length);
}

static int find(uint64_t addr, uint64_t length, int (*see)(struct span *span, void *arg))
{
	struct change range = { addr, length };

	return spans_find(&watched, addr >> PAGE_SHIFT, (addr + (length - 1)) >> PAGE_SHIFT, see, &range);
}

static void changed(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	(void)client;
	find(addr, length, forget);
}

static bool holds(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	(void)client;
	return find(addr, length, touches);
}

static struct uffd_client client = { .changed = changed, .holds = holds };

/* What no other table holds is watched no longer. */
static void end(struct mr_pages *pages)
{
	uffd_lock();
	spans_remove(&watched, &pages->span);
	for (size_t i = 0; i < pages->runs; i++)
		if (pages->watched & 1u << i)
			uffd_unwatch(pages->run[i].first << PAGE_SHIFT, pages->run[i].count << PAGE_SHIFT);
	uffd_unlock();
}

static const struct mr_pages_watch watch = { .lock = uffd_lock, .unlock = uffd_unlock, .end = end };

static const char *why_not;	/* constant after once */

static void start_once(void)
{
	if (!uffd_start(&why_not))
		uffd_add(&client);
}

static_assert(LIMIT_IOV <= 8, "a bit a run");

const char *mr_watch(struct mr_pages *pages, const struct iovec *segments, size_t count)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t ticket;

	pthread_once(&once, start_once);
	if (why_not)
		return why_not;
	uffd_lock();
	spans_add(&watched, &pages->span);
	pages->watch = &watch;
	uffd_unlock();
	for (size_t i = 0; i < count; i++)	/* where nothing is mapped there is nothing to watch, and nothing to know */
		if (!uffd_watch((uintptr_t)segments[i].iov_base, segments[i].iov_len, &ticket))
			pages->watched |= (uint8_t)(1u << i);
	return NULL;
}
