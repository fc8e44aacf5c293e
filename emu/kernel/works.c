/* SPDX-License-Identifier: BSD-2-Clause */
/* works.c - work queues.
 *
 * One lock guards all queues and work items. It is not held while a function runs, and the timers' lock is taken under it. A work
 * item is untouched once its function runs: the function may free it. */
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

#include "emu/kernel/kernel_impl.h"

/* Freed by destroy_workqueue(), when the last of its threads has left. */
struct workqueue_struct {
	struct list_head pending; /* work_struct.entry, the oldest first */
	unsigned int count;       /* of these */
	unsigned int threads, idle, threads_max;
	bool ending;
	pthread_cond_t work; /* work came, or the end */
	char name[TASK_COMM_LEN];
};

/* A thread of a queue, on its own stack. */
struct worker {
	struct list_head all;
	struct workqueue_struct *queue;
	struct work_struct *current_work; /* NULL: idle; it may be freed */
	u64 number;                       /* of its queueing */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* a function ended, work was taken back, or a thread left */
static LIST_HEAD(workers);
static u64 numbers; /* the last that was given to a queueing */
static _Thread_local struct worker *self;

/* --- threads; the lock is held in all static functions below, but for work_thread_main() --- */

static bool is_running(const struct work_struct *work, const struct workqueue_struct *queue, u64 up_to)
{
	struct worker *at;

	list_for_each_entry(at, &workers, all)
		if (at->current_work == work && at->number <= up_to && (!queue || at->queue == queue))
			return true;
	return false;
}

/* The oldest that does not run at this time. */
static struct work_struct *next_work(struct workqueue_struct *queue)
{
	struct work_struct *work;

