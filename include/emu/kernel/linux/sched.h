/* SPDX-License-Identifier: BSD-2-Clause */
/* sched.h - threads and their sleep.
 * No signal reaches a thread: an interruptible sleep ends by a wake-up or by its time. */
#ifndef EMU_KERNEL_LINUX_SCHED_H
#define EMU_KERNEL_LINUX_SCHED_H

#include <emu_kernel.h>
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/types.h>
#include <limits.h>
#include <pthread.h>

#define TASK_RUNNING 0U
#define TASK_INTERRUPTIBLE 1U
#define TASK_UNINTERRUPTIBLE 2U
#define TASK_KILLABLE TASK_UNINTERRUPTIBLE
#define TASK_IDLE TASK_UNINTERRUPTIBLE
#define TASK_NORMAL (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)
#define TASK_COMM_LEN 16
#define MAX_SCHEDULE_TIMEOUT LONG_MAX

struct task_struct {
	unsigned int __state;
	char comm[TASK_COMM_LEN];
	pid_t pid; /* of the thread: gettid(2) */
	/* Of emu_kernel alone. */
	pthread_mutex_t emu_lock; /* taken under the lock of a wait queue */
	pthread_cond_t emu_woken;
	struct emu_kthread *emu_kthread; /* NULL for a thread that kthread_create() did not make */
};

struct task_struct *emu_kernel_current(void);
#define current emu_kernel_current()

/* The order of a sleep: set the state, test the condition, schedule(). A wake-up in between sets the state back. */
#define set_current_state(state) __atomic_store_n(&current->__state, (state), __ATOMIC_SEQ_CST)
#define __set_current_state(state) set_current_state(state)

void schedule(void);
signed long schedule_timeout(signed long timeout); /* the jiffies that were left */
#define schedule() (EMU_KERNEL_SLEEPS("schedule"), schedule())
#define schedule_timeout(timeout) (EMU_KERNEL_SLEEPS("schedule_timeout"), schedule_timeout(timeout))
#define schedule_timeout_interruptible(timeout) (set_current_state(TASK_INTERRUPTIBLE), schedule_timeout(timeout))
#define schedule_timeout_uninterruptible(timeout) (set_current_state(TASK_UNINTERRUPTIBLE), schedule_timeout(timeout))

/* 1 if it was asleep, or about to. It starts a thread of kthread_create(). */
int wake_up_process(struct task_struct *task);
int wake_up_state(struct task_struct *task, unsigned int states);

/* Threads of kthread_create() alone. */
void get_task_struct(struct task_struct *task);
void put_task_struct(struct task_struct *task);

void emu_kernel_yield(void);
#define cond_resched()                             \
	({                                         \
		EMU_KERNEL_SLEEPS("cond_resched"); \
		emu_kernel_yield();                \
		0;                                 \
	})
#define yield() (EMU_KERNEL_SLEEPS("yield"), emu_kernel_yield())

#define in_atomic() (emu_kernel_atomic_depth != 0)

static inline int signal_pending(struct task_struct *task)
{
	(void)task;
	return 0;
}
#define fatal_signal_pending(task) signal_pending(task)

#endif
