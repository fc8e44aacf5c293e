/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_bytes.c - what is watched on stacks, whose pages are never protected (byte_watch.h). */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/nic/memory/guard.h"
#include "tests/unit/races/watch_case.h"

enum { SKIPPED = 77, TRIES = 100000, LENGTH = 24 };

/* Skipped where the kernel sets no breakpoints, as in containers that forbid perf_event_open(). */
static struct page_watch *watch_stack(volatile void *at, size_t length, enum page_watch_kind kind, struct told *told)
{
	struct page_watch *watch = NULL;

	for (int i = 0; i < TRIES && !watch; i++) {
		watch = case_try((void *)at, length, kind, told);
		if (!watch)
			sched_yield();
	}
	if (!watch)
		exit(SKIPPED);
	return watch;
}

static void on_a_stack(void)
{
	volatile int beside[2] = { 1, 2 }, value = 3, later = 4;
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = watch_stack(&value, sizeof(value), PAGE_WATCH_ALL, &told);
	beside[1] = beside[0] + later;
	later = beside[1];
	NEED(!told.times);
	beside[0] = value;
	NEED(told.times == 1 && told.at == (uintptr_t)&value && !told.is_store && told.stack.count);
	value = 7;
	NEED(told.times == 1);
	page_watch_end(watch);
	watch = watch_stack(&value, sizeof(value), PAGE_WATCH_ALL, &told);
	value = 8;
	NEED(told.times == 2 && told.is_store);
	page_watch_end(watch);
	value = beside[0];
	NEED(told.times == 2);
}

static void stores_to_a_stack_alone(void)
{
	volatile char bytes[LENGTH] = { 0 };
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = watch_stack(bytes, LENGTH, PAGE_WATCH_STORES, &told);
	NEED(bytes[0] == bytes[LENGTH - 1] && !told.times);
	bytes[LENGTH - 1] = 0;
	NEED(told.times == 1 && told.is_store);
	page_watch_end(watch);
}

static void *load_it(void *at)
{
	return (void *)(intptr_t) * (volatile int *)at;
}

static pthread_barrier_t meets;

static void *load_when_watched(void *at)
{
	pthread_barrier_wait(&meets);
	pthread_barrier_wait(&meets);
	return load_it(at);
}

static void stack_of_another_thread(void)
{
	volatile int value = 3;
	struct told told = { 0 };
	struct page_watch *watch;
	pthread_t thread;

	case_start();
	NEED(!pthread_barrier_init(&meets, NULL, 2));
	NEED(!pthread_create(&thread, NULL, load_when_watched, (void *)&value));
	pthread_barrier_wait(&meets);
	watch = watch_stack(&value, sizeof(value), PAGE_WATCH_ALL, &told);
	pthread_barrier_wait(&meets);
	NEED(!pthread_join(thread, NULL));
	NEED(told.times == 1);
	page_watch_end(watch);
}

/* What the device copies is none of the program's. */
static void guarded_copies_to_a_stack(void)
{
	char bytes[LENGTH] = { 0 }, more[LENGTH] = { 1 };
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = watch_stack(bytes, LENGTH, PAGE_WATCH_ALL, &told);
	for (size_t length = 1; length <= LENGTH; length++)
		NEED(guard_copy(bytes, more, length) && guard_copy(more, bytes, length));
	NEED(!told.times);
	page_watch_end(watch);
}

static void more_than_breakpoints(void)
{
	volatile long values[8] = { 0 };
	struct told told[8] = { 0 };
	struct page_watch *watch[8];
	unsigned int count = 0;

	case_start();
	watch[0] = watch_stack(&values[0], sizeof(values[0]), PAGE_WATCH_ALL, &told[0]);
	for (int i = 1; i < 8; i++)
		watch[i] = case_try((void *)&values[i], sizeof(values[i]), PAGE_WATCH_ALL, &told[i]);
	for (int i = 0; i < 8; i++) {
		values[i] = 1;
		NEED(told[i].times == (watch[i] != NULL));
		count += watch[i] != NULL;
	}
	NEED(count == 4);
	for (int i = 0; i < 8; i++)
		page_watch_end(watch[i]);
	watch[7] = watch_stack(&values[7], sizeof(values[7]), PAGE_WATCH_ALL, &told[7]);
	page_watch_end(watch[7]);
}

static pthread_barrier_t all_meet;

static void *wait_for_all(void *arg)
{
	pthread_barrier_wait(&all_meet);
	pthread_barrier_wait(&all_meet);
	return arg;
}