	list_for_each_entry(work, &queue->pending, entry)
		if (!is_running(work, queue, U64_MAX))
			return work;
	return NULL;
}

static void set_pending(struct work_struct *work, bool pending)
{
	__atomic_store_n(&work->emu_pending, pending, __ATOMIC_RELAXED);
}

static void work_unlink(struct work_struct *work)
{
	list_del_init(&work->entry);
	work->emu_queue->count--;
	set_pending(work, false);
}

static void work_run(struct worker *worker, struct work_struct *work)
{
	work_func_t func = work->func;

	work_unlink(work);
	worker->current_work = work;
	worker->number = work->emu_number;
	pthread_mutex_unlock(&lock);
	func(work);
	BUG_ON(emu_kernel_atomic_depth); /* it ended with a spin lock */
	pthread_mutex_lock(&lock);
	worker->current_work = NULL;
	pthread_cond_broadcast(&progress);
}

static void *work_thread_main(void *arg)
{
	struct workqueue_struct *queue = arg;
	struct worker worker = { .queue = queue };
	struct work_struct *work;

	self = &worker;
	pthread_setname_np(pthread_self(), queue->name);
	pthread_mutex_lock(&lock);
	list_add(&worker.all, &workers);
	for (;;) {
		work = next_work(queue);
		if (work) {
			work_run(&worker, work);
		} else if (queue->ending) {
			break;
		} else {
			queue->idle++;
			pthread_cond_wait(&queue->work, &lock);
			queue->idle--;
		}
	}
	list_del(&worker.all);
	queue->threads--;
	pthread_cond_broadcast(&progress);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int add_thread(struct workqueue_struct *queue)
{
	int err = threads_start(work_thread_main, queue);

	if (!err)
		queue->threads++;
	return err;
}

/* A thread that was woken stays idle until it has the lock, so the work is counted, not the threads. Without another thread the
 * work waits for those that are there. */
static void work_insert(struct workqueue_struct *queue, struct work_struct *work)
{
	work->emu_queue = queue;
	work->emu_number = ++numbers;
	list_add_tail(&work->entry, &queue->pending);
	queue->count++;
	if (queue->count > queue->idle && queue->threads < queue->threads_max)
		add_thread(queue);
	pthread_cond_signal(&queue->work);
}

/* --- queues --- */

static struct workqueue_struct *queue_make(unsigned int threads_max)
{
	struct workqueue_struct *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	INIT_LIST_HEAD(&queue->pending);
	pthread_cond_init(&queue->work, NULL);
	queue->threads_max = threads_max ? min(threads_max, (unsigned int)WQ_MAX_ACTIVE) : WQ_DFL_ACTIVE;
	return queue;
}

static void queue_free(struct workqueue_struct *queue)
{
	pthread_cond_destroy(&queue->work);
	free(queue);
}

struct workqueue_struct *emu_kernel_alloc_workqueue(unsigned int max_active, const char *format, ...)
{
	struct workqueue_struct *queue = queue_make(max_active);
	va_list args;
	int err;

	if (!queue)
		return NULL;
	va_start(args, format);
	vsnprintf(queue->name, sizeof(queue->name), format, args);
	va_end(args);
	pthread_mutex_lock(&lock);
	err = add_thread(queue);
	pthread_mutex_unlock(&lock);
	if (!err)
		return queue;
	queue_free(queue);
	return NULL;
}

static struct workqueue_struct *system_queue;

static void system_queue_make(void)
{
	system_queue = emu_kernel_alloc_workqueue(WQ_DFL_ACTIVE, "events");
	BUG_ON(!system_queue);
}

struct workqueue_struct *emu_kernel_system_wq(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, system_queue_make);
	return system_queue;
}

static bool is_busy(const struct workqueue_struct *queue, u64 up_to)
{
	struct work_struct *work;
	struct worker *at;

	list_for_each_entry(work, &queue->pending, entry)
		if (work->emu_number <= up_to)
			return true;
	list_for_each_entry(at, &workers, all)
		if (at->queue == queue && at->current_work && at->number <= up_to)
			return true;
	return false;
}

void(flush_workqueue)(struct workqueue_struct *queue)
{
	u64 last;

	BUG_ON(self && self->queue == queue);
	pthread_mutex_lock(&lock);
	last = numbers;
	while (is_busy(queue, last))
		pthread_cond_wait(&progress, &lock);
	pthread_mutex_unlock(&lock);
}

void(drain_workqueue)(struct workqueue_struct *queue)
{
	BUG_ON(self && self->queue == queue);
	pthread_mutex_lock(&lock);
	while (is_busy(queue, U64_MAX))
		pthread_cond_wait(&progress, &lock);
	pthread_mutex_unlock(&lock);
}

void(destroy_workqueue)(struct workqueue_struct *queue)
{
	(drain_workqueue)(queue);
	pthread_mutex_lock(&lock);
	queue->ending = true;
	pthread_cond_broadcast(&queue->work);
	while (queue->threads)
		pthread_cond_wait(&progress, &lock);
	pthread_mutex_unlock(&lock);
	queue_free(queue);
}

/* --- work --- */

void emu_kernel_init_work(struct work_struct *work, work_func_t func)
{
	*work = (struct work_struct){ .func = func };
	INIT_LIST_HEAD(&work->entry);
}

void emu_kernel_init_delayed_work(struct delayed_work *work, work_func_t func)
{
	emu_kernel_init_work(&work->work, func);
	emu_kernel_timer_setup(&work->timer, emu_kernel_delayed_work_due);
}

bool queue_work(struct workqueue_struct *queue, struct work_struct *work)
{
	bool queued;

	pthread_mutex_lock(&lock);
	queued = !work->emu_pending && !work->emu_cancels;
	if (queued) {
		set_pending(work, true);
		work_insert(queue, work);
	}
	pthread_mutex_unlock(&lock);
	return queued;
}

/* The work may have been cancelled, and queued anew, since this timer was due. */
void emu_kernel_delayed_work_due(struct timer_list *timer)
{
	struct delayed_work *work = container_of(timer, struct delayed_work, timer);

	pthread_mutex_lock(&lock);
	if (work->work.emu_pending && list_empty(&work->work.entry) && !timer_pending(timer))
		work_insert(work->work.emu_queue, &work->work);
	pthread_mutex_unlock(&lock);
}

static void put_delayed(struct workqueue_struct *queue, struct delayed_work *work, unsigned long delay)
{
	set_pending(&work->work, true);
	work->work.emu_queue = queue;
	if (delay)
		mod_timer(&work->timer, jiffies + delay);
	else
		work_insert(queue, &work->work);
}

bool queue_delayed_work(struct workqueue_struct *queue, struct delayed_work *work, unsigned long delay)
{
	bool queued;

	pthread_mutex_lock(&lock);
	queued = !work->work.emu_pending && !work->work.emu_cancels;
	if (queued)
		put_delayed(queue, work, delay);
	pthread_mutex_unlock(&lock);
	return queued;
}

/* True if it was queued. */
static bool work_take_back(struct work_struct *work)
{
	bool was_pending = work->emu_pending;

	if (!list_empty(&work->entry))
		work_unlink(work);
	set_pending(work, false);
	pthread_cond_broadcast(&progress);
	return was_pending;
}

static bool take_back_delayed(struct delayed_work *work)
{
	del_timer(&work->timer);
	return work_take_back(&work->work);
}

bool mod_delayed_work(struct workqueue_struct *queue, struct delayed_work *work, unsigned long delay)
{
	bool was_pending;

	pthread_mutex_lock(&lock);
	was_pending = take_back_delayed(work);
	if (!work->work.emu_cancels)
		put_delayed(queue, work, delay);
	pthread_mutex_unlock(&lock);
	return was_pending;
}

bool cancel_work(struct work_struct *work)
{
	bool was_pending;

	pthread_mutex_lock(&lock);
	was_pending = work_take_back(work);
	pthread_mutex_unlock(&lock);
	return was_pending;
}

bool cancel_delayed_work(struct delayed_work *work)
{
	bool was_pending;

	pthread_mutex_lock(&lock);
	was_pending = take_back_delayed(work);
	pthread_mutex_unlock(&lock);
	return was_pending;
}

/* The function that runs may queue itself again: that fails until it has ended. */
static void wait_for_end(struct work_struct *work)
{
	BUG_ON(self && self->current_work == work); /* it would wait for itself */
	work->emu_cancels++;
	while (is_running(work, NULL, U64_MAX))
		pthread_cond_wait(&progress, &lock);
	work->emu_cancels--;
}

bool(cancel_work_sync)(struct work_struct *work)
{
	bool was_pending;

	pthread_mutex_lock(&lock);
	was_pending = work_take_back(work);
	wait_for_end(work);
	pthread_mutex_unlock(&lock);
	return was_pending;
}

/* The timer's function takes the lock: so it is waited for without. */
bool(cancel_delayed_work_sync)(struct delayed_work *work)
{
	bool was_pending;

	pthread_mutex_lock(&lock);
	was_pending = take_back_delayed(work);
	work->work.emu_cancels++;
	pthread_mutex_unlock(&lock);
	del_timer_sync(&work->timer);
	pthread_mutex_lock(&lock);
	wait_for_end(&work->work);
	work->work.emu_cancels--;
	pthread_mutex_unlock(&lock);
	return was_pending;
}

bool(flush_work)(struct work_struct *work)
{
	bool had_to;
	u64 last;

	BUG_ON(self && self->current_work == work);
	pthread_mutex_lock(&lock);
	last = numbers;
	had_to = !list_empty(&work->entry) || is_running(work, NULL, last);
	while ((!list_empty(&work->entry) && work->emu_number <= last) || is_running(work, NULL, last))
		pthread_cond_wait(&progress, &lock);
	pthread_mutex_unlock(&lock);
	return had_to;
}

/* A timer that is due just now queues the work itself, and is waited for. */
bool(flush_delayed_work)(struct delayed_work *work)
{
	bool was_early = del_timer_sync(&work->timer);

	pthread_mutex_lock(&lock);
	if (was_early && work->work.emu_pending && list_empty(&work->work.entry) && !timer_pending(&work->timer))
		work_insert(work->work.emu_queue, &work->work);
	pthread_mutex_unlock(&lock);
	return (flush_work)(&work->work) || was_early;
}
