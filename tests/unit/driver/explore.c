/* SPDX-License-Identifier: BSD-2-Clause */
/* explore.c - the model checker: depth-first search over schedules, coroutines, store buffers. */
#include "explore.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

enum { CHOICES_MAX = 4096, BUFFER_MAX = 16, STACK_BYTES = 256 * 1024 };

struct store {
	volatile void *at;
	size_t size;
	uint64_t value;
};

struct thread {
	ucontext_t context;
	void *stack;
	void *fiber; /* tsan's name for the coroutine */
	bool done;
	bool (*ready)(void *arg); /* NULL: can go on */
	void *arg;
	struct store buffer[BUFFER_MAX];
	int stores;
};

static struct {
	const struct model *model;
	struct outcome *out;
	struct thread thread[EXPLORE_THREADS];
	ucontext_t main;
	void *main_fiber;
	int self;        /* -1: the checker */
	int preemptions; /* left in this run */
	bool signalled;  /* in this run */
	int taken[CHOICES_MAX], of[CHOICES_MAX];
	int choices, depth;
	size_t trace_length;
} x;

int explore_self(void)
{
	return x.self;
}

int explore_choose(int count)
{
	if (count < 2)
		return 0;
	assert(x.depth < CHOICES_MAX);
	if (x.depth == x.choices) {
		x.taken[x.choices] = 0;
		x.of[x.choices++] = count;
	}
	assert(x.of[x.depth] == count);
	return x.taken[x.depth++];
}

/* To the next list of choices; false when all have been tried. */
static bool next_schedule(void)
{
	while (x.choices && x.taken[x.choices - 1] + 1 == x.of[x.choices - 1])
		x.choices--;
	if (!x.choices)
		return false;
	x.taken[x.choices - 1]++;
	return true;
}

static void trace(const char *what)
{
	size_t room = EXPLORE_TRACE - x.trace_length;
	int n = snprintf(x.out->trace + x.trace_length, room, "%d:%s ", x.self, what);

	if (n > 0 && (size_t)n < room)
		x.trace_length += (size_t)n;
}

void explore_fail(const char *what)
{
	if (!x.out->violation)
		x.out->violation = what;
	trace(what);
}

static void put(const struct store *store)
{
	switch (store->size) {
	case 1:
		*(volatile uint8_t *)store->at = (uint8_t)store->value;
		break;
	case 4:
		*(volatile uint32_t *)store->at = (uint32_t)store->value;
		break;
	default:
		assert(!"size of an atomic");
	}
}

static void flush(struct thread *thread, int count)
{
	for (int i = 0; i < count; i++)
		put(&thread->buffer[i]);
	thread->stores -= count;
	memmove(thread->buffer, thread->buffer + count, sizeof(struct store) * (size_t)thread->stores);
}

void explore_fence(void)
{
	flush(&x.thread[x.self], x.thread[x.self].stores);
}

void explore_store(const char *what, volatile void *at, size_t size, uint64_t value)
{
	struct thread *thread = &x.thread[x.self];

	explore_step(what);
	assert(thread->stores < BUFFER_MAX);
	thread->buffer[thread->stores++] = (struct store){ at, size, value };
}

uint64_t explore_load(const char *what, const volatile void *at, size_t size)
{
	struct thread *thread = &x.thread[x.self];

	explore_step(what);
	for (int i = thread->stores - 1; i >= 0; i--)
		if (thread->buffer[i].at == at)
			return thread->buffer[i].value;
	return size == 1 ? *(const volatile uint8_t *)at : *(const volatile uint32_t *)at;
}

/* swapcontext(), with the sanitizer told. */
static void enter(int to)
{
	int from = x.self;
	ucontext_t *old = from < 0 ? &x.main : &x.thread[from].context;

	x.model->switched(from, to);
	x.self = to;
#if defined(__SANITIZE_THREAD__)
	__tsan_switch_to_fiber(to < 0 ? x.main_fiber : x.thread[to].fiber, 0);
#endif
	swapcontext(old, to < 0 ? &x.main : &x.thread[to].context);
}

