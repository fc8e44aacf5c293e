/* SPDX-License-Identifier: BSD-2-Clause */
/* computing.c - a target that computes on all cores while its memory is read. No thread leaves it a core, so the scheduler
 * decides when the thread that serves gets its turn. How much of the time that thread could have run and did not, the
 * kernel counts (schedstat); plain TCP is served by a thread that sleeps in recv(), in the same position. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "tools/perf/core/fabric.h"
#include "raw.h"

enum { CORES_MAX = 256 };

struct worker {
	const struct block *block;
	unsigned core;
	_Atomic long thread; /* its number, once it runs */
	pthread_t handle;
	uint64_t sum; /* of its work */
};

static uint64_t compute(const struct block *block)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; !atomic_load_explicit(&block->host->shared->computed, memory_order_acquire); i++)
		sum ^= pattern_word(block->seed, i);
	return sum;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	host_pin(worker->core);
	atomic_store(&worker->thread, syscall(SYS_gettid));
	worker->sum = compute(worker->block);
	return NULL;
}

static void *answer(void *arg)
{
	return (void *)(intptr_t)raw_blocking_serve(arg);
}

static bool computes(const struct worker *workers, unsigned count, long thread)
{
	bool found = thread == getpid();

	for (unsigned i = 0; i < count; i++)
		found |= atomic_load(&workers[i].thread) == thread;
	return found;
}

/* The time that all threads that do not compute have waited for a core since they began. */
static uint64_t waited_ns(const struct worker *workers, unsigned count)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	uint64_t sum = 0;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && !computes(workers, count, atol(entry->d_name)))
			sum += host_waited_ns(atol(entry->d_name));
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* The main thread computes on its own core, workers on all others. */
int computing_serve(struct block *block)
{
	static struct worker workers[CORES_MAX];
	unsigned count = host_cores() < CORES_MAX ? host_cores() : CORES_MAX;
	uint64_t since = now_ns(), waited;
	pthread_t server;
	void *rc = NULL;

	if (block->cand->raw && pthread_create(&server, NULL, answer, block))
		return -EAGAIN;
	for (unsigned i = 1; i < count; i++) {
		workers[i] = (struct worker){ .block = block, .core = block->core + i };
		if (pthread_create(&workers[i].handle, NULL, work, &workers[i]))
			return -EAGAIN;
		while (!atomic_load(&workers[i].thread))
			sched_yield();
	}
	waited = waited_ns(workers, count);
	workers[0].sum = compute(block);
	waited = waited_ns(workers, count) - waited;
	atomic_store(&block->host->shared->waited_ns, waited);
	atomic_store(&block->host->shared->served_ns, now_ns() - since);
	for (unsigned i = 1; i < count; i++)
		pthread_join(workers[i].handle, NULL);
	if (block->cand->raw)
		pthread_join(server, &rc);
	return block->cand->raw ? (int)(intptr_t)rc : window_serve(block);
}

int computing_end(struct block *block)
{
	struct patience patience = patience_for(HANG_GUARD_NS);

	atomic_store_explicit(&block->host->shared->computed, 1, memory_order_release);
	if (!block->cand->raw)
		return fabric_drain(block->fabric, HANG_GUARD_NS);
	/* The thread that serves must be there until it has been looked at. */
	while (!atomic_load_explicit(&block->host->shared->served_ns, memory_order_acquire))
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	return raw_blocking_end(block);
}
