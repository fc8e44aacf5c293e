/* SPDX-License-Identifier: BSD-2-Clause */
/* explore.h - a small model checker: runs a few threads as coroutines, in every order of their steps.
 *
 * A schedule is a list of choices: which thread goes on, and how much of each thread's store buffer has become
 * visible. All lists are tried, depth first, with at most `preemptions` switches away from a thread that could have
 * gone on. Memory is x86's: a store waits in its thread's buffer, first in first out, until a fence, a locked
 * instruction or a sequentially consistent store of that thread, or until a choice makes it visible. */
#ifndef EMU_TESTS_EXPLORE_H
#define EMU_TESTS_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPLORE_THREADS = 4, EXPLORE_TRACE = 16384 };

struct model {
	int threads;
	void (*start[EXPLORE_THREADS])(void);
	void (*reset)(void);                /* before each run */
	const char *(*judge)(void);         /* after each run: NULL, or what is wrong */
	void (*switched)(int from, int to); /* exchanges what is thread-local; -1: the checker itself */
	void (*signal)(void);               /* NULL, or what may interrupt thread 0 at a step, once a run */
	int preemptions;
};

struct outcome {
	long runs;
	const char *violation;     /* NULL: none in any order */
	char trace[EXPLORE_TRACE]; /* the steps of the run that failed */
};

void explore(const struct model *model, struct outcome *outcome);

/* For the model's threads. */
void explore_step(const char *what); /* here another thread may go on */
int explore_choose(int count);       /* 0 to count - 1, each in some run */
int explore_self(void);
void explore_fail(const char *what); /* the run is wrong; it still goes on to its end */
/* Waits until ready() is true; a thread that waits for ever does not keep a run from ending. */
void explore_wait(const char *what, bool (*ready)(void *arg), void *arg);

uint64_t explore_load(const char *what, const volatile void *at, size_t size);
void explore_store(const char *what, volatile void *at, size_t size, uint64_t value); /* release */
void explore_fence(void);

#endif
