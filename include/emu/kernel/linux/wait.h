/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.h - wait queues.
 * wake_up() comes after what makes the condition true. */
#ifndef EMU_KERNEL_LINUX_WAIT_H
#define EMU_KERNEL_LINUX_WAIT_H

#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

struct wait_queue_head {
	pthread_mutex_t emu_lock; /* guards `head` and the entries; wake-ups are called under it */
	struct list_head head;
};
typedef struct wait_queue_head wait_queue_head_t;

struct wait_queue_entry {
	struct task_struct *emu_task;
	struct list_head entry;
	bool emu_exclusive;
};
typedef struct wait_queue_entry wait_queue_entry_t;

#define __WAIT_QUEUE_HEAD_INITIALIZER(name)                                                \
	{                                                                                  \
		.emu_lock = PTHREAD_MUTEX_INITIALIZER, .head = LIST_HEAD_INIT((name).head) \
	}
#define DECLARE_WAIT_QUEUE_HEAD(name) struct wait_queue_head name = __WAIT_QUEUE_HEAD_INITIALIZER(name)
#define DECLARE_WAIT_QUEUE_HEAD_ONSTACK(name) DECLARE_WAIT_QUEUE_HEAD(name)
#define DEFINE_WAIT(name) struct wait_queue_entry name = { .emu_task = current, .entry = LIST_HEAD_INIT((name).entry) }
#define DECLARE_WAITQUEUE(name, task) struct wait_queue_entry name = { .emu_task = (task), .entry = LIST_HEAD_INIT((name).entry) }

void init_waitqueue_head(struct wait_queue_head *queue);
bool waitqueue_active(struct wait_queue_head *queue);
void add_wait_queue(struct wait_queue_head *queue, struct wait_queue_entry *entry);
void remove_wait_queue(struct wait_queue_head *queue, struct wait_queue_entry *entry);

/* Both set the state of this thread, and enter it if it is not in the queue. */
void prepare_to_wait(struct wait_queue_head *queue, struct wait_queue_entry *entry, unsigned int state);
void prepare_to_wait_exclusive(struct wait_queue_head *queue, struct wait_queue_entry *entry, unsigned int state);
void finish_wait(struct wait_queue_head *queue, struct wait_queue_entry *entry);

/* Wakes the sleepers whose state is among `states`: all that are not exclusive, and `exclusive` of those that are (0: all). */
void emu_kernel_wake_up(struct wait_queue_head *queue, unsigned int states, int exclusive);
#define wake_up(queue) emu_kernel_wake_up(queue, TASK_NORMAL, 1)
#define wake_up_nr(queue, count) emu_kernel_wake_up(queue, TASK_NORMAL, count)
#define wake_up_all(queue) emu_kernel_wake_up(queue, TASK_NORMAL, 0)
#define wake_up_interruptible(queue) emu_kernel_wake_up(queue, TASK_INTERRUPTIBLE, 1)
#define wake_up_interruptible_all(queue) emu_kernel_wake_up(queue, TASK_INTERRUPTIBLE, 0)

/* The jiffies that were left, at least 1, or 0 where the condition is false at the end of the time. */
#define EMU_KERNEL_WAIT(queue, condition, state, timeout, prepare)  \
	({                                                          \
		signed long emu_left = (timeout);                   \
		DEFINE_WAIT(emu_waiter);                            \
		for (;;) {                                          \
			prepare(&(queue), &emu_waiter, state);      \
			if (condition) {                            \
				emu_left = emu_left ? emu_left : 1; \
				break;                              \
			}                                           \
			if (!emu_left)                              \
				break;                              \
			emu_left = schedule_timeout(emu_left);      \
		}                                                   \
		finish_wait(&(queue), &emu_waiter);                 \
		emu_left;                                           \
	})

#define wait_event(queue, condition)                                                                                          \
	do {                                                                                                                  \
		EMU_KERNEL_SLEEPS("wait_event");                                                                              \
		if (!(condition))                                                                                             \
			(void)EMU_KERNEL_WAIT(queue, condition, TASK_UNINTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT, prepare_to_wait); \
	} while (0)
#define wait_event_timeout(queue, condition, timeout)                                              \
	({                                                                                         \
		EMU_KERNEL_SLEEPS("wait_event_timeout");                                           \
		EMU_KERNEL_WAIT(queue, condition, TASK_UNINTERRUPTIBLE, timeout, prepare_to_wait); \
	})
/* 0 always: no signal comes. */
#define wait_event_interruptible(queue, condition)                                                                          \
	({                                                                                                                  \
		EMU_KERNEL_SLEEPS("wait_event_interruptible");                                                              \
		if (!(condition))                                                                                           \
			(void)EMU_KERNEL_WAIT(queue, condition, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT, prepare_to_wait); \
		0;                                                                                                          \
	})
#define wait_event_killable(queue, condition) \
	({                                    \
		wait_event(queue, condition); \
		0;                            \
	})
#define wait_event_interruptible_exclusive(queue, condition)                                              \
	({                                                                                                \
		EMU_KERNEL_SLEEPS("wait_event_interruptible_exclusive");                                  \
		if (!(condition))                                                                         \
			(void)EMU_KERNEL_WAIT(queue, condition, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT, \
					      prepare_to_wait_exclusive);                                 \
		0;                                                                                        \
	})
#define wait_event_interruptible_timeout(queue, condition, timeout)                              \
	({                                                                                       \
		EMU_KERNEL_SLEEPS("wait_event_interruptible_timeout");                           \
		EMU_KERNEL_WAIT(queue, condition, TASK_INTERRUPTIBLE, timeout, prepare_to_wait); \
	})

#endif