/* A breakpoint is of one thread, and those of many would take many descriptors. */
static void more_threads_than_breakpoints(void)
{
	enum { MANY = 16 };
	volatile int value = 3;
	struct told told = { 0 };
	pthread_t thread[MANY];

	case_start();
	page_watch_end(watch_stack(&value, sizeof(value), PAGE_WATCH_ALL, &told));
	NEED(!pthread_barrier_init(&all_meet, NULL, MANY + 1));
	for (int i = 0; i < MANY; i++)
		NEED(!pthread_create(&thread[i], NULL, wait_for_all, NULL));
	pthread_barrier_wait(&all_meet);
	for (int i = 0; i < TRIES / 100; i++)
		NEED(!case_try((void *)&value, sizeof(value), PAGE_WATCH_ALL, &told));
	pthread_barrier_wait(&all_meet);
	for (int i = 0; i < MANY; i++)
		NEED(!pthread_join(thread[i], NULL));
	page_watch_end(watch_stack(&value, sizeof(value), PAGE_WATCH_ALL, &told));
}

static void stack_of_a_child(void)
{
	volatile int value = 3;
	struct told told = { 0 };
	struct page_watch *watch;
	int status;
	pid_t child;

	case_start();
	watch = watch_stack(&value, sizeof(value), PAGE_WATCH_ALL, &told);
	child = fork();
	if (!child) {
		page_watch_forked();
		_exit(value != 3 || told.times);
	}
	NEED(waitpid(child, &status, 0) == child && !status);
	NEED(value == 3 && told.times == 1);
	page_watch_end(watch);
}

static volatile sig_atomic_t traps;

static void count_trap(int sig)
{
	(void)sig;
	traps++;
}

static void own_action_of_breakpoints(void)
{
	struct sigaction action = { .sa_handler = count_trap };
	volatile int value = 3;
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = watch_stack(&value, sizeof(value), PAGE_WATCH_ALL, &told);
	NEED(!sigaction(SIGTRAP, &action, NULL));
	value = 7;
	NEED(!traps && !told.times);
	page_watch_end(watch);
	NEED(!case_try((void *)&value, sizeof(value), PAGE_WATCH_ALL, &told));
}

/* As programs do that become others, or that start anew. */
static void all_descriptors_closed(void)
{
	enum { FIRST = 3, MOST = 64 };
	volatile int value = 3;
	struct told told = { 0 };
	struct page_watch *watch;

	case_start();
	watch = watch_stack(&value, sizeof(value), PAGE_WATCH_ALL, &told);
	for (int i = FIRST; i < MOST; i++)
		close(i);
	for (int i = FIRST; i < MOST; i++)
		NEED(dup2(STDERR_FILENO, i) == i);
	value = 7;
	page_watch_end(watch);
	for (int i = FIRST; i < MOST; i++)
		NEED(fcntl(i, F_GETFD) >= 0);
}

/* Where it is asked for, no page is protected. */
static void by_bytes_alone(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { .goes_on = true };
	struct page_watch_counts counts;
	struct page_watch *watch;

	case_start();
	watch = watch_stack(pages + 64, 8, PAGE_WATCH_BYTES, &told);
	pages[0] = 1;
	for (int i = 1; i < 4; i++) {
		(void)pages[64];
		NEED(told.times == i && told.made == i && told.at == (uintptr_t)&pages[64]);
	}
	page_watch_count(&counts);
	NEED(!counts.neighbours);
	page_watch_end(watch);
}

/* All bytes of a small one are watched, or none, if only a part could be. */
static void middle_of_a_small_one(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { .goes_on = true }, none_told = { 0 };
	struct page_watch *watch;

	case_start();
	page_watch_end(watch_stack(pages + 64, 8, PAGE_WATCH_BYTES, &told));
	watch = case_try((void *)(pages + 64), 32, PAGE_WATCH_BYTES, &told);
	NEED(watch);
	for (int i = 0; i < 32; i++) {
		(void)pages[64 + i];
		NEED(told.times == i + 1);
	}
	(void)pages[63];
	(void)pages[96];
	NEED(told.times == 32);
	NEED(!case_try((void *)(pages + 128), 8, PAGE_WATCH_BYTES, &none_told));
	page_watch_end(watch);
	NEED(!case_try((void *)(pages + 64), 33, PAGE_WATCH_BYTES, &none_told));
	watch = case_try((void *)(pages + 64), 24, PAGE_WATCH_BYTES, &told);
	NEED(watch);
	page_watch_end(watch);
}

