/* SPDX-License-Identifier: BSD-2-Clause */
/* uffd_stress.c - threads that keep what they know of memory in tables, and unmap that memory, for tsan to watch: once
 * the call has returned that unmaps it, no table knows the memory, whatever the others evict and unwatch meanwhile. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emu/net/memory/uffd.h"
#include "emu/nic/regions/mr_cache.h"

enum { THREADS = 4, ROUNDS = 4000, PAGE = 4096, LENGTH = 2 * PAGE };

/* Two tables, as of two domains; small ones, so that regions are evicted all the time. */
struct table {
	struct uffd_client client; /* first */
	struct mr_cache *cache;
};

static struct table tables[2];

static void check(int good, const char *what)
{
	if (good)
		return;
	printf("not ok uffd_stress %s\n", what);
	exit(1);
}

static void changed(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	mr_cache_drop(((struct table *)client)->cache, addr, length);
}

static bool holds(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	return mr_cache_holds(((struct table *)client)->cache, addr, length);
}

static void forgot(void *arg, uint64_t addr, uint64_t length)
{
	(void)arg;
	uffd_unwatch(addr, length);
}

/* True if the table took it. */
static bool keep(struct table *table, uint64_t addr, uint64_t length)
{
	uint64_t ticket;
	bool kept;

	if (uffd_watch(addr, length, &ticket))
		return false;
	uffd_lock();
	kept = uffd_unchanged(ticket) && mr_cache_add(table->cache, addr, length, true);
	if (!kept)
		uffd_unwatch(addr, length);
	uffd_unlock();
	return kept;
}

static bool knows(struct table *table, uint64_t addr, uint64_t length)
{
	bool known;

	uffd_lock();
	known = mr_cache_holds(table->cache, addr, length);
	uffd_unlock();
	return known;
}

/* Over what is there, if an address is given: another thread cannot have it meanwhile. */
static void *map(void *at)
{
	at = mmap(at, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
	check(at != MAP_FAILED, "no memory");
	return at;
}

static unsigned long kept_count[THREADS];

static void *churn(void *arg)
{
	size_t self = (size_t)arg;
	unsigned seed = (unsigned)self + 1;

	for (int i = 0; i < ROUNDS; i++) {
		void *at = map(NULL);
		uint64_t addr = (uintptr_t)at;

		for (int k = 0; k < 8; k++) /* in one page: what others evict must not end its watch */
			kept_count[self] += keep(&tables[rand_r(&seed) % 2], addr + (uint64_t)k * 300, 200);
		if (rand_r(&seed) % 2)
			map(at);
		else
			madvise(at, LENGTH, MADV_DONTNEED);
		check(!knows(&tables[0], addr, LENGTH) && !knows(&tables[1], addr, LENGTH), "unmapped memory is known");
		munmap(at, LENGTH);
	}
	return NULL;
}

int main(void)
{
	const struct mr_cache_attr attr = { .bytes_max = UINT64_MAX, .count_max = 5, .forgot = forgot };
	pthread_t threads[THREADS];
	unsigned long kept = 0;
	const char *why;

	if (uffd_start(&why)) {
		printf("skip uffd_stress %s\n", why);
		return 77;
	}
	for (int i = 0; i < 2; i++) {
		tables[i].client.changed = changed;
		tables[i].client.holds = holds;
		check(!mr_cache_open(&tables[i].cache, &attr), "no memory");
		uffd_add(&tables[i].client);
	}
	for (size_t i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, churn, (void *)i), "no thread");
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		kept += kept_count[i];
	}
	check(kept > 0, "no table took anything");
	for (int i = 0; i < 2; i++) {
		uffd_remove(&tables[i].client);
		mr_cache_close(tables[i].cache);
	}
	printf("ok uffd_stress\n");
	return 0;
}
