/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.c - the worker thread and its queue. A fork's child has neither until it starts its own. */
#include "emu/net/os/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "emu/net/os/fork.h"
#include "emu/net/os/monotonic.h"
#include "emu/net/os/spawn.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static struct {
	pthread_cond_t work, room, idle; /* a job came or the end; the queue is shorter; `current` changed */
	struct worker_job *first, **end;
	size_t count;
	struct worker_job *current; /* its run() or done() is running */
	pthread_t self;
	bool running, ending; /* ending: by worker_end() */
	bool stopping;        /* set once, never cleared */
	uint64_t end_ns;      /* stopping: no job is begun from then on */
} worker GUARDED_BY(lock) = {
	.work = PTHREAD_COND_INITIALIZER,
	.room = PTHREAD_COND_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER,
	.end = &worker.first,
};

static struct worker_job *take_first(void) REQUIRES(lock)
{
	struct worker_job *job = worker.first;

	worker.first = job->next;
	if (!worker.first)
		worker.end = &worker.first;
	worker.count--;
	pthread_cond_signal(&worker.room);
	return job;
}

/* The lock is released while the job runs. */
static void do_job(struct worker_job *job) REQUIRES(lock)
{
	bool late = worker.stopping && monotonic_ns() >= worker.end_ns;

	worker.current = job;
	mutex_unlock(&lock);
	job->done(job, late ? -ECANCELED : job->run(job));
	mutex_lock(&lock);
	worker.current = NULL;
	pthread_cond_broadcast(&worker.idle);
}

static void *worker_main(void *arg)
{
	mutex_lock(&lock);
	while (worker.first || !(worker.ending || worker.stopping)) {
		if (worker.first)
			do_job(take_first());
		else
			pthread_cond_wait(&worker.work, &lock.pthread);
	}
	worker.running = false;
	pthread_cond_broadcast(&worker.room);
	mutex_unlock(&lock);
	return arg;
}

static void worker_forked(void)
{
	mutex_forked(&lock);
	worker.work = worker.room = worker.idle = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	worker.first = worker.current = NULL;
	worker.end = &worker.first;
	worker.count = 0;
	worker.running = worker.ending = worker.stopping = false;
}

static struct fork_reset reset = { .in_child = worker_forked };

int worker_start(void)
{
	int err = fork_register(&reset);

	mutex_lock(&lock);
	if (worker.stopping) {
		err = -ENODEV;
	} else if (!err && !worker.running) {
		err = spawn(&worker.self, "emu-worker", worker_main, NULL);
		worker.running = !err;
	}
	mutex_unlock(&lock);
	return err;
}

/* `running` is false once no thread takes jobs any more. */
static void submit(struct worker_job *job) RELEASE(lock)
{
	bool taken = worker.running;

	if (taken) {
		job->next = NULL;
		*worker.end = job;
		worker.end = &job->next;
		worker.count++;
		pthread_cond_signal(&worker.work);
	}
	mutex_unlock(&lock);
	if (!taken)
		job->done(job, -ECANCELED);
}

void worker_submit(struct worker_job *job)
{
	int cancel_state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* a cancelled wait would keep the lock */
	mutex_lock(&lock);
	while (worker.running && worker.count >= LIMIT_JOBS)
		pthread_cond_wait(&worker.room, &lock.pthread);
	submit(job);
	pthread_setcancelstate(cancel_state, NULL);
}

void worker_submit_now(struct worker_job *job)
{
	mutex_lock(&lock);
	submit(job);
}

bool worker_cancel(struct worker_job *job)
{
	struct worker_job **at;
	int cancel_state;
	bool queued;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	mutex_lock(&lock);
	for (at = &worker.first; *at && *at != job; at = &(*at)->next)
		;
	queued = *at;
	if (queued) {
		*at = job->next;
		if (!*at)
			worker.end = at;
		worker.count--;
		pthread_cond_signal(&worker.room);
	}
	while (worker.current == job)
		pthread_cond_wait(&worker.idle, &lock.pthread);
	mutex_unlock(&lock);
	pthread_setcancelstate(cancel_state, NULL);
	return queued;
}

void worker_end(void)
{
	pthread_t self;
	bool join;

	mutex_lock(&lock);
	join = worker.running && !worker.stopping;
	self = worker.self;
	worker.ending = true;
	pthread_cond_signal(&worker.work);
	mutex_unlock(&lock);
	if (join)
		pthread_join(self, NULL);
	mutex_lock(&lock);
	worker.ending = false;
	mutex_unlock(&lock);
}

void worker_stop(uint64_t end_ns)
{
	pthread_t self;
	bool join;

	mutex_lock(&lock);
	join = worker.running && !worker.stopping;
	self = worker.self;
	worker.stopping = true;
	worker.end_ns = end_ns;
	pthread_cond_signal(&worker.work);
	mutex_unlock(&lock);
	if (join)
		pthread_join(self, NULL);
}