/* Bytes that a peer has stored are not the program's doing, once that is said. */
static void stored_by_another(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { .goes_on = true };
	unsigned char bytes[8] = { 1, 2, 3 };
	struct page_watch *watch;

	case_start();
	watch = watch_stack(pages + 64, 8, PAGE_WATCH_BYTES, &told);
	NEED(guard_copy((void *)(pages + 64), bytes, sizeof(bytes)));
	(void)pages[64];
	NEED(told.times == 1 && told.is_store && !told.is_sure);
	page_watch_renew();
	(void)pages[64];
	NEED(told.times == 2 && !told.is_store && !told.is_sure);
	pages[64] = 7;
	NEED(told.times == 3 && told.is_store);
	page_watch_end(watch);
}

/* The kind of an access that is stepped over is known, whatever the bytes are. */
static void stepped_over(void)
{
	volatile unsigned char *pages = case_pages();
	volatile unsigned char *to = pages + 40;
	struct told told = { .goes_on = true }, beside_told = { 0 };
	struct page_watch *watch, *beside;
	unsigned long count = 40;

	case_start();
	watch = watch_stack(pages + 64, 8, PAGE_WATCH_BYTES, &told);
	beside = case_watch((void *)(pages + 128), 8, PAGE_WATCH_ALL, &beside_told);
	pages[64] = case_byte(64); /* what it was */
	NEED(told.times == 1 && told.is_store && told.is_sure && told.at == (uintptr_t)&pages[64]);
	pages[64] = 7;
	(void)pages[64];
	NEED(told.times == 3 && !told.is_store && told.is_sure);
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
	NEED(told.times == 4 && told.is_store && told.is_sure);
	NEED(!beside_told.times);
	page_watch_end(beside);
	page_watch_end(watch);
}

/* The page is given back for the access, and protected again though nobody else waits for it. */
static void stepped_over_by_the_one_that_tells(void)
{
	volatile unsigned char *pages = case_pages();
	struct told told = { .goes_on = true }, page_told = { 0 };
	struct page_watch *watch, *page;

	case_start();
	watch = watch_stack(pages + 64, 8, PAGE_WATCH_BYTES, &told);
	page = case_watch((void *)(pages + 64), 8, PAGE_WATCH_ALL, &page_told);
	pages[64] = case_byte(64);
	NEED(page_told.times == 1 && page_told.is_store);
	NEED(told.times == 1 && told.is_store && told.is_sure);
	page_watch_end(page);
	page_watch_end(watch);
}

static void stores_alone_beside_a_page(void)
{
	volatile unsigned char *pages = case_pages();
	volatile long value = 3, read;
	struct told told = { .goes_on = true }, beside_told = { 0 };
	struct page_watch *watch, *beside;

	case_start();
	watch = watch_stack(&value, sizeof(value), PAGE_WATCH_STORES, &told);
	beside = case_watch((void *)(pages + 128), 8, PAGE_WATCH_ALL, &beside_told);
	read = value;
	NEED(!told.times && read == 3);
	pages[0] = (unsigned char)value; /* stepped over */
	NEED(!told.times);
	value = 3;
	NEED(told.times == 1 && told.is_store && told.is_sure);
	page_watch_end(beside);
	page_watch_end(watch);
}

const struct watch_case watch_byte_cases[] = {
	{ "on_a_stack", on_a_stack },
	{ "stores_to_a_stack_alone", stores_to_a_stack_alone },
	{ "stack_of_another_thread", stack_of_another_thread },
	{ "guarded_copies_to_a_stack", guarded_copies_to_a_stack },
	{ "more_than_breakpoints", more_than_breakpoints },
	{ "more_threads_than_breakpoints", more_threads_than_breakpoints },
	{ "stack_of_a_child", stack_of_a_child },
	{ "own_action_of_breakpoints", own_action_of_breakpoints },
	{ "all_descriptors_closed", all_descriptors_closed },
	{ "by_bytes_alone", by_bytes_alone },
	{ "middle_of_a_small_one", middle_of_a_small_one },
	{ "stored_by_another", stored_by_another },
	{ "stepped_over", stepped_over },
	{ "stepped_over_by_the_one_that_tells", stepped_over_by_the_one_that_tells },
	{ "stores_alone_beside_a_page", stores_alone_beside_a_page },
	{ NULL, NULL },
};
