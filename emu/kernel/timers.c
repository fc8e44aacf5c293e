/* SPDX-License-Identifier: BSD-2-Clause */
/* timers.c - the timers, and the thread that runs them. It starts with the first timer, and lives as long as the process. */
#include <linux/bug.h>
#include <linux/timer.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "emu/kernel/kernel_impl.h"

static struct {
	pthread_mutex_t lock;       /* guards all below, and the timers; no other is taken under it */
	pthread_cond_t changed;     /* the first timer is another */
	pthread_cond_t ended;       /* `running` is NULL again */
	struct list_head pending;   /* the earliest first */
	struct timer_list *running; /* its function runs; it may be freed by then */
	bool has_thread;
	pthread_t thread; /* written by itself, before it runs a timer */
} timers = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.ended = PTHREAD_COND_INITIALIZER,
	.pending = LIST_HEAD_INIT(timers.pending),
};

static void timer_unlink(struct timer_list *timer)
{
	list_del(&timer->emu_entry);
	__atomic_store_n(&timer->emu_entry.next, NULL, __ATOMIC_RELAXED);
}

/* The lock is held, and released while the function runs. */
static void timer_run(struct timer_list *timer)
{
	void (*function)(struct timer_list *) = timer->function;

	timer_unlink(timer);
	timers.running = timer;
	pthread_mutex_unlock(&timers.lock);
	emu_kernel_enter_atomic();
	function(timer);
	emu_kernel_leave_atomic();
	pthread_mutex_lock(&timers.lock);
	timers.running = NULL;
	pthread_cond_broadcast(&timers.ended);
}

static void wait_for(unsigned long expires)
{
	uint64_t ns = expires * EMU_KERNEL_JIFFY_NS;
	struct timespec end = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	if (expires > INT64_MAX / EMU_KERNEL_JIFFY_NS) /* later than there is time */
		pthread_cond_wait(&timers.changed, &timers.lock);
	else
		pthread_cond_clockwait(&timers.changed, &timers.lock, CLOCK_MONOTONIC, &end);
}

static void *timers_main(void *arg)
{
	pthread_setname_np(pthread_self(), "emu-timers");
	pthread_mutex_lock(&timers.lock);
	timers.thread = pthread_self();
	for (;;) {
		struct timer_list *first = list_first_entry_or_null(&timers.pending, struct timer_list, emu_entry);

		if (!first)
			pthread_cond_wait(&timers.changed, &timers.lock);
		else if (time_after(first->expires, jiffies))
			wait_for(first->expires);
		else
			timer_run(first);
	}
	return arg;
}

/* The lock is held. */
static void timer_start_thread(void)
{
	if (timers.has_thread)
		return;
	BUG_ON(threads_start(timers_main, NULL));
	timers.has_thread = true;
}

void emu_kernel_timer_setup(struct timer_list *timer, void (*function)(struct timer_list *))
{
	*timer = (struct timer_list){ .function = function };
}

bool timer_pending(const struct timer_list *timer)
{
	return __atomic_load_n(&timer->emu_entry.next, __ATOMIC_RELAXED);
}

/* The lock is held. */
static void timer_insert(struct timer_list *timer, unsigned long expires)
{
	struct timer_list *at;

	timer->expires = expires;
	list_for_each_entry(at, &timers.pending, emu_entry)
		if (time_before(expires, at->expires))
			break;
	list_add_tail(&timer->emu_entry, &at->emu_entry); /* the head, behind the last */
	timer_start_thread();
	pthread_cond_signal(&timers.changed);
}

int mod_timer(struct timer_list *timer, unsigned long expires)
{
	bool was_pending;

	BUG_ON(!timer->function);
	pthread_mutex_lock(&timers.lock);
	was_pending = timer_pending(timer);
	if (was_pending)
		timer_unlink(timer);
	timer_insert(timer, expires);
	pthread_mutex_unlock(&timers.lock);
	return was_pending;
}

void add_timer(struct timer_list *timer)
{
	BUG_ON(timer_pending(timer));
	mod_timer(timer, timer->expires);
}

int del_timer(struct timer_list *timer)
{
	bool was_pending;

	pthread_mutex_lock(&timers.lock);
	was_pending = timer_pending(timer);
	if (was_pending)
		timer_unlink(timer);
	pthread_mutex_unlock(&timers.lock);
	return was_pending;
}

int del_timer_sync(struct timer_list *timer)
{
	bool was_pending;

	pthread_mutex_lock(&timers.lock);
	BUG_ON(timers.running == timer && pthread_equal(timers.thread, pthread_self()));
	while (timers.running == timer)
		pthread_cond_wait(&timers.ended, &timers.lock);
	was_pending = timer_pending(timer); /* its function may have armed it again */
	if (was_pending)
		timer_unlink(timer);
	pthread_mutex_unlock(&timers.lock);
	return was_pending;
}
