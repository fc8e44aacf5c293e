/* SPDX-License-Identifier: BSD-2-Clause */
/* kthread.h - threads with a name that are asked to stop. */
#ifndef EMU_KERNEL_LINUX_KTHREAD_H
#define EMU_KERNEL_LINUX_KTHREAD_H

#include <linux/err.h>
#include <linux/sched.h>

/* Sleeps until wake_up_process(). The thread's memory is its own: it goes when the function returns, as in the kernel, unless
 * another thread called get_task_struct() before. ERR_PTR() where there is no thread to have. */
struct task_struct *kthread_create(int (*run)(void *), void *data, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define kthread_create(run, data, ...) (EMU_KERNEL_SLEEPS("kthread_create"), kthread_create(run, data, __VA_ARGS__))
/* The node is not looked at. */
#define kthread_create_on_node(run, data, node, ...) ((void)(node), kthread_create(run, data, __VA_ARGS__))

#define kthread_run(run, data, ...)                                                      \
	({                                                                               \
		struct task_struct *emu_thread = kthread_create(run, data, __VA_ARGS__); \
		if (!IS_ERR(emu_thread))                                                 \
			wake_up_process(emu_thread);                                     \
		emu_thread;                                                              \
	})

/* What the function returned; -EINTR if the thread was never woken, and then the function is not called. */
int kthread_stop(struct task_struct *task);
#define kthread_stop(task) (EMU_KERNEL_SLEEPS("kthread_stop"), kthread_stop(task))
bool kthread_should_stop(void);

#endif