static bool can_go(const struct thread *thread)
{
	return !thread->done && (!thread->ready || thread->ready(thread->arg));
}

/* A switch: which of the stores so far have become visible, and which thread but `self` goes on. -1: none can. */
static int choose_next(int self)
{
	int able[EXPLORE_THREADS], count = 0;

	for (int i = 0; i < x.model->threads; i++)
		if (x.thread[i].stores)
			flush(&x.thread[i], explore_choose(x.thread[i].stores + 1));
	for (int i = 0; i < x.model->threads; i++)
		if (i != self && can_go(&x.thread[i]))
			able[count++] = i;
	return count ? able[explore_choose(count)] : -1;
}

static bool others_can_go(void)
{
	for (int i = 0; i < x.model->threads; i++)
		if (i != x.self && can_go(&x.thread[i]))
			return true;
	return false;
}

void explore_step(const char *what)
{
	if (x.preemptions && others_can_go() && explore_choose(2)) {
		x.preemptions--;
		enter(choose_next(x.self));
	}
	if (x.model->signal && x.self == 0 && !x.signalled && explore_choose(2)) {
		x.signalled = true;
		x.model->signal();
	}
	trace(what);
}

void explore_wait(const char *what, bool (*ready)(void *arg), void *arg)
{
	struct thread *thread = &x.thread[x.self];

	explore_step(what);
	while (!ready(arg)) {
		thread->ready = ready;
		thread->arg = arg;
		enter(-1);
		thread->ready = NULL;
	}
}

static void thread_main(void)
{
	x.model->start[x.self]();
	x.thread[x.self].done = true;
	enter(-1);
	abort();
}

static void prepare(struct thread *thread)
{
	thread->done = false;
	thread->ready = NULL;
	thread->stores = 0;
	getcontext(&thread->context);
	thread->context.uc_stack.ss_sp = thread->stack;
	thread->context.uc_stack.ss_size = STACK_BYTES;
	thread->context.uc_link = NULL;
	makecontext(&thread->context, thread_main, 0);
#if defined(__SANITIZE_THREAD__)
	if (thread->fiber)
		__tsan_destroy_fiber(thread->fiber);
	thread->fiber = __tsan_create_fiber(0);
#endif
}

/* In the end every store is visible; that may let somebody go on. */
static int after_flush(void)
{
	for (int i = 0; i < x.model->threads; i++)
		flush(&x.thread[i], x.thread[i].stores);
	return choose_next(-1);
}

static void run_once(void)
{
	int next;

	x.depth = 0;
	x.trace_length = 0;
	x.preemptions = x.model->preemptions;
	x.signalled = false;
	x.model->reset();
	for (int i = 0; i < x.model->threads; i++)
		prepare(&x.thread[i]);
	while ((next = choose_next(-1)) >= 0 || (next = after_flush()) >= 0)
		enter(next);
	x.out->runs++;
	if (!x.out->violation)
		x.out->violation = x.model->judge();
}

void explore(const struct model *model, struct outcome *outcome)
{
	x.model = model;
	x.out = outcome;
	x.self = -1;
	x.choices = 0;
	*outcome = (struct outcome){ 0 };
#if defined(__SANITIZE_THREAD__)
	x.main_fiber = __tsan_get_current_fiber();
#endif
	for (int i = 0; i < model->threads; i++)
		x.thread[i].stack = malloc(STACK_BYTES);
	do
		run_once();
	while (!outcome->violation && next_schedule());
	for (int i = 0; i < model->threads; i++) {
		free(x.thread[i].stack);
#if defined(__SANITIZE_THREAD__)
		__tsan_destroy_fiber(x.thread[i].fiber);
		x.thread[i].fiber = NULL;
#endif
	}
}
