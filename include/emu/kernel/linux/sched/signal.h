/* SPDX-License-Identifier: BSD-2-Clause */
/* signal.h - signals: none reaches a thread of a module, and signal_pending() is 0. */
#ifndef EMU_KERNEL_LINUX_SCHED_SIGNAL_H
#define EMU_KERNEL_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

static inline void flush_signals(struct task_struct *task)
{
	(void)task;
}

void allow_signal(int number) __attribute__((error("allow_signal(): no signal reaches a thread of a module")));

#endif
