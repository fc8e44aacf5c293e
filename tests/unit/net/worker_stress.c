/* SPDX-License-Identifier: BSD-2-Clause */
/* worker_stress.c - many threads that bring jobs to the worker and take them back, for tsan to watch. A plain program,
 * as Criterion does not go with tsan. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/net/os/worker.h"

enum { THREADS = 4, ROUNDS = 20000 };

struct counted {
	struct worker_job job; /* first */
	unsigned long ran;     /* guarded by the job's being the worker's */
	atomic_bool done;
};

static unsigned long total; /* the worker's own */
static atomic_ulong taken_back;

static void check(int good, const char *what)
{
	if (good)
		return;
	printf("not ok worker_churn %s\n", what);
	exit(1);
}

static int count_it(struct worker_job *job)
{
	((struct counted *)job)->ran++;
	total++;
	return 0;
}

static void told(struct worker_job *job, int result)
{
	check(result == 0, "a job was cancelled");
	atomic_store(&((struct counted *)job)->done, true);
}

static void *churn(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct counted one = { .job = { .run = count_it, .done = told } };

		worker_submit(&one.job);
		if (rand_r(&seed) % 2)
			sched_yield();
		if (rand_r(&seed) % 4 == 0)
			while (!atomic_load(&one.done))
				sched_yield();
		if (worker_cancel(&one.job))
			atomic_fetch_add(&taken_back, 1);
		else
			check(one.ran == 1, "a job did not run once");
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	check(worker_start() == 0, "the worker does not start");
	for (size_t i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0, "no thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	worker_stop(0);
	check(total + atomic_load(&taken_back) == (unsigned long)THREADS * ROUNDS, "a job was lost");
	printf("ok worker_churn\n");
	return 0;
}
