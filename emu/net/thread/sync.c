/* SPDX-License-Identifier: BSD-2-Clause */
/* sync.c - flushes on the worker thread. One job runs all flushes that have gathered. So commits, of which there may be many,
 * occupy no more of the worker's queue than any other job. */
#include "emu/net/thread/net_internal.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/net/os/worker.h"
#include "emu/net/thread/net.h"
#include "emu/nic/base/mutex.h"

static int sync_job_run(struct worker_job *job);
static void sync_job_done(struct worker_job *job, int result);

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static struct {
	struct flush *first, **end;
	bool submitted; /* the job is the worker's */
} gathered GUARDED_BY(lock) = { .end = &gathered.first };
static struct worker_job flushing = { .run = sync_job_run, .done = sync_job_done };

/* Whole pages. A range that was unmapped meanwhile gives -ENOMEM; nobody waits for that result any more. */
static int flush_run(const struct iovec *run_bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)run_bytes->iov_base & ~(page - 1);

	return msync((void *)begin, (uintptr_t)run_bytes->iov_base + run_bytes->iov_len - begin, MS_SYNC) ? -errno : 0;
}

static void flush_all(struct flush *flush)
{
	flush->result = 0;
	if (atomic_load_explicit(&flush->unwanted, memory_order_relaxed))
		return;
	for (uint8_t i = 0; i < flush->count && !flush->result; i++)
		flush->result = flush_run(&flush->run[i]);
}

static int sync_job_run(struct worker_job *job)
{
	struct flush *flush, *next;

	(void)job;
	mutex_lock(&lock);
	flush = gathered.first;
	gathered.first = NULL;
	gathered.end = &gathered.first;
	mutex_unlock(&lock);
	for (; flush; flush = next) {
		next = flush->next;
		flush_all(flush);
		nic_flushed(net_nic(), flush);
	}
	return 0;
}

/* Cancelled (the process ends): the flushes that are left stay undone, and their peers learn that this process is gone. */
static void sync_job_done(struct worker_job *job, int result)
{
	bool more;

	mutex_lock(&lock);
	more = gathered.first && !result;
	gathered.submitted = more;
	mutex_unlock(&lock);
	if (more)
		worker_submit_now(job);
}

static void sync_queue_flush(void *arg, struct flush *flush)
{
	bool submit;

	(void)arg;
	mutex_lock(&lock);
	flush->next = NULL;
	*gathered.end = flush;
	gathered.end = &flush->next;
	submit = !gathered.submitted;
	gathered.submitted = true;
	mutex_unlock(&lock);
	if (submit)
		worker_submit_now(&flushing);
}

void sync_forked(void)
{
	mutex_forked(&lock);
	gathered.first = NULL;
	gathered.end = &gathered.first;
	gathered.submitted = false;
}

const struct flush_ops sync_ops = { .begin = sync_queue_flush };
