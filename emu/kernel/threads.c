/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.c - what a thread sleeps on, and the threads of kthread_create().
 *
 * A thread sleeps on its own condition while its state is not TASK_RUNNING. A wake-up sets the state under the thread's lock, so
 * none is lost between set_current_state() and schedule(). */
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/string.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "emu/kernel/kernel_impl.h"

/* Owned by its references: the thread's own until it ends, and those of get_task_struct(). */
struct emu_kthread {
	struct task_struct task; /* first: what callers hold */
	int (*run)(void *);
	void *data;
	int refs;
	bool stop;    /* set once, by kthread_stop() */
	bool started; /* set once, by the first wake-up or kthread_stop(), under the task's lock */
	int result;   /* written before `ended` */
	struct completion ended;
};

static _Thread_local struct task_struct *own;
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void task_init(struct task_struct *task)
{
	pthread_mutex_init(&task->emu_lock, NULL);
	pthread_cond_init(&task->emu_woken, NULL);
}

/* The end of a thread that kthread_create() did not make. */
static void own_free(void *task)
{
	own = NULL;
	free(task);
}

static void own_key_make(void)
{
	BUG_ON(pthread_key_create(&own_key, own_free));
}

struct task_struct *emu_kernel_current(void)
{
	if (own)
		return own;
	pthread_once(&own_once, own_key_make);
	own = calloc(1, sizeof(*own));
	BUG_ON(!own || pthread_setspecific(own_key, own));
	task_init(own);
	own->pid = gettid();
	if (pthread_getname_np(pthread_self(), own->comm, sizeof(own->comm)))
		strscpy(own->comm, "?", sizeof(own->comm));
	return own;
}

int wake_up_state(struct task_struct *task, unsigned int states)
{
	bool woken = false;

	pthread_mutex_lock(&task->emu_lock);
	if (__atomic_load_n(&task->__state, __ATOMIC_SEQ_CST) & states) {
		__atomic_store_n(&task->__state, TASK_RUNNING, __ATOMIC_SEQ_CST);
		pthread_cond_signal(&task->emu_woken);
		woken = true;
	}
	if (task->emu_kthread && !task->emu_kthread->started) {
		task->emu_kthread->started = woken = true;
		pthread_cond_signal(&task->emu_woken);
	}
	pthread_mutex_unlock(&task->emu_lock);
	return woken;
}

int wake_up_process(struct task_struct *task)
{
	return wake_up_state(task, TASK_NORMAL);
}

/* False at the end of the time. The lock of the task is held. */
static bool sleep_until(struct task_struct *task, uint64_t end_ns)
{
	struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000), .tv_nsec = (long)(end_ns % 1000000000) };

	return !pthread_cond_clockwait(&task->emu_woken, &task->emu_lock, CLOCK_MONOTONIC, &end);
}

signed long(schedule_timeout)(signed long timeout)
{
	struct task_struct *task = current;
	bool forever = timeout >= (long)(INT64_MAX / 4 / EMU_KERNEL_JIFFY_NS); /* that is 73 years */
	uint64_t end_ns, now_ns;

	end_ns = forever ? 0 : emu_kernel_ns() + (uint64_t)max(timeout, 0L) * EMU_KERNEL_JIFFY_NS;
	pthread_mutex_lock(&task->emu_lock);
	while (__atomic_load_n(&task->__state, __ATOMIC_SEQ_CST) != TASK_RUNNING) {
		if (forever)
			pthread_cond_wait(&task->emu_woken, &task->emu_lock);
		else if (!sleep_until(task, end_ns))
			break;
	}
	__atomic_store_n(&task->__state, TASK_RUNNING, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&task->emu_lock);
	if (forever)
		return timeout;
	now_ns = emu_kernel_ns();
	return now_ns < end_ns ? (long)DIV_ROUND_UP(end_ns - now_ns, EMU_KERNEL_JIFFY_NS) : 0;
}

void(schedule)(void)
{
	(schedule_timeout)(MAX_SCHEDULE_TIMEOUT);
}

