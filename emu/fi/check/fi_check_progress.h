/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_progress.h - do the program's threads make progress while one of them repeats a post, and after a peer's access? Any
 * thread; no locks. */
#ifndef EMU_FI_CHECK_PROGRESS_H
#define EMU_FI_CHECK_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CHECK_RETRIES = 10000, /* so many -FI_EAGAIN in a row, without a call that makes progress, are reported */
	CHECK_IDLE_MS = 1000,  /* a thread that polls calls more often, on a busy machine too */
};

/* Around each call that makes progress: reads of queues and counters, waiting. */
void check_progress_begin(void);
void check_progress_end(void);
/* The program reads a counter; has it ever? Then it may know by that what a queue would tell. */
void check_progress_counted(void);
bool check_progress_counts(void);
/* A thread has got -FI_EAGAIN for a post to this object (`again`), or another answer. True, once a series: so often in a row that
 * it is to be reported. */
bool check_progress_missing(const void *object, bool again);
/* This moment, for the next. 0: a thread is in a call that makes progress, or was within CHECK_IDLE_MS. */
uint64_t check_progress_mark(void);
/* Was that a moment of no progress, and has no thread made any since? */
bool check_progress_none_since(uint64_t mark);

#endif
