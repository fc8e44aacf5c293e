/* SPDX-License-Identifier: BSD-2-Clause */
/* remap.c - the list of watched pins. Each event walks it; it has at most LIMIT_PINNED. */
#include "emu/net/memory/uffd.h"

#include <stdint.h>
#include <string.h>

#include "emu/net/os/fork.h"
#include "emu/nic/base/mutex.h"

static void remap_mark_changed(struct uffd_client *client, uint64_t addr, uint64_t length) REQUIRES(uffd_mutex);
static bool remap_overlaps(struct uffd_client *client, uint64_t addr, uint64_t length) REQUIRES(uffd_mutex);

static struct mutex starting = MUTEX_INITIALIZER;
static bool started GUARDED_BY(starting);
static struct uffd_client watcher = { .changed = remap_mark_changed, .holds = remap_overlaps };
static struct remap *first GUARDED_BY(uffd_mutex);

/* Both are whole pages, or parts of them; neither wraps. */
static bool meets(const struct remap *remap, uint64_t addr, uint64_t length)
{
	for (size_t i = 0; i < remap->count; i++) {
		uint64_t base = (uintptr_t)remap->run[i].iov_base, size = remap->run[i].iov_len;

		if (addr >= base ? addr - base < size : base - addr < length && size)
			return true;
	}
	return false;
}

static void remap_mark_changed(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	(void)client;
	for (struct remap *remap = first; remap; remap = remap->next)
		if (meets(remap, addr, length))
			remap->changed = true;
}

static bool remap_overlaps(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	const struct remap *remap = first;

	(void)client;
	while (remap && !meets(remap, addr, length))
		remap = remap->next;
	return remap;
}

/* In a fork's child, which is one thread. */
static void remap_forked(void) UNCHECKED
{
	mutex_forked(&starting);
	started = false;
	first = NULL;
}

static struct fork_reset reset = { .in_child = remap_forked };

int remap_start(const char **why)
{
	int err = fork_register(&reset);

	if (err) {
		*why = "there is no memory for what a fork needs";
		return err;
	}
	mutex_lock(&starting);
	err = uffd_start(why);
	if (!started && !err) {
		uffd_add(&watcher);
		started = true;
	}
	mutex_unlock(&starting);
	return err;
}

/* Enters the list before the kernel watches: no change is missed in between. */
int remap_begin(struct remap *remap, const struct iovec *segments, size_t count)
{
	uint64_t ticket;
	int err = 0;

	memcpy(remap->run, segments, count * sizeof(*segments));
	remap->count = count;
	remap->watched = 0;
	remap->changed = false;
	uffd_lock();
	remap->at = &first;
	remap->next = first;
	if (remap->next)
		remap->next->at = &remap->next;
	first = remap;
	uffd_unlock();
	while (remap->watched < count && !err) {
		const struct iovec *segment = &segments[remap->watched];

		if (segment->iov_len)
			err = uffd_watch((uintptr_t)segment->iov_base, segment->iov_len, &ticket);
		remap->watched += !err;
	}
	return err;
}

void remap_end(struct remap *remap)
{
	uffd_lock();
	*remap->at = remap->next;
	if (remap->next)
		remap->next->at = remap->at;
	for (size_t i = 0; i < remap->watched; i++)
		uffd_unwatch((uintptr_t)remap->run[i].iov_base, remap->run[i].iov_len);
	uffd_unlock();
}

bool remap_changed(struct remap *remap)
{
	bool since;

	uffd_lock();
	since = remap->changed;
	remap->changed = false;
	uffd_unlock();
	return since;
}
