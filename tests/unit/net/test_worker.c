/* SPDX-License-Identifier: BSD-2-Clause */
/* test_worker.c - the worker thread: order, bound, taking jobs back, its end, its signals. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "emu/net/os/worker.h"
#include "emu/net/thread/net_internal.h"
#include "emu/nic/base/limits.h"

struct tried {
	struct worker_job job; /* first */
	int ran, result;       /* result: what done() was told; -1 before */
	sem_t done;
};

static sem_t begun, go; /* of the job that holds the worker up */
static atomic_int ran;  /* jobs so far */

static int note(struct worker_job *job)
{
	((struct tried *)job)->ran = ++ran;
	return 7;
}

static int hold(struct worker_job *job)
{
	sem_post(&begun);
	while (sem_wait(&go))
		;
	return note(job);
}

static void told(struct worker_job *job, int result)
{
	struct tried *tried = (struct tried *)job;

	tried->result = result;
	sem_post(&tried->done);
}

static void make(struct tried *tried, int (*run)(struct worker_job *))
{
	memset(tried, 0, sizeof(*tried));
	tried->job.run = run;
	tried->job.done = told;
	tried->result = -1;
	sem_init(&tried->done, 0, 0);
}

/* A worker that stands in the job `holder`. */
static void start_held(struct tried *holder)
{
	sem_init(&begun, 0, 0);
	sem_init(&go, 0, 0);
	make(holder, hold);
	cr_assert_eq(worker_start(), 0);
	worker_submit(&holder->job);
	sem_wait(&begun);
}

Test(worker, jobs_run_in_order)
{
	struct tried jobs[20];

	cr_assert_eq(worker_start(), 0);
	for (int i = 0; i < 20; i++) {
		make(&jobs[i], note);
		worker_submit(&jobs[i].job);
	}
	for (int i = 0; i < 20; i++) {
		sem_wait(&jobs[i].done);
		cr_assert_eq(jobs[i].ran, i + 1);
		cr_assert_eq(jobs[i].result, 7);
	}
}

Test(worker, a_queued_job_is_taken_back)
{
	struct tried holder, queued, last;

	start_held(&holder);
	make(&queued, note);
	make(&last, note);
	worker_submit(&queued.job);
	cr_assert(worker_cancel(&queued.job));
	worker_submit(&last.job);
	sem_post(&go);
	sem_wait(&last.done);
	cr_assert_eq(queued.ran, 0);
	cr_assert_eq(queued.result, -1);
	cr_assert_not(worker_cancel(&last.job), "it has run");
}

static void *cancel_it(void *job)
{
	cr_assert_not(worker_cancel(job), "it had begun");
	cr_assert_eq(((struct tried *)job)->result, 7, "done() has returned");
	return NULL;
}

Test(worker, a_job_that_runs_is_waited_for)
{
	struct tried holder;
	pthread_t thread;

	start_held(&holder);
	cr_assert_eq(pthread_create(&thread, NULL, cancel_it, &holder.job), 0);
	sem_post(&go);
	pthread_join(thread, NULL);
}

static atomic_int admitted;

static void *submit_more(void *job)
{
	worker_submit(job);
	atomic_store(&admitted, 1);
	return NULL;
}

Test(worker, a_full_queue_makes_the_submitter_wait)
{
	static struct tried jobs[LIMIT_JOBS], more, now;
	struct tried holder;
	pthread_t thread;

	start_held(&holder);
	for (int i = 0; i < LIMIT_JOBS; i++) {
		make(&jobs[i], note);
		worker_submit(&jobs[i].job);
	}
	make(&more, note);
	make(&now, note);
	cr_assert_eq(pthread_create(&thread, NULL, submit_more, &more.job), 0);
	worker_submit_now(&now.job); /* is beside the limit */
	for (int i = 0; i < 1000; i++)
		sched_yield();
	cr_assert_eq(atomic_load(&admitted), 0);
	sem_post(&go);
	pthread_join(thread, NULL);
	sem_wait(&more.done);
	cr_assert_eq(more.ran, LIMIT_JOBS + 3, "behind all others");
}

Test(worker, its_end_runs_what_is_queued)
{
	struct tried holder, queued, late;

	start_held(&holder);
	make(&queued, note);
	make(&late, note);
	worker_submit(&queued.job);
	sem_post(&go);
	worker_stop(UINT64_MAX);
	cr_assert_eq(queued.result, 7);
	worker_submit(&late.job);
	cr_assert_eq(late.result, -ECANCELED);
	cr_assert_eq(late.ran, 0);
	cr_assert_eq(worker_start(), -ENODEV);
}

Test(worker, it_may_be_started_again)
{
	struct tried holder, queued, late, next;

	worker_end();
	start_held(&holder);
	make(&queued, note);
	make(&late, note);
	make(&next, note);
	worker_submit(&queued.job);
	sem_post(&go);
	worker_end();
	cr_assert_eq(queued.result, 7, "what is queued is run");
	worker_submit(&late.job);
	cr_assert_eq(late.result, -ECANCELED, "there is no thread");
	cr_assert_eq(worker_start(), 0);
	worker_submit(&next.job);
	sem_wait(&next.done);
	cr_assert_eq(next.result, 7);
	worker_stop(UINT64_MAX);
	worker_end();
	cr_assert_eq(worker_start(), -ENODEV);
}

static void *stop_it(void *arg)
{
	worker_stop(0);
	return arg;
}

Test(worker, its_end_cancels_what_is_late)
{
	struct tried holder, queued;
	pthread_t thread;

	start_held(&holder);
	make(&queued, note);
	worker_submit(&queued.job);
	cr_assert_eq(pthread_create(&thread, NULL, stop_it, NULL), 0);
	while (worker_start() != -ENODEV) /* until it is stopping */
		sched_yield();
	sem_post(&go);
	pthread_join(thread, NULL);
	cr_assert_eq(holder.result, 7, "what has begun is finished");
	cr_assert_eq(queued.result, -ECANCELED);
	cr_assert_eq(queued.ran, 0);
}

static int read_mask(struct worker_job *job)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	((struct tried *)job)->ran = 1;
	return sigismember(&mask, SIGINT) && sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGSEGV);
}

Test(worker, signals_go_to_the_program)
{
	struct tried job;

	make(&job, read_mask);
	cr_assert_eq(worker_start(), 0);
	worker_submit(&job.job);
	sem_wait(&job.done);
	cr_assert_eq(job.result, 1);
}