/* --- kthread_create() --- */

void get_task_struct(struct task_struct *task)
{
	BUG_ON(!task->emu_kthread);
	__atomic_fetch_add(&task->emu_kthread->refs, 1, __ATOMIC_RELAXED);
}

void put_task_struct(struct task_struct *task)
{
	struct emu_kthread *thread = task->emu_kthread;

	BUG_ON(!thread);
	if (__atomic_sub_fetch(&thread->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_destroy(&task->emu_lock);
	pthread_cond_destroy(&task->emu_woken);
	free(thread);
}

static void *kthread_main(void *arg)
{
	struct emu_kthread *thread = arg;
	struct task_struct *task = &thread->task;

	own = task;
	pthread_setname_np(pthread_self(), task->comm);
	pthread_mutex_lock(&task->emu_lock);
	task->pid = gettid();
	while (!thread->started)
		pthread_cond_wait(&task->emu_woken, &task->emu_lock);
	pthread_mutex_unlock(&task->emu_lock);
	thread->result = thread->run ? thread->run(thread->data) : -EINTR;
	BUG_ON(emu_kernel_atomic_depth); /* it ended with a spin lock */
	complete_all(&thread->ended);
	own = NULL;
	put_task_struct(task);
	return NULL;
}

enum { FAULT_STACK = 65536 };

struct thread_start {
	void *(*run)(void *);
	void *arg;
};

/* A thread that has no stack left has this one for the handler of its fault: it lies at the far end of its own. */
static void *kernel_thread_run(void *arg)
{
	struct thread_start start = *(struct thread_start *)arg;
	char room[FAULT_STACK];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) }, before;

	free(arg);
	sigaltstack(&stack, &before);
	arg = start.run(start.arg);
	sigaltstack(&before, NULL);
	return arg;
}

/* A fault whose signal is blocked ends the process without a word. */
static void block_signals(sigset_t *before)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };
	sigset_t blocked;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, before);
}

int emu_kernel_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	struct thread_start *start = malloc(sizeof(*start));
	sigset_t before;
	int err;

	if (!start)
		return -ENOMEM;
	*start = (struct thread_start){ run, arg };
	block_signals(&before);
	err = pthread_create(thread, NULL, kernel_thread_run, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		free(start);
	return err ? -ENOMEM : 0;
}

int threads_start(void *(*run)(void *), void *arg)
{
	pthread_t thread;
	int err = emu_kernel_start_thread(&thread, run, arg);

	if (!err)
		pthread_detach(thread);
	return err;
}

struct task_struct *(kthread_create)(int (*run)(void *), void *data, const char *format, ...)
{
	struct emu_kthread *thread = calloc(1, sizeof(*thread));
	va_list args;

	if (!thread)
		return ERR_PTR(-ENOMEM);
	task_init(&thread->task);
	thread->task.emu_kthread = thread;
	thread->run = run;
	thread->data = data;
	thread->refs = 1;
	init_completion(&thread->ended);
	va_start(args, format);
	vsnprintf(thread->task.comm, sizeof(thread->task.comm), format, args);
	va_end(args);
	if (threads_start(kthread_main, thread)) {
		put_task_struct(&thread->task);
		return ERR_PTR(-ENOMEM);
	}
	return &thread->task;
}

int(kthread_stop)(struct task_struct *task)
{
	struct emu_kthread *thread = task->emu_kthread;
	int result;

	get_task_struct(task);
	__atomic_store_n(&thread->stop, true, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&task->emu_lock);
	if (!thread->started)
		thread->run = NULL;
	pthread_mutex_unlock(&task->emu_lock);
	wake_up_process(task);
	emu_kernel_wait_for(&thread->ended, MAX_SCHEDULE_TIMEOUT, TASK_UNINTERRUPTIBLE);
	result = thread->result;
	put_task_struct(task);
	return result;
}

bool kthread_should_stop(void)
{
	BUG_ON(!current->emu_kthread);
	return __atomic_load_n(&current->emu_kthread->stop, __ATOMIC_SEQ_CST);
}
