/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.h - the process's one worker thread: runs jobs that may sleep, and so must run neither under the driver role
 * nor in the caller (populating memory, msync).
 *
 * Owner:  a job is its submitter's memory. From the submission until done() is called it is the worker's; done() may
 *         free it or submit it again.
 * Thread: any, except as noted below. Jobs run one at a time, in the order of their submission, on the worker,
 *         which holds no lock and no role meanwhile: run() and done() may take the driver role. */
#ifndef EMU_NET_WORKER_H
#define EMU_NET_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct worker_job {
	struct worker_job *next;
	int (*run)(struct worker_job *job);               /* may sleep; its result goes to done() */
	void (*done)(struct worker_job *job, int result); /* -ECANCELED: not run, the process ends */
};

/* Starts the thread if it does not run; call it before the first submission. 0, -ENODEV after worker_stop(), or
 * -errno. */
int worker_start(void);
/* Without the driver role, while nobody calls another function here: runs the jobs that are queued, and joins the thread. It may be
 * started again. */
void worker_end(void);
/* Waits while LIMIT_JOBS are queued: not with the driver role, nor from a job. */
void worker_submit(struct worker_job *job);
/* Never waits and ignores that limit: for jobs of which there is a fixed number. */
void worker_submit_now(struct worker_job *job);
/* Takes the job back: true if it had not begun, and then neither run() nor done() is called; else false, after both
 * have returned. Not with the driver role, nor from a job. */
bool worker_cancel(struct worker_job *job);
/* For the end of the process, without the driver role: queued jobs are begun until `end_ns` of CLOCK_MONOTONIC, then
 * cancelled; joins the thread. Jobs submitted later are cancelled at once. */
void worker_stop(uint64_t end_ns);

#endif
