/* SPDX-License-Identifier: BSD-2-Clause */
/* wait_cond.c - a mutex and a condition variable that a program sleeps on itself. */
#include "emu/net/wait/wait.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/net/os/worker.h"
#include "emu/net/thread/net.h"

struct wait_cond {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct worker_job job;
	atomic_uint wanted; /* wake-ups left to the worker; while it is not 0, the job is the worker's */
	unsigned int begun; /* of them, those that the job's run is for; the worker's */
	pid_t owner;
};

static struct wait_cond *cond_of(struct worker_job *job)
{
	return (struct wait_cond *)((char *)job - offsetof(struct wait_cond, job));
}

static int wait_cond_job_run(struct worker_job *job)
{
	struct wait_cond *cond = cond_of(job);

	cond->begun = atomic_load(&cond->wanted);
	pthread_mutex_lock(&cond->mutex);
	pthread_cond_broadcast(&cond->cond);
	pthread_mutex_unlock(&cond->mutex);
	return 0;
}

/* A wake-up that came after wait_cond_job_run() had begun may have missed its broadcast. At the end of the process no thread is
 * woken any more. */
static void wait_cond_job_done(struct worker_job *job, int result)
{
	struct wait_cond *cond = cond_of(job);

	if (result)
		atomic_store(&cond->wanted, 0);
	else if (atomic_fetch_sub(&cond->wanted, cond->begun) != cond->begun)
		worker_submit_now(job);
}

int wait_cond_open(struct wait_cond **out)
{
	struct wait_cond *cond;
	pthread_mutexattr_t attr;
	int err = net_hold(); /* a queue of events may have one without a NIC, and the worker ends with the last user */

	if (err)
		return err;
	err = worker_start();
	cond = err ? NULL : calloc(1, sizeof(*cond));
	if (!cond) {
		net_end();
		return err ? err : -ENOMEM;
	}
	cond->owner = getpid();
	cond->job.run = wait_cond_job_run;
	cond->job.done = wait_cond_job_done;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&cond->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_cond_init(&cond->cond, NULL);
	*out = cond;
	return 0;
}

void wait_cond_close(struct wait_cond *cond)
{
	while (!worker_cancel(&cond->job) && atomic_load(&cond->wanted))
		;
	pthread_cond_destroy(&cond->cond);
	pthread_mutex_destroy(&cond->mutex);
	if (cond->owner == getpid())
		net_end();
	free(cond);
}

pthread_mutex_t *wait_cond_mutex(struct wait_cond *cond)
{
	return &cond->mutex;
}

pthread_cond_t *wait_cond_cond(struct wait_cond *cond)
{
	return &cond->cond;
}

void wait_cond_wake(struct wait_cond *cond)
{
	if (!pthread_mutex_trylock(&cond->mutex)) {
		pthread_cond_broadcast(&cond->cond);
		pthread_mutex_unlock(&cond->mutex);
	} else if (!atomic_fetch_add(&cond->wanted, 1)) {
		worker_submit_now(&cond->job);
	}
}
